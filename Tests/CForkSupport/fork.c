// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CForkSupport.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int run_in_child(int by_bare_clone, int (*body)(void)) {
    pid_t child = by_bare_clone ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
    if (child == 0) {
        alarm(20); /* a child that hangs is a failure, not a hanging test run */
        _exit(body());
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}
