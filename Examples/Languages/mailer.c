// SPDX-License-Identifier: Apache-2.0
// Stores a password and reads it back, through valet.h.

#include <stdio.h>
#include <valet.h>

static int failed(void) {
    valet_error error = VALET_INIT(valet_error);
    valet_last_error(&error);
    fprintf(stderr, "%s; %s\n", error.message, error.hint);
    return 1;
}

int main(void) {
    valet_description mailer = VALET_INIT(valet_description);
    mailer.identifier = "Mailer", mailer.identifier_length = 6;
    mailer.accessibility = VALET_AFTER_FIRST_UNLOCK;
    valet_t valet = NULL;
    valet_secret_t secret = NULL;
    const uint8_t *bytes;
    size_t length;
    if (valet_configure("Mailer", 6, NULL, NULL, 0) || valet_open(&mailer, &valet)) return failed();
    if (valet_set(valet, "c", 1, "correct horse", 13, NULL)) return failed();
    if (valet_get(valet, "c", 1, NULL, &secret)) return failed();
    if (valet_secret_bytes(secret, &bytes) || valet_secret_length(secret, &length)) return failed();
    printf("%.*s\n", (int)length, (const char *)bytes);
    return valet_secret_free(secret) || valet_close(valet);  // The value is wiped.
}
