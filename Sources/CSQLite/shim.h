// SPDX-License-Identifier: Apache-2.0
#ifndef VALET_CSQLITE_SHIM_H
#define VALET_CSQLITE_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

/* sqlite3_db_config is variadic, which Swift does not import. */
static inline int valet_sqlite3_set_flag(sqlite3 *database, int option, int value) {
    return sqlite3_db_config(database, option, value, (int *)0);
}

/* SQLITE_TRANSIENT is a cast of -1 to a function pointer, which Swift does not import. */
static inline int valet_sqlite3_bind_copied_blob(
    sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

/* For the same reason. */
static inline int valet_sqlite3_bind_copied_text(
    sqlite3_stmt *statement, int index, const char *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* The methods of a file are a table of C function pointers behind a struct of SQLite's own. An
   empty log may have been emptied a moment ago: that has to be on disk before the zeros. Otherwise
   a power cut may keep some of them, and old frames before them. */
static inline int valet_sqlite3_lengthen_log(
    sqlite3 *database, const void *zeros, int count, sqlite3_int64 target) {
    sqlite3_file *log = 0;
    sqlite3_int64 size = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code != SQLITE_OK) return code;
    if (!log || !log->pMethods) return SQLITE_OK;
    code = log->pMethods->xFileSize(log, &size);
    if (code == SQLITE_OK && size == 0) code = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
    while (code == SQLITE_OK && size < target) {
        int part = target - size < count ? (int)(target - size) : count;
        code = log->pMethods->xWrite(log, zeros, part, size);
        size += part;
    }
    return code;
}

/* Makes a file at least this long, with room on the disk for all that is new. Returns the error
   number. */
static inline int valet_reserve(int file, sqlite3_int64 size, sqlite3_int64 target) {
    int code;
    do {
        code = posix_fallocate(file, (off_t)size, (off_t)(target - size));
    } while (code == EINTR);
    return code;
}

/* The log's index, which SQLite has mapped since its first read: shared memory of all processes
   that have the database open. It begins with two copies of a header of 48 bytes
   (https://sqlite.org/walformat.html, 2.1). 0 if there is no log or the map is not writable. */
static inline const void *valet_sqlite3_log_index(sqlite3 *database) {
    sqlite3_file *file = 0;
    void volatile *index = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK || !file || !file->pMethods) return 0;
    if (file->pMethods->iVersion < 2 || !file->pMethods->xShmMap) return 0;
    code = file->pMethods->xShmMap(file, 0, 32768, 0, &index);
    return code == SQLITE_OK ? (const void *)index : 0;
}

/* One word of 64 bits of the log's index, which other processes may be writing. What they wrote
   before it is visible afterwards. */
static inline unsigned long long valet_log_index_word(const void *index, int place) {
    return __atomic_load_n((const unsigned long long *)index + place, __ATOMIC_ACQUIRE);
}

/* The log's length in bytes, 0 without a log; a negative number is an error. */
static inline sqlite3_int64 valet_sqlite3_log_size(sqlite3 *database) {
    sqlite3_file *log = 0;
    sqlite3_int64 size = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code == SQLITE_OK && log && log->pMethods) code = log->pMethods->xFileSize(log, &size);
    return code == SQLITE_OK ? size : -code;
}

/* Reads from the log, which must exist; bytes beyond its end are zero. */
static inline int valet_sqlite3_read_log(
    sqlite3 *database, void *bytes, int count, sqlite3_int64 offset) {
    sqlite3_file *log = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code != SQLITE_OK) return code;
    if (!log || !log->pMethods) return SQLITE_CANTOPEN;
    code = log->pMethods->xRead(log, bytes, count, offset);
    return code == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : code;
}

/* The descriptor in SQLite's struct unixFile, which has been behind three pointers since SQLite
   3.7. The caller checks that it leads to the file. -1 if there is no such file. */
static inline int valet_sqlite3_descriptor(sqlite3 *database, int kind) {
    struct place {
        const sqlite3_io_methods *methods;
        void *system, *inode;
        int descriptor;
    } *file = 0;
    int code = sqlite3_file_control(database, "main", kind, (sqlite3_file **)&file);
    return code == SQLITE_OK && file && file->methods ? file->descriptor : -1;
}

