// SPDX-License-Identifier: Apache-2.0
#ifndef CFORKSUPPORT_H
#define CFORKSUPPORT_H

/* Runs body in a child process, made by fork or by a bare clone system call that the C library
   does not see, and returns what body returned there (0 to 255), or -1 if the child died
   otherwise. A child that takes more than ten seconds is ended, and the next tried, three at most.
   Swift does not import fork. */
int run_in_child(int by_bare_clone, int (*body)(void));

#endif
