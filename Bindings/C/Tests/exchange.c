/* SPDX-License-Identifier: Apache-2.0
 *
 * What Bindings/C/test does together with the command `valet`, and the search for a secret in the
 * memory of this program.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "test.h"

/* Stores what the script reads with `valet get`. */
void store_for_swift(void)
{
    valet_t valet = valet_named("Exchange");
    OK(valet_set(valet, TEXT("from C"), "a\0value\n", 8, NULL));
    OK(valet_close(valet));
    valet = valet_with("Exchange", VALET_WHEN_UNLOCKED_THIS_DEVICE_ONLY);
    OK(valet_set(valet, TEXT("\xc3\xa9"), "here", 4, NULL));
    OK(valet_close(valet));
}

/* Reads what the script has stored with `valet set`. */
void read_from_swift(void)
{
    valet_description description = VALET_INIT(valet_description);
    valet_t valet = valet_named("Exchange");
    check_value(valet, "from Swift", "another\0value", 13);
    OK(valet_close(valet));
    description.identifier = "Exchange";
    description.identifier_length = strlen("Exchange");
    description.accessibility = VALET_WHEN_UNLOCKED;
    description.kind = VALET_KIND_CLOUD;
    OK(valet_open(&description, &valet));
    check_value(valet, "cloud", "shared", 6);
    OK(valet_close(valet));
}

/* Stores the value on standard input, reads and migrates it, and frees all of it. Then waits, so
   that the script can search the memory. */
void use_secret(void)
{
    volatile char *kept = malloc(64);
    valet_secret_t secret;
    valet_keys_t keys;
    const uint8_t *bytes;
    size_t length;
    valet_migration migration = VALET_INIT(valet_migration);
    valet_t valet = valet_named("Leak"), other = valet_named("Another");
    OK(valet_set_from_fd(valet, TEXT("key"), 0, NULL));
    OK(valet_get(valet, TEXT("key"), NULL, &secret));
    OK(valet_secret_bytes(secret, &bytes));
    OK(valet_secret_length(secret, &length));
    OK(valet_set(valet, TEXT("copy"), bytes, length, NULL));
    OK(valet_secret_free(secret));
    migration.from = valet;
    migration.remove_on_completion = 1;
    OK(valet_migrate(other, &migration, NULL));
    OK(valet_keys(other, NULL, &keys));
    OK(valet_keys_free(keys));
    OK(valet_close(valet));
    OK(valet_close(other));
    /* The canary, which the search has to find: half of it comes from the environment. */
    CHECK(kept != NULL && getenv("CANARY") != NULL);
    snprintf((char *)kept, 64, "%s%s", "canary-", getenv("CANARY"));
    printf("ready\n");
    fflush(stdout);
    pause();
}
