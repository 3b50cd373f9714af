/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of wrong arguments, handles and structures: an error each, and no crash.
 */
#include <pthread.h>

#include "test.h"

#define REFUSED(call) CHECK_STATUS(call, VALET_INVALID_ARGUMENT)

static void open_refused(const valet_description *description)
{
    valet_t valet = (valet_t)(uintptr_t)8;
    REFUSED(valet_open(description, &valet));
    CHECK(valet == NULL);
}

static void test_descriptions(void)
{
    valet_description right = VALET_INIT(valet_description), wrong;
    valet_t valet;
    right.identifier = "Arguments";
    right.identifier_length = strlen("Arguments");
    right.accessibility = VALET_AFTER_FIRST_UNLOCK;
    open_refused(NULL);
    REFUSED(valet_open(&right, NULL));
    wrong = right, wrong.identifier_length = 0, open_refused(&wrong);
    wrong = right, wrong.identifier = NULL, open_refused(&wrong);
    wrong = right, wrong.identifier = "\xff", wrong.identifier_length = 1, open_refused(&wrong);
    wrong = right, wrong.identifier_length = (size_t)-1, open_refused(&wrong);
    wrong = right, wrong.kind = 4, open_refused(&wrong);
    wrong = right, wrong.kind = -1, open_refused(&wrong);
    wrong = right, wrong.accessibility = 0, open_refused(&wrong);
    wrong = right, wrong.accessibility = 8, open_refused(&wrong);
    wrong = right, wrong.accessibility = -1, open_refused(&wrong);
    wrong = right, wrong.access_control = 1, open_refused(&wrong);
    wrong = right, wrong.explicitly_set = 2, open_refused(&wrong);
    wrong = right, wrong.group_prefix = "group", wrong.group_prefix_length = 5;
    open_refused(&wrong);
    wrong.group = "g", wrong.group_length = 1, wrong.explicitly_set = 1, open_refused(&wrong);
    wrong = right, wrong.kind = VALET_KIND_CLOUD;
    wrong.accessibility = VALET_WHEN_UNLOCKED_THIS_DEVICE_ONLY, open_refused(&wrong);
    wrong = right, wrong.kind = VALET_KIND_SECURE_ENCLAVE, open_refused(&wrong);
    wrong.accessibility = 0, open_refused(&wrong);
    wrong.access_control = 5, open_refused(&wrong);
    wrong.access_control = VALET_USER_PRESENCE, wrong.explicitly_set = 1, open_refused(&wrong);
    wrong.explicitly_set = 0;
    OK(valet_open(&wrong, &valet));
    OK(valet_close(valet));
}

static void test_keys_and_values(void)
{
    int32_t is_there = 5;
    valet_secret_t secret = NULL;
    valet_keys_t keys = NULL;
    valet_t valet = valet_named("Arguments");
    REFUSED(valet_set(valet, NULL, 0, "v", 1, NULL));
    check_error(VALET_INVALID_ARGUMENT, VALET_ERROR_KEYCHAIN, 4, "the key is empty");
    REFUSED(valet_set(valet, "k", 1, NULL, 0, NULL));
    check_error(VALET_INVALID_ARGUMENT, VALET_ERROR_KEYCHAIN, 5, "the value is empty");
    REFUSED(valet_set(valet, NULL, 1, "v", 1, NULL));
    REFUSED(valet_set(valet, "k", 1, NULL, 1, NULL));
    REFUSED(valet_set(valet, "\xc3", 1, "v", 1, NULL));
    REFUSED(valet_set(valet, "\xed\xa0\x80", 3, "v", 1, NULL));
    REFUSED(valet_set(valet, "k", (size_t)-1, "v", 1, NULL));
    REFUSED(valet_set(valet, "k", (size_t)1 << 40, "v", 1, NULL));
    REFUSED(valet_get(valet, NULL, 0, NULL, &secret));
    REFUSED(valet_get(valet, "k", 1, NULL, NULL));
    REFUSED(valet_contains(valet, "k", 1, NULL, NULL));
    REFUSED(valet_contains(valet, NULL, 0, NULL, &is_there));
    CHECK(is_there == 5);
    REFUSED(valet_remove(valet, NULL, 0, NULL));
    REFUSED(valet_keys(valet, NULL, NULL));
    REFUSED(valet_keys_count(keys, NULL));
    REFUSED(valet_can_access(valet, NULL, NULL));
    REFUSED(valet_can_meet_access_control(valet, NULL));
    REFUSED(valet_is_equal(valet, valet, NULL));
    REFUSED(valet_is_equal(valet, NULL, &is_there));
    REFUSED(valet_require_prompt(valet));
    REFUSED(valet_wait(0, 0));
    REFUSED(valet_lock(2));
    REFUSED(valet_configure(NULL, 0, NULL, NULL, 0));
    REFUSED(valet_configure("x", 1, NULL, NULL, 1));
    REFUSED(valet_configure("x", 1, NULL, NULL, (size_t)-1));
    OK(valet_state(NULL, NULL));
    REFUSED(valet_configure(TEXT("another name"), NULL, NULL, 0));
    OK(valet_configure(TEXT("ctests"), NULL, NULL, 0));
    OK(valet_version(NULL, NULL, NULL));
    OK(valet_close(valet));
}