/* Other code may have closed SQLite's descriptors, and their numbers may belong to other files.
   While a thread closes such a connection, SQLite may close and unlock only its own files. Its
   table of system calls is the only place to enforce that. Other threads are not affected. */
struct valet_sqlite3_own_file {
    sqlite3_uint64 device, inode;
};

struct valet_sqlite3_guard {
    const struct valet_sqlite3_own_file *files;
    int count, is_on;
};

/* Static variables of functions: Swift does not emit variables of a header. */
static inline struct valet_sqlite3_guard *valet_thread_guard(void) {
    static _Thread_local struct valet_sqlite3_guard guard;
    return &guard;
}

static inline sqlite3_syscall_ptr *valet_usual_calls(void) {
    static sqlite3_syscall_ptr close_and_fcntl[2];
    return close_and_fcntl;
}

static inline int valet_is_untouchable(int number) {
    struct valet_sqlite3_guard *guard = valet_thread_guard();
    struct stat status;
    if (!guard->is_on) return 0;
    if (fstat(number, &status) != 0) return 1;
    for (int place = 0; place < guard->count; place++) {
        if (guard->files[place].device == (sqlite3_uint64)status.st_dev
            && guard->files[place].inode == (sqlite3_uint64)status.st_ino) return 0;
    }
    return 1;
}

static inline int valet_guarded_close(int number) {
    if (valet_is_untouchable(number)) return 0;
    return ((int (*)(int))valet_usual_calls()[0])(number);
}

static inline int valet_guarded_fcntl(int number, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (valet_is_untouchable(number)) return 0;
    return ((int (*)(int, int, ...))valet_usual_calls()[1])(number, command, argument);
}

/* One thread at a time. */
static inline void valet_sqlite3_guard_on(
    const struct valet_sqlite3_own_file *files, int count) {
    sqlite3_vfs *system = sqlite3_vfs_find("unix");
    struct valet_sqlite3_guard guard = {files, count, 1};
    if (!system) return;
    *valet_thread_guard() = guard;
    valet_usual_calls()[0] = system->xGetSystemCall(system, "close");
    valet_usual_calls()[1] = system->xGetSystemCall(system, "fcntl");
    system->xSetSystemCall(system, "close", (sqlite3_syscall_ptr)valet_guarded_close);
    system->xSetSystemCall(system, "fcntl", (sqlite3_syscall_ptr)valet_guarded_fcntl);
}

static inline void valet_sqlite3_guard_off(void) {
    sqlite3_vfs *system = sqlite3_vfs_find("unix");
    struct valet_sqlite3_guard none = {0, 0, 0};
    if (!system) return;
    system->xSetSystemCall(system, "close", valet_usual_calls()[0]);
    system->xSetSystemCall(system, "fcntl", valet_usual_calls()[1]);
    *valet_thread_guard() = none;
}

/* SQLite's own allocator, for the functions below. A static variable of a function: Swift does not
   emit variables of a header. */
static inline sqlite3_mem_methods *valet_usual_memory(void) {
    static sqlite3_mem_methods methods;
    return &methods;
}

static inline void valet_wiping_free(void *memory) {
    if (!memory) return;
    explicit_bzero(memory, (size_t)valet_usual_memory()->xSize(memory));
    valet_usual_memory()->xFree(memory);
}

static inline void *valet_wiping_realloc(void *memory, int count) {
    int old = valet_usual_memory()->xSize(memory);
    void *other = valet_usual_memory()->xMalloc(count);
    if (!other) return 0;
    memcpy(other, memory, (size_t)(old < count ? old : count));
    valet_wiping_free(memory);
    return other;
}

/* Makes SQLite wipe all memory that it frees. Fails once SQLite has been used. sqlite3_config is
   variadic, which Swift does not import. */
static inline int valet_sqlite3_wipe_freed_memory(void) {
    sqlite3_mem_methods wiping;
    int code = sqlite3_config(SQLITE_CONFIG_GETMALLOC, valet_usual_memory());
    if (code != SQLITE_OK) return code;
    wiping = *valet_usual_memory();
    wiping.xFree = valet_wiping_free;
    wiping.xRealloc = valet_wiping_realloc;
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &wiping);
}

#endif
