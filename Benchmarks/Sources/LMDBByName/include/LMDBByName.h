// SPDX-License-Identifier: Apache-2.0
/* LMDB as a key-value store: one database, one commit with its syncs for each write. The library
 * is loaded when it is first used, so that building the benchmark does not need it. */
#ifndef LMDB_BY_NAME_H
#define LMDB_BY_NAME_H

#include <stddef.h>

typedef struct lmdb_store lmdb_store;

/* Opens or creates the store at `path`. NULL if LMDB is not installed, or on failure. */
lmdb_store *lmdb_store_open(const char *path);

/* The length of the value, or -1. Only one thread at a time may read. */
long lmdb_store_get(lmdb_store *store, const void *key, size_t key_count);

/* Writes and commits; 0, or LMDB's error code. Any thread may call it. */
int lmdb_store_set(lmdb_store *store, const void *key, size_t key_count, const void *value,
                   size_t value_count);

/* Writes `value` under each of `count` keys of `key_count` bytes in one commit. */
int lmdb_store_fill(lmdb_store *store, const void *keys, size_t count, size_t key_count,
                    const void *value, size_t value_count);

#endif