/* Arguments that the header does not allow are refused. */
void test_arguments(void)
{
    int32_t major = -1, minor = -1, patch = -1;
    OK(valet_version(&major, &minor, &patch));
    CHECK(major >= 0 && minor >= 0 && patch >= 0);
    test_descriptions();
    test_keys_and_values();
}

static void *free_in_another_thread(void *secret)
{
    return (void *)(intptr_t)valet_secret_free((valet_secret_t)secret);
}

/* A freed, foreign or invented handle is refused, by every function. */
void test_handles(void)
{
    int32_t result;
    size_t count;
    const char *key;
    const uint8_t *bytes;
    pthread_t threads[2];
    void *results[2];
    valet_migration migration = VALET_INIT(valet_migration);
    valet_secret_t secret, out = NULL;
    valet_keys_t keys, list = NULL;
    valet_t valet = valet_named("Handles"), stale;
    OK(valet_set(valet, "k", 1, "v", 1, NULL));
    OK(valet_get(valet, "k", 1, NULL, &secret));
    OK(valet_keys(valet, NULL, &keys));
    stale = valet_named("Stale");
    OK(valet_close(stale));
    const valet_t wrong[] = {
        NULL, stale, (valet_t)secret, (valet_t)keys, (valet_t)(uintptr_t)1, (valet_t)&result,
        (valet_t)(uintptr_t)-1,
    };
    for (size_t index = 0; index < sizeof(wrong) / sizeof(wrong[0]); index += 1) {
        valet_t it = wrong[index];
        if (it != NULL) REFUSED(valet_close(it));
        REFUSED(valet_is_equal(it, valet, &result));
        REFUSED(valet_is_equal(valet, it, &result));
        REFUSED(valet_can_access(it, NULL, &result));
        REFUSED(valet_can_meet_access_control(it, &result));
        REFUSED(valet_require_prompt(it));
        REFUSED(valet_set(it, "k", 1, "v", 1, NULL));
        REFUSED(valet_set_from_fd(it, "k", 1, 0, NULL));
        REFUSED(valet_get(it, "k", 1, NULL, &out));
        REFUSED(valet_contains(it, "k", 1, NULL, &result));
        REFUSED(valet_remove(it, "k", 1, NULL));
        REFUSED(valet_remove_all(it, NULL));
        REFUSED(valet_keys(it, NULL, &list));
        REFUSED(valet_migrate(it, &migration, NULL));
        if (it == (valet_t)secret || it == (valet_t)keys) continue;
        if (it != NULL) REFUSED(valet_secret_free((valet_secret_t)it));
        if (it != NULL) REFUSED(valet_keys_free((valet_keys_t)it));
        REFUSED(valet_secret_bytes((valet_secret_t)it, &bytes));
        REFUSED(valet_secret_length((valet_secret_t)it, &count));
        REFUSED(valet_keys_count((valet_keys_t)it, &count));
        REFUSED(valet_keys_at((valet_keys_t)it, 0, &key, &count));
    }
    REFUSED(valet_secret_free((valet_secret_t)keys));
    REFUSED(valet_keys_free((valet_keys_t)secret));
    CHECK(out == NULL && list == NULL);
    OK(valet_close(NULL));
    OK(valet_secret_free(NULL));
    OK(valet_keys_free(NULL));
    check_value(valet, "k", "v", 1);
    /* Of two threads that free one handle, one succeeds. */
    for (int index = 0; index < 2; index += 1)
        CHECK(pthread_create(&threads[index], NULL, free_in_another_thread, secret) == 0);
    for (int index = 0; index < 2; index += 1)
        CHECK(pthread_join(threads[index], &results[index]) == 0);
    CHECK((intptr_t)results[0] + (intptr_t)results[1] == VALET_INVALID_ARGUMENT);
    OK(valet_keys_free(keys));
    OK(valet_close(valet));
}

