// SPDX-License-Identifier: Apache-2.0
#include "LMDBByName.h"

#include <dlfcn.h>
#include <stdlib.h>

/* As in lmdb.h. */
typedef struct { size_t count; const void *bytes; } value_t;
enum { no_subfolder = 0x4000, read_only = 0x20000 };

static struct {
    int (*env_create)(void **);
    int (*env_set_mapsize)(void *, size_t);
    int (*env_open)(void *, const char *, unsigned, unsigned);
    int (*txn_begin)(void *, void *, unsigned, void **);
    int (*txn_commit)(void *);
    void (*txn_abort)(void *);
    void (*txn_reset)(void *);
    int (*txn_renew)(void *);
    int (*dbi_open)(void *, const char *, unsigned, unsigned *);
    int (*get)(void *, unsigned, value_t *, value_t *);
    int (*put)(void *, unsigned, value_t *, value_t *, unsigned);
} lmdb;

struct lmdb_store {
    void *environment;
    void *reader;
    unsigned database;
};

static int load(void) {
    void *library = dlopen("liblmdb.so.0", RTLD_NOW);
    if (!library) return 0;
    const struct { const char *name; void **function; } symbols[] = {
        {"mdb_env_create", (void **)&lmdb.env_create},
        {"mdb_env_set_mapsize", (void **)&lmdb.env_set_mapsize},
        {"mdb_env_open", (void **)&lmdb.env_open},
        {"mdb_txn_begin", (void **)&lmdb.txn_begin},
        {"mdb_txn_commit", (void **)&lmdb.txn_commit},
        {"mdb_txn_abort", (void **)&lmdb.txn_abort},
        {"mdb_txn_reset", (void **)&lmdb.txn_reset},
        {"mdb_txn_renew", (void **)&lmdb.txn_renew},
        {"mdb_dbi_open", (void **)&lmdb.dbi_open},
        {"mdb_get", (void **)&lmdb.get},
        {"mdb_put", (void **)&lmdb.put},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (!(*symbols[i].function = dlsym(library, symbols[i].name))) return 0;
    return 1;
}

lmdb_store *lmdb_store_open(const char *path) {
    const size_t largest = (size_t)4 << 30;
    lmdb_store *store = calloc(1, sizeof *store);
    void *transaction;
    if (!store || !load() || lmdb.env_create(&store->environment)
        || lmdb.env_set_mapsize(store->environment, largest)
        || lmdb.env_open(store->environment, path, no_subfolder, 0600)
        || lmdb.txn_begin(store->environment, NULL, 0, &transaction)
        || lmdb.dbi_open(transaction, NULL, 0, &store->database) || lmdb.txn_commit(transaction)
        || lmdb.txn_begin(store->environment, NULL, read_only, &store->reader)) {
        free(store);
        return NULL;
    }
    lmdb.txn_reset(store->reader);
    return store;
}

long lmdb_store_get(lmdb_store *store, const void *key, size_t key_count) {
    value_t name = {key_count, key}, value;
    if (lmdb.txn_renew(store->reader)) return -1;
    long count = lmdb.get(store->reader, store->database, &name, &value) ? -1 : (long)value.count;
    lmdb.txn_reset(store->reader);
    return count;
}

int lmdb_store_set(lmdb_store *store, const void *key, size_t key_count, const void *value,
                   size_t value_count) {
    return lmdb_store_fill(store, key, 1, key_count, value, value_count);
}

int lmdb_store_fill(lmdb_store *store, const void *keys, size_t count, size_t key_count,
                    const void *value, size_t value_count) {
    void *transaction;
    int code = lmdb.txn_begin(store->environment, NULL, 0, &transaction);
    if (code) return code;
    for (size_t i = 0; i < count; i++) {
        value_t name = {key_count, (const char *)keys + i * key_count};
        value_t content = {value_count, value};
        code = lmdb.put(transaction, store->database, &name, &content, 0);
        if (code) {
            lmdb.txn_abort(transaction);
            return code;
        }
    }
    return lmdb.txn_commit(transaction);
}
