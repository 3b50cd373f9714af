/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface of Valet: secrets in the embedded keychain of Linux, under the same names and
 * with the same meaning as in Swift.
 *
 *     valet_description description = VALET_INIT(valet_description);
 *     description.identifier = "Mailer";
 *     description.identifier_length = 6;
 *     description.accessibility = VALET_AFTER_FIRST_UNLOCK;
 *     valet_t valet;
 *     valet_status status = valet_open(&description, &valet);
 *
 * - Every function returns 0 or an OSStatus (valet_status). valet_last_error() has the reason of
 *   the last failure on this thread.
 * - Text is UTF-8 with a length, and needs no NUL at its end. Keys and values may contain NULs.
 *   Bytes are a pointer and a length. A length of 0 allows a NULL pointer. No text, key or value is
 *   longer than 16 MiB; a longer value is refused with VALET_TOO_LARGE.
 * - The library copies what it is given during the call, and keeps no pointer of the caller.
 * - Handles are numbers of objects of the library, not addresses. Every thread may use them at
 *   once. A freed handle, a handle of another kind, and NULL (except in ..._free and valet_close)
 *   are refused with VALET_INVALID_ARGUMENT. A child of fork() inherits the handles, but not what
 *   the user has proved to its parent's single-prompt valets. If another thread was using the
 *   keychain during the fork, calls in the child return VALET_INTERNAL until it calls exec. In a
 *   child with several threads, make each kind of call once, before the fork or on one thread:
 *   threads that make the first call of a kind in the same moment may wait for ever.
 * - An output is written only on success, except handles, which become NULL on failure.
 * - No function asks the user unless its options contain VALET_MAY_ASK.
 * - A call waits at most five seconds for other processes, and a minute for the user. deadline_ms
 *   replaces both. Only the work itself is not bounded: stretching a passcode takes about a quarter
 *   of a second each time, and ending a pinentry that does not end by itself takes two seconds.
 * - Structures begin with their size, so that later versions can add fields: set it with
 *   VALET_INIT(type). A structure of a newer version is accepted if its unknown fields are 0. Only
 *   valet_attribute has no size: valet_migration gives that of its array.
 */
#ifndef VALET_H
#define VALET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct valet_handle *valet_t;               /* a valet: one sandbox of the keychain */
typedef struct valet_secret_handle *valet_secret_t; /* a value, guarded as valet_get says */
typedef struct valet_keys_handle *valet_keys_t;     /* the keys of a valet at one moment */

/* The OSStatus values of the SecItem functions. A function may return others than these. */
typedef int32_t valet_status;
enum {
    VALET_OK = 0,
    VALET_USER_CANCELED = -128,             /* errSecUserCanceled */
    VALET_INVALID_ARGUMENT = -50,           /* errSecParam; also for empty keys and empty values */
    VALET_NOT_AVAILABLE = -25291,           /* errSecNotAvailable: damaged, busy, unreadable, below
                                               the level that the process requires */
    VALET_AUTH_FAILED = -25293,             /* errSecAuthFailed */
    VALET_DUPLICATE_ITEM = -25299,          /* errSecDuplicateItem: the key has another class */
    VALET_ITEM_NOT_FOUND = -25300,          /* errSecItemNotFound */
    VALET_INTERACTION_NOT_ALLOWED = -25308, /* errSecInteractionNotAllowed: the keychain is locked,
                                               the read needs VALET_MAY_ASK, or nobody is there */
    VALET_INTERNAL = -2070,                 /* errSecInternalComponent: see fork() */
    VALET_TOO_LARGE = -25302,               /* errSecDataTooLarge: more than 16 MiB */
    VALET_DAMAGED_ITEM = -26275,            /* errSecDecode */
    VALET_DISK_FULL = -34,                  /* errSecDiskFull */
    VALET_IO = -36,                         /* errSecIO */
    VALET_NO_MEMORY = -108,                 /* errSecAllocate */
    VALET_READ_ONLY = -25292,               /* errSecReadOnly */
    VALET_MISSING_ENTITLEMENT = -34018      /* errSecMissingEntitlement: not one of the groups */
};

/* When values can be read. The numbers are those of VALAccessibility. */
enum {
    VALET_WHEN_UNLOCKED = 1,
    VALET_AFTER_FIRST_UNLOCK = 2,
    VALET_ALWAYS = 3,                       /* retired: see below */
    VALET_WHEN_PASSCODE_SET_THIS_DEVICE_ONLY = 4,
    VALET_WHEN_UNLOCKED_THIS_DEVICE_ONLY = 5,
    VALET_AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY = 6,
    VALET_ALWAYS_THIS_DEVICE_ONLY = 7       /* retired: see below */
};
/* Older versions stored values with the two retired accessibilities. A valet that is opened with
   one reads, lists and removes such values, and can be the source of a migration. To store with it,
   or to migrate into it, is refused with VALET_INVALID_ARGUMENT. */

