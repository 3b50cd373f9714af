/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of the two kinds of valets whose values only the present user can read. The script's
 * pinentry answers with the line in $ANSWER, and appends a line to $ASKED for each question.
 */
#include "test.h"

/* How often the user was asked so far. */
static int questions(void)
{
    int count = 0, byte;
    FILE *file = fopen(getenv("ASKED"), "r");
    if (file == NULL) return 0;
    while ((byte = getc(file)) != EOF) count += byte == '\n';
    fclose(file);
    return count;
}

static void answer_with(const char *text)
{
    FILE *file = fopen(getenv("ANSWER"), "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static valet_options asking(void)
{
    valet_options options = VALET_INIT(valet_options);
    options.flags = VALET_MAY_ASK;
    options.prompt = "the tests of C need it";
    options.prompt_length = strlen(options.prompt);
    return options;
}

static void unlock(void)
{
    answer_with("open sesame");
    OK(valet_unlock(TEXT("open sesame"), 0, 0));
}

static int32_t read_once(valet_t valet, const char *key, const valet_options *options)
{
    valet_secret_t secret;
    const uint8_t *bytes;
    const int32_t status = valet_get(valet, TEXT(key), options, &secret);
    if (status != VALET_OK) {
        CHECK(secret == NULL);
        return status;
    }
    OK(valet_secret_bytes(secret, &bytes));
    CHECK(bytes[0] == 'v');
    OK(valet_secret_free(secret));
    return status;
}

/* Each read asks, if the caller allows it; nothing else does. */
void test_presence(void)
{
    int32_t result;
    const valet_options options = asking();
    valet_error error = VALET_INIT(valet_error);
    valet_t valet = enclave_valet(VALET_KIND_SECURE_ENCLAVE, VALET_DEVICE_PASSCODE);
    valet_t finger = enclave_valet(VALET_KIND_SECURE_ENCLAVE, VALET_BIOMETRIC_ANY);
    unlock();
    const int before = questions();
    OK(valet_can_access(valet, &options, &result));
    CHECK(result == 1);
    OK(valet_can_access(finger, &options, &result));
    CHECK(result == 1);
    OK(valet_can_meet_access_control(valet, &result));
    CHECK(result == 1);
    OK(valet_can_meet_access_control(finger, &result));
    CHECK(result == 0);
    OK(valet_set(valet, TEXT("key"), "v", 1, &options));
    OK(valet_set(valet, TEXT("key"), "v", 1, NULL));
    OK(valet_contains(valet, TEXT("key"), &options, &result));
    CHECK(result == 1);
    CHECK_STATUS(read_once(valet, "key", NULL), VALET_INTERACTION_NOT_ALLOWED);
    check_error(VALET_INTERACTION_NOT_ALLOWED, VALET_ERROR_KEYCHAIN, 0, "forbids questions");
    OK(valet_last_error(&error));
    CHECK(strstr(error.hint, "set `VALET_MAY_ASK`") != NULL);
    CHECK_STATUS(valet_require_prompt(valet), VALET_INVALID_ARGUMENT);
    CHECK(questions() == before);
    OK(read_once(valet, "key", &options));
    OK(read_once(valet, "key", &options));
    CHECK(questions() == before + 2);
    answer_with("wrong");
    CHECK_STATUS(read_once(valet, "key", &options), VALET_AUTH_FAILED);
    check_error(VALET_AUTH_FAILED, VALET_ERROR_KEYCHAIN, 1, "");
    OK(valet_remove(valet, TEXT("key"), &options));
    CHECK_STATUS(read_once(valet, "key", &options), VALET_ITEM_NOT_FOUND);
    CHECK(questions() == before + 5);
    OK(valet_close(valet));
    OK(valet_close(finger));
}

/* One answer counts for a handle, until the program asks for another one. */
void test_single_prompt(void)
{
    int32_t result;
    size_t count;
    valet_keys_t keys;
    const char *key;
    const valet_options options = asking();
    valet_t valet = enclave_valet(VALET_KIND_SINGLE_PROMPT, VALET_USER_PRESENCE);
    valet_t other = enclave_valet(VALET_KIND_SINGLE_PROMPT, VALET_USER_PRESENCE);
    unlock();
    OK(valet_can_access(valet, NULL, &result));
    OK(valet_keys(valet, NULL, &keys));
    OK(valet_keys_count(keys, &count));
    CHECK(count == 0);
    OK(valet_keys_free(keys));
    OK(valet_set(valet, TEXT("one"), "v1", 2, NULL));
    OK(valet_set(valet, TEXT("two"), "v2", 2, NULL));
    const int before = questions();
    CHECK_STATUS(read_once(valet, "one", NULL), VALET_INTERACTION_NOT_ALLOWED);
    CHECK_STATUS(valet_keys(valet, NULL, &keys), VALET_INTERACTION_NOT_ALLOWED);
    CHECK(questions() == before);
    OK(read_once(valet, "one", &options));
    OK(read_once(valet, "two", &options));
    OK(read_once(valet, "two", NULL));
    OK(valet_keys(valet, NULL, &keys));
    OK(valet_keys_count(keys, &count));
    OK(valet_keys_at(keys, 1, &key, NULL));
    CHECK(count == 2 && strcmp(key, "two") == 0);
    OK(valet_keys_free(keys));
    CHECK(questions() == before + 1);
    CHECK_STATUS(read_once(other, "one", NULL), VALET_INTERACTION_NOT_ALLOWED);
    OK(valet_require_prompt(valet));
    CHECK_STATUS(read_once(valet, "one", NULL), VALET_INTERACTION_NOT_ALLOWED);
    OK(read_once(valet, "one", &options));
    CHECK(questions() == before + 2);
    OK(valet_close(valet));
    OK(valet_close(other));
}

/* Items move into and between valets that ask; only reading asks. */
void test_presence_migration(void)
{
    const valet_options options = asking();
    valet_migration migration = VALET_INIT(valet_migration);
    valet_t plain = valet_named("Plain");
    valet_t single = enclave_valet(VALET_KIND_SINGLE_PROMPT, VALET_DEVICE_PASSCODE);
    valet_t each = enclave_valet(VALET_KIND_SECURE_ENCLAVE, VALET_DEVICE_PASSCODE);
    unlock();
    OK(valet_set(plain, TEXT("one"), "v1", 2, NULL));
    OK(valet_set(plain, TEXT("two"), "v2", 2, NULL));
    const int before = questions();
    migration.from = plain;
    migration.remove_on_completion = 1;
    OK(valet_migrate(single, &migration, NULL));
    CHECK(questions() == before);
    migration.from = single;
    CHECK_STATUS(valet_migrate(each, &migration, NULL), VALET_INTERACTION_NOT_ALLOWED);
    CHECK(questions() == before);
    OK(valet_migrate(each, &migration, &options));
    CHECK(questions() == before + 1);
    OK(read_once(each, "one", &options));
    CHECK_STATUS(read_once(single, "one", &options), VALET_ITEM_NOT_FOUND);
    migration = (valet_migration)VALET_INIT(valet_migration);
    migration.retired = VALET_ALWAYS;
    CHECK_STATUS(valet_migrate(each, &migration, &options), VALET_INVALID_ARGUMENT);
    OK(valet_close(plain));
    OK(valet_close(single));
    OK(valet_close(each));
}

/* A question that nobody answers ends by the deadline. The script's pinentry never answers. */
void test_nobody(void)
{
    valet_options options = asking();
    valet_t valet = enclave_valet(VALET_KIND_SECURE_ENCLAVE, VALET_DEVICE_PASSCODE);
    OK(valet_unlock(TEXT("open sesame"), 0, 0));
    OK(valet_set(valet, TEXT("key"), "v", 1, NULL));
    options.deadline_ms = 500;
    CHECK_STATUS(read_once(valet, "key", &options), VALET_AUTH_FAILED);
    check_error(VALET_AUTH_FAILED, VALET_ERROR_KEYCHAIN, 1, "no answer came in time");
    OK(valet_close(valet));
}
