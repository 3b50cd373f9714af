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

/* The first 96 bytes of the log's index, which SQLite has mapped: valid as soon as something was
   read. 0 bytes where there is no log. */
static inline int valet_sqlite3_log_index(sqlite3 *database, void *bytes) {
    sqlite3_file *file = 0;
    void volatile *index = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK) return -code;
    if (!file || !file->pMethods || file->pMethods->iVersion < 2) return 0;
    code = file->pMethods->xShmMap(file, 0, 32768, 0, &index);
    if (code != SQLITE_OK || !index) return 0;
    /* What others have written before they wrote what tells of it. */
    file->pMethods->xShmBarrier(file);
    for (int place = 0; place < 96; place++) {
        ((unsigned char *)bytes)[place] = ((unsigned char volatile *)index)[place];
    }
    file->pMethods->xShmBarrier(file);
    return 96;
}

/* The log's length in bytes, 0 where there is none, or less than 0. */
static inline sqlite3_int64 valet_sqlite3_log_size(sqlite3 *database) {
    sqlite3_file *log = 0;
    sqlite3_int64 size = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code == SQLITE_OK && log && log->pMethods) code = log->pMethods->xFileSize(log, &size);
    return code == SQLITE_OK ? size : -code;
}

/* Reads from the log; what is beyond its end is zero. Only where there is one. */
static inline int valet_sqlite3_read_log(
    sqlite3 *database, void *bytes, int count, sqlite3_int64 offset) {
    sqlite3_file *log = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code != SQLITE_OK) return code;
    if (!log || !log->pMethods) return SQLITE_CANTOPEN;
    code = log->pMethods->xRead(log, bytes, count, offset);
    return code == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : code;
}

#endif