enum {
    VALET_KIND_LOCAL = 0,
    VALET_KIND_CLOUD = 1,                   /* shared with the devices of a circle */
    VALET_KIND_SECURE_ENCLAVE = 2,          /* each read asks the user */
    VALET_KIND_SINGLE_PROMPT = 3            /* the first read asks the user */
};

/* What reading a value of the last two kinds demands. The numbers are those of
   VALSecureEnclaveAccessControl. */
enum {
    VALET_USER_PRESENCE = 1,                /* a finger or the passcode */
    VALET_BIOMETRIC_ANY = 2,
    VALET_BIOMETRIC_CURRENT_SET = 3,        /* a finger, while the same ones are enrolled */
    VALET_DEVICE_PASSCODE = 4
};

/* Which items a valet reads and writes. At least one of identifier and group is not empty. */
typedef struct valet_description {
    size_t size;
    const char *identifier;
    size_t identifier_length;
    const char *group_prefix;               /* the application's prefix, or "group"; empty for the
                                               application's group with any prefix without dots */
    size_t group_prefix_length;
    const char *group;                      /* without prefix; empty for one application's valet */
    size_t group_length;
    int32_t kind;                           /* VALET_KIND_... */
    int32_t accessibility;                  /* 0 for the enclave kinds */
    int32_t access_control;                 /* 0 for the other kinds */
    int32_t explicitly_set;                 /* 1: the identifier or the group alone names the items;
                                               not for both, nor for the enclave kinds */
} valet_description;

enum { VALET_MAY_ASK = 1 };
/* How a call may wait and ask. NULL in place of options: ask nobody, wait as usual. */
typedef struct valet_options {
    size_t size;
    uint32_t flags;                         /* VALET_MAY_ASK, or 0 */
    uint32_t deadline_ms;                   /* how long the call may wait; 0: as usual, so 1 is
                                               the shortest. For valet_wait, 0 is the shortest */
    const char *prompt;                     /* the reason that the user is shown */
    size_t prompt_length;
} valet_options;

enum { VALET_ERROR_KEYCHAIN = 1, VALET_ERROR_MIGRATION = 2 };
/* What a program can do about a failure, beyond its status. */
enum {
    VALET_REASON_OTHER = 0,                 /* the status says all, or there is nothing to do */
    VALET_REASON_BUSY = 1,                  /* other processes use the keychain: try again */
    VALET_REASON_DAMAGED = 2,               /* run `valet doctor` */
    VALET_REASON_KEY_UNAVAILABLE = 3,       /* the device key is missing, or of another keychain */
    VALET_REASON_NEWER_FORMAT = 4,          /* a newer version wrote the keychain */
    VALET_REASON_NO_PASSCODE = 5,           /* the accessibility needs a passcode, none is set */
    VALET_REASON_LOCKED = 6,                /* unlock the keychain */
    VALET_REASON_FILES = 7,                 /* files are missing, unsafe or read-only */
    VALET_REASON_DISK_FULL = 8,
    VALET_REASON_UNPROTECTED = 9,           /* below the level that the process requires */
    VALET_REASON_NO_MEMORY = 10,
    VALET_REASON_NO_ANSWER = 11             /* a valet_pair_map returned no VALET_PAIR_... */
};
typedef struct valet_error {
    size_t size;
    int32_t status;                         /* what the call returned; 0: none has failed */
    int32_t domain;                         /* VALET_ERROR_...; says how to read code */
    int32_t code;                           /* the raw value of VALKeychainError or of
                                               VALMigrationResult */
    int32_t reason;                         /* VALET_REASON_...; later versions may add some */
    char message[512];                      /* ends with a NUL, cut between characters; no secret */
    char hint[512];                         /* what to do about it; may be empty */
} valet_error;

