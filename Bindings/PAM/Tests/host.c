// SPDX-License-Identifier: Apache-2.0
// A program that logs a user in, for the tests of pam_valet.so:
//
//     host USER PASSWORD [closed]
//
// Checks that the module leaves the host's signals, children and descriptors alone, and that the
// password is in memory exactly from the authentication to the session. Each byte of PASSWORD is
// one more than it should be, so that the password itself is nowhere else. With `closed` the host
// has no standard descriptors.

#include <dirent.h>
#include <fcntl.h>
#include <security/pam_appl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) \
    if (!(condition)) { \
        dprintf(report, "host.c:%d: %s\n", __LINE__, #condition); \
        exit(1); \
    }

static int report;
static const char *shifted;

static int answer(int count, const struct pam_message **messages, struct pam_response **responses,
                  void *data)
{
    (void)messages;
    (void)data;
    struct pam_response *response = calloc((size_t)count, sizeof *response);
    char *text = strdup(shifted);
    CHECK(count == 1 && response != NULL && text != NULL);
    for (char *place = text; *place != 0; place++) --*place;
    response[0].resp = text;
    *responses = response;
    return PAM_SUCCESS;
}

// How often the password is in this process. `flags` gets those of its last mapping (proc(5)).
static int copies(char flags[256])
{
    size_t length = strlen(shifted);
    char line[512];
    int count = 0, is_here = 0;
    FILE *maps = fopen("/proc/self/smaps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        uintptr_t start, end;
        char rights[8];
        if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3) {
            is_here = 0;
            if (strncmp(rights, "rw", 2) != 0) continue;
            for (const char *place = (char *)start; place + length <= (char *)end; place++) {
                size_t same = 0;
                while (same < length && place[same] == (char)(shifted[same] - 1)) same++;
                if (same == length) count++, is_here = 1;
            }
        } else if (is_here && strncmp(line, "VmFlags:", 8) == 0) {
            snprintf(flags, 256, "%.255s", line);
        }
    }
    fclose(maps);
    return count;
}

static int descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    while (readdir(folder) != NULL) count++;
    closedir(folder);
    return count;
}

static void note(int number)
{
    (void)number;
}

int main(int count, char **words)
{
    const struct pam_conv conversation = {answer, NULL};
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART}, found;
    sigset_t mask, found_mask;
    pam_handle_t *handle = NULL;
    char flags[256] = "";
    int status = 0;
    if (count < 3) return 64;
    report = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    shifted = words[2];
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    CHECK(sigaction(SIGCHLD, &action, NULL) == 0 && sigprocmask(SIG_SETMASK, &mask, NULL) == 0);
    pid_t child = fork();
    if (child == 0) _exit(9);
    if (count > 3)
        for (int number = 0; number < 3; number++) close(number);

    CHECK(pam_start("login", words[1], &conversation, &handle) == PAM_SUCCESS);
    CHECK(copies(flags) == 0);
    int before = descriptors();
    CHECK(pam_authenticate(handle, 0) == PAM_SUCCESS);
    CHECK(copies(flags) == 1 && strstr(flags, " lo ") != NULL && strstr(flags, " dd ") != NULL);
    CHECK(pam_open_session(handle, 0) == PAM_SUCCESS);
    CHECK(copies(flags) == 0 && descriptors() == before);

    CHECK(sigaction(SIGCHLD, NULL, &found) == 0 && found.sa_handler == note);
    CHECK(found.sa_flags & SA_RESTART);
    CHECK(sigprocmask(SIG_SETMASK, NULL, &found_mask) == 0);
    for (int number = 1; number < SIGRTMIN; number++)
        CHECK(sigismember(&mask, number) == sigismember(&found_mask, number));
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 9);
    CHECK(waitpid(-1, &status, WNOHANG) == -1);
    // What was kept for a session that is never opened is wiped as well.
    CHECK(pam_authenticate(handle, 0) == PAM_SUCCESS && copies(flags) == 1);
    CHECK(pam_end(handle, PAM_SUCCESS) == PAM_SUCCESS && copies(flags) == 0);
    return 0;
}
