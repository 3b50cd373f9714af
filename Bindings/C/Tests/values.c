/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of storing, reading, finding and removing values.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A value that was stored is read, replaced and removed. */
void test_values(void)
{
    int32_t is_there = -1;
    valet_secret_t secret = NULL;
    valet_t valet = valet_named("Values");
    OK(valet_can_access(valet, NULL, &is_there));
    CHECK(is_there == 1);
    OK(valet_contains(valet, TEXT("key"), NULL, &is_there));
    CHECK(is_there == 0);
    OK(valet_set(valet, TEXT("key"), "\0\xff\0", 3, NULL));
    check_value(valet, "key", "\0\xff\0", 3);
    OK(valet_set(valet, TEXT("key"), "new", 3, NULL));
    check_value(valet, "key", "new", 3);
    OK(valet_contains(valet, TEXT("key"), NULL, &is_there));
    CHECK(is_there == 1);
    OK(valet_remove(valet, TEXT("key"), NULL));
    OK(valet_remove(valet, TEXT("key"), NULL));
    CHECK_STATUS(valet_get(valet, TEXT("key"), NULL, &secret), VALET_ITEM_NOT_FOUND);
    CHECK(secret == NULL);
    check_error(VALET_ITEM_NOT_FOUND, VALET_ERROR_KEYCHAIN, 2, "no item matches");
    OK(valet_set(valet, TEXT("a"), "1", 1, NULL));
    OK(valet_remove_all(valet, NULL));
    OK(valet_remove_all(valet, NULL));
    OK(valet_contains(valet, TEXT("a"), NULL, &is_there));
    CHECK(is_there == 0);
    OK(valet_close(valet));
}

/* Keys are listed byte by byte, whole, and without the canary. */
void test_keys(void)
{
    static const struct { const char *key; size_t length; } wanted[] = {
        {"a", 1}, {"a\0b", 3}, {"b", 1}, {"\xc3\xa9", 2}, {"\xf0\x9f\x94\x91", 4},
    };
    int32_t is_there;
    valet_keys_t keys;
    const char *key;
    size_t count, length;
    valet_t valet = valet_named("Keys");
    OK(valet_keys(valet, NULL, &keys));
    OK(valet_keys_count(keys, &count));
    CHECK(count == 0);
    CHECK_STATUS(valet_keys_at(keys, 0, &key, &length), VALET_INVALID_ARGUMENT);
    OK(valet_keys_free(keys));
    OK(valet_can_access(valet, NULL, &is_there));
    for (size_t index = 5; index > 0; index -= 1)
        OK(valet_set(valet, wanted[index - 1].key, wanted[index - 1].length, "v", 1, NULL));
    OK(valet_keys(valet, NULL, &keys));
    OK(valet_keys_count(keys, &count));
    CHECK(count == 5);
    for (size_t index = 0; index < count; index += 1) {
        OK(valet_keys_at(keys, index, &key, &length));
        CHECK(length == wanted[index].length && key[length] == 0);
        CHECK(memcmp(key, wanted[index].key, length) == 0);
    }
    OK(valet_keys_at(keys, 4, &key, NULL));
    CHECK_STATUS(valet_keys_at(keys, 5, &key, &length), VALET_INVALID_ARGUMENT);
    CHECK_STATUS(valet_keys_at(keys, (size_t)-1, &key, &length), VALET_INVALID_ARGUMENT);
    CHECK_STATUS(valet_keys_at(keys, 0, NULL, &length), VALET_INVALID_ARGUMENT);
    OK(valet_close(valet));
    OK(valet_keys_at(keys, 0, &key, &length));
    OK(valet_keys_free(keys));
}

