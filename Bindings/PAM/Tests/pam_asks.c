// SPDX-License-Identifier: Apache-2.0
// A PAM module for the tests of pam_valet.so. As pam_unix.so does, it asks for the password, and
// changes it; the password is the content of the file that its first argument names. With a second
// argument it does not ask for the old password, as when root changes it.

#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <stdio.h>

#define UNUSED __attribute__((unused))

static int check(pam_handle_t *handle, int item, const char *path)
{
    const char *password = NULL;
    FILE *file = fopen(path, "r");
    if (file == NULL) return PAM_AUTHINFO_UNAVAIL;
    // Unbuffered, and byte by byte: the tests search the memory for copies.
    setvbuf(file, NULL, _IONBF, 0);
    int is_right = pam_get_authtok(handle, item, &password, NULL) == PAM_SUCCESS;
    for (; is_right && *password != 0; password++)
        is_right = fgetc(file) == (unsigned char)*password;
    is_right = is_right && fgetc(file) == EOF;
    fclose(file);
    return is_right ? PAM_SUCCESS : PAM_AUTH_ERR;
}

int pam_sm_authenticate(pam_handle_t *handle, UNUSED int flags, UNUSED int count,
                        const char **words)
{
    return check(handle, PAM_AUTHTOK, words[0]);
}

int pam_sm_chauthtok(pam_handle_t *handle, int flags, int count, const char **words)
{
    const char *password = NULL;
    if (flags & PAM_PRELIM_CHECK)
        return count > 1 ? PAM_SUCCESS : check(handle, PAM_OLDAUTHTOK, words[0]);
    if (pam_get_authtok(handle, PAM_AUTHTOK, &password, NULL) != PAM_SUCCESS)
        return PAM_AUTHTOK_ERR;
    FILE *file = fopen(words[0], "w");
    if (file == NULL) return PAM_AUTHTOK_ERR;
    fputs(password, file);
    return fclose(file) == 0 ? PAM_SUCCESS : PAM_AUTHTOK_ERR;
}

int pam_sm_setcred(UNUSED pam_handle_t *handle, UNUSED int flags, UNUSED int count,
                   UNUSED const char **words)
{
    return PAM_SUCCESS;
}

int pam_sm_acct_mgmt(UNUSED pam_handle_t *handle, UNUSED int flags, UNUSED int count,
                     UNUSED const char **words)
{
    return PAM_SUCCESS;
}

int pam_sm_open_session(UNUSED pam_handle_t *handle, UNUSED int flags, UNUSED int count,
                        UNUSED const char **words)
{
    return PAM_SUCCESS;
}

int pam_sm_close_session(UNUSED pam_handle_t *handle, UNUSED int flags, UNUSED int count,
                         UNUSED const char **words)
{
    return PAM_SUCCESS;
}
