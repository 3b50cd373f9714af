/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of libvalet share: checks that end the program, and short forms of calls. A test
 * is a function that main.c runs in a process and a keychain of its own.
 */
#ifndef TEST_H
#define TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valet.h>

void failed(const char *file, int line, const char *what, long found, long wanted);

#define CHECK(condition) \
    do { \
        if (!(condition)) failed(__FILE__, __LINE__, #condition, 0, 1); \
    } while (0)
#define CHECK_STATUS(call, wanted) \
    do { \
        long found_ = (call); \
        if (found_ != (wanted)) failed(__FILE__, __LINE__, #call, found_, (wanted)); \
    } while (0)
#define OK(call) CHECK_STATUS(call, VALET_OK)

/* A text and its length: two arguments. */
#define TEXT(text) (text), strlen(text)

/* An opened valet, local and VALET_AFTER_FIRST_UNLOCK. */
valet_t valet_named(const char *identifier);
valet_t valet_with(const char *identifier, int32_t accessibility);
/* An opened valet of an enclave kind. */
valet_t enclave_valet(int32_t kind, int32_t access_control);
/* Checks that a key has a value. */
void check_value(valet_t valet, const char *key, const void *bytes, size_t length);
/* Checks the last error of this thread. */
void check_error(int32_t status, int32_t domain, int32_t code, const char *message_part);

/* The tests. */
void test_values(void);
void test_keys(void);
void test_names(void);
void test_sizes(void);
void test_descriptors(void);
void test_arguments(void);
void test_handles(void);
void test_errors(void);
void test_structures(void);
void test_threads(void);
void test_fork(void);
void test_signals(void);
void test_deadline(void);
void test_migration(void);
void test_migration_in_place(void);
void test_migration_of_lookalikes(void);
void test_migration_rules(void);
void test_map(void);
void test_locked(void);
void test_waiting(void);
void test_presence(void);
void test_single_prompt(void);
void test_presence_migration(void);
void test_nobody(void);
void store_for_swift(void);
void read_from_swift(void);
void use_secret(void);

#endif