/* valet_options options = VALET_INIT(valet_options); */
#ifdef __cplusplus
}
template <class Type> static inline Type valet_initial() {
    Type value = Type();
    value.size = sizeof(Type);
    return value;
}
extern "C" {
#define VALET_INIT(type) valet_initial<type>()
#else
#define VALET_INIT(type) { .size = sizeof(type) }
#endif

/* --- Library and process --- */

/* The version of the library. Pointers may be NULL. */
valet_status valet_version(int32_t *major, int32_t *minor, int32_t *patch);

/* Sets the identity of this application: the name under which its items are kept, and the groups
   that it shares with others. Call it before everything else; later it succeeds only with the
   identity in effect. Without it the application is named by its entitlements, its sandbox or its
   executable. */
valet_status valet_configure(const char *application, size_t application_length,
                             const char *const *groups, const size_t *group_lengths,
                             size_t group_count);

/* Fills in what *error has room for by its size, which reaches at least beyond reason. A success
   does not reset it, except that of valet_keys. Returns VALET_INVALID_ARGUMENT if error is NULL or
   smaller; that is not kept. */
valet_status valet_last_error(valet_error *error);

/* --- Valets --- */

/* Opens a valet. It costs little, and touches no file, except with a group without a prefix: that
   needs the groups of the program's identity, so valet_configure has to come first. */
valet_status valet_open(const valet_description *description, valet_t *valet);

/* Frees the handle. NULL is allowed. Secrets and lists of keys stay until they are freed. */
valet_status valet_close(valet_t valet);

/* Whether both read and write the same items. */
valet_status valet_is_equal(valet_t one, valet_t other, int32_t *is_equal);

/* Whether the keychain works for this valet, whatever its access control: stores a canary, which
   is not among the keys. Never asks the user. */
valet_status valet_can_access(valet_t valet, const valet_options *options, int32_t *can_access);

/* Whether the user could meet the access control: 0 for the biometric ones if no finger is
   enrolled. Never asks the user. */
valet_status valet_can_meet_access_control(valet_t valet, int32_t *can_meet);

/* Single-prompt kind: the next read asks again; an open question ends. Others: invalid argument. */
valet_status valet_require_prompt(valet_t valet);

/* --- Values --- */

/* Stores a value and replaces what is stored there. On return it is on the disk. Never asks. */
valet_status valet_set(valet_t valet, const char *key, size_t key_length, const void *value,
                       size_t value_length, const valet_options *options);

/* Stores all bytes up to the end of a file, pipe or socket, read into guarded memory. They have to
   come within a minute or the deadline. Nothing else may read the descriptor; it stays open. */
valet_status valet_set_from_fd(valet_t valet, const char *key, size_t key_length, int fd,
                               const valet_options *options);

/* Reads a value. The enclave kinds ask the user, if VALET_MAY_ASK allows it; the single-prompt kind
   only until the user has proved presence once to this handle. Values up to 4 KiB are in memory
   that is locked and kept out of core dumps, of which there is little: free secrets early. Larger
   ones are wiped when they are freed, but can be swapped out. */
valet_status valet_get(valet_t valet, const char *key, size_t key_length,
                       const valet_options *options, valet_secret_t *secret);

/* Whether something is stored. Never asks. */
valet_status valet_contains(valet_t valet, const char *key, size_t key_length,
                            const valet_options *options, int32_t *contains);

/* Removes what is stored, if anything: returns 0 when nothing is. Never asks. */
valet_status valet_remove(valet_t valet, const char *key, size_t key_length,
                          const valet_options *options);

/* Removes everything that is stored, also the canary. Never asks. The canary of the enclave kinds
   is in the local valet of the same name, and stays. */
valet_status valet_remove_all(valet_t valet, const valet_options *options);

/* Where the bytes are, until the secret is freed. */
valet_status valet_secret_bytes(valet_secret_t secret, const uint8_t **bytes);
valet_status valet_secret_length(valet_secret_t secret, size_t *length);

/* Wipes the bytes. NULL is allowed. */
valet_status valet_secret_free(valet_secret_t secret);

/* The keys, sorted byte by byte; an empty list if there are none. If items are damaged, the list
   has the other keys, and the call succeeds with VALET_REASON_DAMAGED in valet_last_error, which a
   complete list resets; if all are damaged, the call fails. The enclave kinds ask the user
   unless nothing is stored, like valet_get. */
valet_status valet_keys(valet_t valet, const valet_options *options, valet_keys_t *keys);
valet_status valet_keys_count(valet_keys_t keys, size_t *count);

/* A key of the list, which stays until the list is freed, and is followed by a NUL. length may be
   NULL. */
valet_status valet_keys_at(valet_keys_t keys, size_t index, const char **key, size_t *length);
valet_status valet_keys_free(valet_keys_t keys);        /* NULL is allowed */

/* --- Migration --- */

enum { VALET_VALUE_TEXT = 1, VALET_VALUE_BYTES = 2, VALET_VALUE_NUMBER = 3 };
/* One entry of a SecItem query, e.g. "svce" = text, "sync" = number 1. */
typedef struct valet_attribute {
    const char *name;                       /* the string value of the kSecAttr... constant */
    size_t name_length;
    int32_t type;                           /* VALET_VALUE_... */
    const void *value;                      /* text or bytes */
    size_t value_length;
    int64_t number;                         /* numbers and booleans */
} valet_attribute;

/* An item on its way. Its account may be text, bytes or a number; a key to store has to be text. */
typedef struct valet_pair {
    size_t size;
    valet_attribute key;
    const void *value;
    size_t value_length;
} valet_pair;

/* 0 is none of them: languages return it for a function that failed. */
enum { VALET_PAIR_KEEP = 1, VALET_PAIR_SKIP = 2, VALET_PAIR_STOP = 3 };
/* Changes *pair, leaves it out, or ends the migration without a change: then valet_migrate returns
   VALET_USER_CANCELED. Every other answer ends it with VALET_INVALID_ARGUMENT. What it points *pair
   at has to live until it returns and is called again, or valet_migrate returns. It has to return:
   no exception or longjmp may leave it. */
typedef int32_t (*valet_pair_map)(void *context, valet_pair *pair);

/* What to migrate. Exactly one source: from, attributes or retired. */
typedef struct valet_migration {
    size_t size;
    valet_t from;                           /* another valet; an enclave kind asks the user */
    const valet_attribute *attributes;      /* generic passwords with these attributes */
    size_t attribute_count;                 /* at most 64 */
    int32_t retired;                        /* VALET_ALWAYS or VALET_ALWAYS_THIS_DEVICE_ONLY: what
                                               this local or cloud valet stored with it */
    int32_t remove_on_completion;           /* 1: remove the items from their old place */
    valet_pair_map map;                     /* NULL keeps every pair */
    void *context;
    size_t attribute_size;                  /* sizeof(valet_attribute) of the caller; 0: that of the
                                               first version, which the key of a pair always has */
} valet_migration;

/* Stores items in a valet, all or none. Failures are of the domain VALET_ERROR_MIGRATION if a rule
   refuses them; VALET_ITEM_NOT_FOUND means that there was nothing to migrate. Items without a value
   stay where they are. The canary is not copied.

   attributes may also contain "class" = "genp", "m_Limit" = "m_LimitAll" or -1, "r_Attributes" = 1
   and "r_PersistentRef" = 1, which are implied; other values of these are an invalid query. */
valet_status valet_migrate(valet_t valet, const valet_migration *migration,
                           const valet_options *options);

/* --- The keychain of this process --- */

enum {
    VALET_STATE_ABSENT = 0,                 /* the first value that is stored makes the keychain */
    VALET_STATE_UNLOCKED = 1,
    VALET_STATE_LOCKED = 2,
    VALET_STATE_BEFORE_FIRST_UNLOCK = 3,
    VALET_STATE_NO_PASSCODE = 4,            /* everything is always open */
    VALET_STATE_KEY_UNAVAILABLE = 5,        /* the device key is missing or of another keychain */
    VALET_STATE_INCOMPLETE = 6              /* one of the keychain's two files is missing */
};

/* What a thief of the disk has to overcome; a greater level is harder. */
enum {
    VALET_LEVEL_NONE = -1,                  /* there is no keychain */
    VALET_LEVEL_FILE = 1,
    VALET_LEVEL_CREDENTIAL = 2,
    VALET_LEVEL_PASSCODE = 3,
    VALET_LEVEL_TPM = 4,
    VALET_LEVEL_TPM_AND_PASSCODE = 5
};

/* Creates nothing, and does not ask the user. Pointers may be NULL. */
valet_status valet_state(int32_t *state, int32_t *protection_level);

/* Waits until values of an accessibility can be read; a deadline of 0 looks once, unlike that of
   valet_options. Returns at once if there is no keychain or no passcode, and
   VALET_INTERACTION_NOT_ALLOWED at the deadline. */
valet_status valet_wait(int32_t accessibility, uint32_t deadline_ms);

/* Unlocks the keychain, like `valet unlock`: for duration_ms at most, and until nothing has used it
   for auto_lock_ms. VALET_AUTH_FAILED for a wrong passcode. */
enum { VALET_NO_LIMIT = 0 };
valet_status valet_unlock(const void *passcode, size_t passcode_length, uint64_t duration_ms,
                          uint64_t auto_lock_ms);

/* Locks the keychain for all processes for which an unlock unlocks it. all = 1 also closes the
   VALET_AFTER_FIRST_UNLOCK... values, as a restart does; 0 does not. */
valet_status valet_lock(int32_t all);

#ifdef __cplusplus
}
#endif
#endif