/* Identifier, group, accessibility and kind select the items. */
void test_names(void)
{
    valet_description description = VALET_INIT(valet_description);
    valet_t one, other;
    int32_t is_equal, is_there;
    one = valet_named("Names");
    other = valet_named("Names");
    OK(valet_is_equal(one, other, &is_equal));
    CHECK(is_equal == 1);
    OK(valet_set(one, TEXT("key"), "1", 1, NULL));
    check_value(other, "key", "1", 1);
    OK(valet_close(other));

    other = valet_with("Names", VALET_WHEN_UNLOCKED);
    OK(valet_is_equal(one, other, &is_equal));
    CHECK(is_equal == 0);
    OK(valet_contains(other, TEXT("key"), NULL, &is_there));
    CHECK(is_there == 0);
    OK(valet_close(other));

    description.identifier = "Names";
    description.identifier_length = 5;
    description.accessibility = VALET_AFTER_FIRST_UNLOCK;
    description.kind = VALET_KIND_CLOUD;
    OK(valet_open(&description, &other));
    OK(valet_contains(other, TEXT("key"), NULL, &is_there));
    CHECK(is_there == 0);
    OK(valet_set(other, TEXT("key"), "cloud", 5, NULL));
    check_value(other, "key", "cloud", 5);
    OK(valet_close(other));

    description.kind = VALET_KIND_LOCAL;
    description.explicitly_set = 1;
    OK(valet_open(&description, &other));
    OK(valet_contains(other, TEXT("key"), NULL, &is_there));
    CHECK(is_there == 0);
    OK(valet_close(other));

    /* The two spellings of é are two names. */
    OK(valet_close(one));
    one = valet_named("\xc3\xa9");
    other = valet_named("e\xcc\x81");
    OK(valet_is_equal(one, other, &is_equal));
    CHECK(is_equal == 0);
    OK(valet_close(one));
    OK(valet_close(other));

    description.explicitly_set = 0;
    description.group_prefix = "group";
    description.group_prefix_length = 5;
    description.group = "com.example";
    description.group_length = strlen("com.example");
    OK(valet_open(&description, &other));
    CHECK_STATUS(valet_set(other, TEXT("key"), "1", 1, NULL), VALET_MISSING_ENTITLEMENT);
    check_error(VALET_MISSING_ENTITLEMENT, VALET_ERROR_KEYCHAIN, 3, "");
    valet_error error = VALET_INIT(valet_error);
    OK(valet_last_error(&error));
    CHECK(strstr(error.hint, "`valet_configure`") != NULL);
    OK(valet_close(other));
    description.group_prefix_length = 0;
    CHECK_STATUS(valet_open(&description, &other), VALET_MISSING_ENTITLEMENT);
}

/* The largest value has 16 MiB. */
void test_sizes(void)
{
    const size_t most = (size_t)16 << 20;
    char *value = malloc(most + 1);
    valet_t valet = valet_named("Sizes");
    CHECK(value != NULL);
    memset(value, 'v', most + 1);
    OK(valet_set(valet, TEXT("large"), value, most, NULL));
    check_value(valet, "large", value, most);
    CHECK_STATUS(valet_set(valet, TEXT("large"), value, most + 1, NULL), -25302);
    CHECK_STATUS(valet_set(valet, TEXT("large"), value, (size_t)-1, NULL), -25302);
    check_value(valet, "large", value, most);
    OK(valet_close(valet));
    free(value);
}

/* A value comes from a descriptor, whole and in time. */
void test_descriptors(void)
{
    int ends[2];
    valet_options options = VALET_INIT(valet_options);
    valet_t valet = valet_named("Descriptors");
    double begin = seconds();
    CHECK(pipe(ends) == 0);
    CHECK(write(ends[1], "from a\0pipe\n", 12) == 12);
    close(ends[1]);
    OK(valet_set_from_fd(valet, TEXT("pipe"), ends[0], NULL));
    check_value(valet, "pipe", "from a\0pipe\n", 12);
    CHECK(fcntl(ends[0], F_GETFD) >= 0);
    CHECK_STATUS(valet_set_from_fd(valet, TEXT("pipe"), ends[0], NULL), VALET_INVALID_ARGUMENT);
    check_error(VALET_INVALID_ARGUMENT, VALET_ERROR_KEYCHAIN, 5, "the value is empty");
    close(ends[0]);
    CHECK_STATUS(valet_set_from_fd(valet, TEXT("pipe"), ends[0], NULL), -36);
    CHECK_STATUS(valet_set_from_fd(valet, TEXT("pipe"), -1, NULL), VALET_INVALID_ARGUMENT);
    CHECK(seconds() - begin < 5);

    CHECK(pipe(ends) == 0);
    CHECK(write(ends[1], "part", 4) == 4);
    options.deadline_ms = 300;
    begin = seconds();
    CHECK_STATUS(valet_set_from_fd(valet, TEXT("pipe"), ends[0], &options), VALET_NOT_AVAILABLE);
    CHECK(seconds() - begin >= 0.3 && seconds() - begin < 3);
    close(ends[0]);
    close(ends[1]);
    check_value(valet, "pipe", "from a\0pipe\n", 12);
    OK(valet_close(valet));
}
