/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the tests that its arguments name: tests NAME ... The script Bindings/C/test gives each
 * process a keychain of its own.
 */
#include "test.h"

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"values", test_values}, {"keys", test_keys}, {"names", test_names}, {"sizes", test_sizes},
    {"descriptors", test_descriptors}, {"arguments", test_arguments}, {"handles", test_handles},
    {"errors", test_errors}, {"structures", test_structures}, {"threads", test_threads},
    {"fork", test_fork}, {"signals", test_signals}, {"deadline", test_deadline},
    {"migration", test_migration}, {"in-place", test_migration_in_place}, {"lookalikes", test_migration_of_lookalikes},
    {"migration-rules", test_migration_rules}, {"map", test_map},
    {"locked", test_locked}, {"waiting", test_waiting}, {"presence", test_presence},
    {"single-prompt", test_single_prompt}, {"presence-migration", test_presence_migration},
    {"nobody", test_nobody}, {"store-for-swift", store_for_swift},
    {"read-from-swift", read_from_swift}, {"use-secret", use_secret},
};

void failed(const char *file, int line, const char *what, long found, long wanted)
{
    valet_error error = VALET_INIT(valet_error);
    valet_last_error(&error);
    fprintf(stderr, "%s:%d: %s: %ld, not %ld\n  the last error is %d: %s; hint: %s\n", file, line,
            what, found, wanted, error.status, error.message, error.hint);
    _Exit(1);
}

valet_t valet_with(const char *identifier, int32_t accessibility)
{
    valet_description description = VALET_INIT(valet_description);
    valet_t valet;
    description.identifier = identifier;
    description.identifier_length = strlen(identifier);
    description.accessibility = accessibility;
    OK(valet_open(&description, &valet));
    return valet;
}

valet_t valet_named(const char *identifier)
{
    return valet_with(identifier, VALET_AFTER_FIRST_UNLOCK);
}

valet_t enclave_valet(int32_t kind, int32_t access_control)
{
    valet_description description = VALET_INIT(valet_description);
    valet_t valet;
    description.identifier = "Enclave";
    description.identifier_length = strlen("Enclave");
    description.kind = kind;
    description.access_control = access_control;
    OK(valet_open(&description, &valet));
    return valet;
}

void check_value(valet_t valet, const char *key, const void *bytes, size_t length)
{
    valet_secret_t secret;
    const uint8_t *found;
    size_t count;
    OK(valet_get(valet, TEXT(key), NULL, &secret));
    OK(valet_secret_bytes(secret, &found));
    OK(valet_secret_length(secret, &count));
    CHECK(count == length && memcmp(found, bytes, length) == 0);
    OK(valet_secret_free(secret));
}

void check_error(int32_t status, int32_t domain, int32_t code, const char *message_part)
{
    valet_error error = VALET_INIT(valet_error);
    OK(valet_last_error(&error));
    CHECK_STATUS(error.status, status);
    CHECK_STATUS(error.domain, domain);
    CHECK_STATUS(error.code, code);
    CHECK(strstr(error.message, message_part) != NULL);
}

int main(int count, char **names)
{
    OK(valet_configure(TEXT("ctests"), NULL, NULL, 0));
    for (int index = 1; index < count; index += 1) {
        size_t test = 0;
        while (test < sizeof(tests) / sizeof(tests[0]) && strcmp(tests[test].name, names[index]))
            test += 1;
        if (test == sizeof(tests) / sizeof(tests[0])) {
            fprintf(stderr, "tests: there is no test %s\n", names[index]);
            return 64;
        }
        tests[test].run();
    }
    return 0;
}