static void *look_at_error(void *unused)
{
    valet_error error = VALET_INIT(valet_error);
    (void)unused;
    OK(valet_last_error(&error));
    CHECK(error.status == 0 && error.domain == 0 && error.message[0] == 0);
    return NULL;
}

/* The last error belongs to a thread, outlives successes, and fits the caller's structure. */
void test_errors(void)
{
    pthread_t thread;
    unsigned char memory[sizeof(valet_error) + 64];
    valet_secret_t secret;
    valet_error whole = VALET_INIT(valet_error);
    const size_t least = offsetof(valet_error, message);
    valet_t valet = valet_named("Errors");
    CHECK_STATUS(valet_get(valet, "k", 1, NULL, &secret), VALET_ITEM_NOT_FOUND);
    OK(valet_set(valet, "k", 1, "v", 1, NULL));
    check_error(VALET_ITEM_NOT_FOUND, VALET_ERROR_KEYCHAIN, 2, "could not read an item");
    CHECK(pthread_create(&thread, NULL, look_at_error, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    OK(valet_last_error(&whole));
    REFUSED(valet_last_error(NULL));
    for (size_t size = 0; size <= sizeof(memory); size += 1) {
        memset(memory, 0xa5, sizeof(memory));
        memcpy(memory, &size, sizeof(size));
        if (size < least) {
            REFUSED(valet_last_error((valet_error *)memory));
        } else {
            OK(valet_last_error((valet_error *)memory));
            CHECK(((valet_error *)memory)->status == VALET_ITEM_NOT_FOUND);
        }
        size_t written = size < sizeof(valet_error) ? size : sizeof(valet_error);
        for (size_t index = size < least ? sizeof(size) : written; index < sizeof(memory); index++)
            CHECK(memory[index] == 0xa5);
        if (size > least) {
            size_t room = size - least;
            const char *message = ((valet_error *)memory)->message;
            CHECK(memchr(message, 0, room) != NULL);
            CHECK(strncmp(message, whole.message, strlen(message)) == 0);
        }
    }
    OK(valet_close(valet));
}

/* A structure is as large as this version knows, or larger and zero beyond. */
void test_structures(void)
{
    struct { valet_options options; uint64_t later[4]; } larger;
    valet_options wrong = VALET_INIT(valet_options);
    int32_t is_there;
    valet_t valet = valet_named("Structures");
    memset(&larger, 0, sizeof(larger));
    larger.options.size = sizeof(larger);
    OK(valet_contains(valet, "k", 1, &larger.options, &is_there));
    larger.later[3] = 1;
    REFUSED(valet_contains(valet, "k", 1, &larger.options, &is_there));
    check_error(VALET_INVALID_ARGUMENT, VALET_ERROR_KEYCHAIN, 0, "does not know");
    wrong.size -= 1;
    REFUSED(valet_contains(valet, "k", 1, &wrong, &is_there));
    wrong.size = 0;
    REFUSED(valet_contains(valet, "k", 1, &wrong, &is_there));
    wrong.size = (size_t)-1;
    REFUSED(valet_contains(valet, "k", 1, &wrong, &is_there));
    wrong.size = sizeof(wrong), wrong.flags = 2;
    REFUSED(valet_contains(valet, "k", 1, &wrong, &is_there));
    wrong.flags = VALET_MAY_ASK | 0x80000000u;
    REFUSED(valet_contains(valet, "k", 1, &wrong, &is_there));
    wrong.flags = 0, wrong.prompt = "\xff", wrong.prompt_length = 1;
    REFUSED(valet_contains(valet, "k", 1, &wrong, &is_there));
    wrong.prompt = NULL;
    REFUSED(valet_contains(valet, "k", 1, &wrong, &is_there));
    OK(valet_close(valet));
}
