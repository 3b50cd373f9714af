// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CForkSupport.h"

#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES = 3, SECONDS = 10 };

/* The threads that run tests block most signals, and a child begins with the mask of its thread. */
static void end_after(unsigned seconds) {
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    signal(SIGALRM, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &alarms, NULL);
    alarm(seconds);
}

int run_in_child(int by_bare_clone, int (*body)(void)) {
    for (int try = 0; try < TRIES; try++) {
        pid_t child = by_bare_clone ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
        if (child == 0) {
            end_after(SECONDS);
            _exit(body());
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child) return -1;
        if (WIFEXITED(status)) return WEXITSTATUS(status);
        /* What another thread had locked in that moment, as the memory of malloc or a table of
           Swift's runtime, no one unlocks in the child. */
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM) return -1;
    }
    return -1;
}
