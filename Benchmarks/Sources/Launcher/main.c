// SPDX-License-Identifier: Apache-2.0
/* Starts a command again and again. Prints the median time from start to exit in milliseconds, the
 * time of the slowest twentieth, the largest resident memory in KiB, and the medians of page faults
 * without and with a read from the disk. In C and without a library, because a child that shares
 * its parent's memory until it executes would be charged with a larger parent's. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

int main(int count, char **arguments) {
    enum { runs = 100 };
    double milliseconds[runs], minor[runs], major[runs];
    long largest = 0;
    if (count < 2) return 64;
    for (int run = 0; run < runs; run++) {
        struct timespec start, end;
        struct rusage usage;
        int status;
        clock_gettime(CLOCK_MONOTONIC, &start);
        pid_t child = vfork();
        if (child == 0) {
            int nowhere = open("/dev/null", O_WRONLY);
            dup2(nowhere, 1);
            execv(arguments[1], arguments + 1);
            _exit(127);
        }
        if (wait4(child, &status, 0, &usage) != child || status != 0) return 1;
        clock_gettime(CLOCK_MONOTONIC, &end);
        milliseconds[run] =
            (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6;
        if (usage.ru_maxrss > largest) largest = usage.ru_maxrss;
        minor[run] = usage.ru_minflt;
        major[run] = usage.ru_majflt;
    }
    qsort(milliseconds, runs, sizeof *milliseconds, ascending);
    qsort(minor, runs, sizeof *minor, ascending);
    qsort(major, runs, sizeof *major, ascending);
    printf("%.2f %.2f %ld %.0f %.0f\n", milliseconds[runs / 2], milliseconds[runs * 95 / 100],
           largest, minor[runs / 2], major[runs / 2]);
    return 0;
}
