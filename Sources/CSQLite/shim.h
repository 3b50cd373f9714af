// SPDX-License-Identifier: Apache-2.0
#ifndef VALET_CSQLITE_SHIM_H
#define VALET_CSQLITE_SHIM_H

#include <sqlite3.h>

/* sqlite3_db_config is variadic, which Swift does not import. */
static inline int valet_sqlite3_set_flag(sqlite3 *database, int option, int value) {
    return sqlite3_db_config(database, option, value, (int *)0);
}

/* SQLITE_TRANSIENT is a cast of -1 to a function pointer, which Swift does not import. */
static inline int valet_sqlite3_bind_copied_blob(
    sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

/* As above. */
static inline int valet_sqlite3_bind_copied_text(
    sqlite3_stmt *statement, int index, const char *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* The methods of a file are a table of C function pointers behind a struct of SQLite's own. */
static inline int valet_sqlite3_lengthen_log(
    sqlite3 *database, const void *zeros, int count, sqlite3_int64 target) {
    sqlite3_file *log = 0;
    sqlite3_int64 size = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code != SQLITE_OK) return code;
    if (!log || !log->pMethods) return SQLITE_OK;
    code = log->pMethods->xFileSize(log, &size);
    while (code == SQLITE_OK && size < target) {
        int part = target - size < count ? (int)(target - size) : count;
        code = log->pMethods->xWrite(log, zeros, part, size);
        size += part;
    }
    return code;
}

#endif
