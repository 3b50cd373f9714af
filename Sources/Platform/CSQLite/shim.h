// SPDX-License-Identifier: Apache-2.0
#ifndef VALET_CSQLITE_SHIM_H
#define VALET_CSQLITE_SHIM_H

#include <errno.h>
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

/* For the same reason. */
static inline int valet_sqlite3_bind_copied_text(
    sqlite3_stmt *statement, int index, const char *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* Appends zeros to the database (SQLITE_FCNTL_FILE_POINTER) or to its log
   (SQLITE_FCNTL_JOURNAL_POINTER) until the file is `target` bytes long; `added` says by how much.
   The methods of a file are a table of C function pointers. An empty log may have been emptied a
   moment ago: that has to be on disk before the zeros. Otherwise a power cut may keep some of them,
   and old frames before them. */
static inline int valet_sqlite3_lengthen(
    sqlite3 *database, int kind, sqlite3_int64 target, sqlite3_int64 *added) {
    static unsigned char zeros[64 << 10];
    const int count = sizeof zeros;
    sqlite3_file *file = 0;
    sqlite3_int64 size = 0, start;
    int code = sqlite3_file_control(database, "main", kind, &file);
    *added = 0;
    if (code != SQLITE_OK) return code;
    if (!file || !file->pMethods) return SQLITE_OK;
    code = file->pMethods->xFileSize(file, &size);
    if (code == SQLITE_OK && size == 0) code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    start = size;
    while (code == SQLITE_OK && size < target) {
        int part = target - size < count ? (int)(target - size) : count;
        code = file->pMethods->xWrite(file, zeros, part, size);
        size += part;
    }
    *added = size - start;
    return code;
}

/* The log's index, which SQLite has mapped since its first read: shared memory of all processes
   that have the database open. It begins with two copies of a header of 48 bytes
   (https://sqlite.org/walformat.html, 2.1). 0 if there is no log or the map is not writable. */
static inline const void *valet_sqlite3_log_index(sqlite3 *database) {
    sqlite3_file *file = 0;
    void volatile *index = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK || !file || !file->pMethods) return 0;
    if (file->pMethods->iVersion < 2 || !file->pMethods->xShmMap) return 0;
    code = file->pMethods->xShmMap(file, 0, 32768, 0, &index);
    return code == SQLITE_OK ? (const void *)index : 0;
}

/* SQLite makes room for the index by one byte in each page of memory. Where the blocks of the file
   system are smaller, the rest has no room: to write there with the disk full would end the
   process. So each block is written to, without changing it. */
static inline void valet_reserve_log_index(const void *index) {
    for (int place = 0; place < 32768; place += 512) {
        __atomic_fetch_or((unsigned int *)((char *)index + place), 0, __ATOMIC_RELAXED);
    }
}

/* One word of 64 bits of the log's index, which other processes may be writing. What they wrote
   before it is visible afterwards. */
static inline unsigned long long valet_log_index_word(const void *index, int place) {
    return __atomic_load_n((const unsigned long long *)index + place, __ATOMIC_ACQUIRE);
}

/* Whether SQLite has a log open: not before the first read, and not of a database without one. */
static inline int valet_sqlite3_has_log(sqlite3 *database) {
    sqlite3_file *log = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    return code == SQLITE_OK && log && log->pMethods;
}

/* Whether the descriptors of the database and of its log are open: the system says if they are
   closed when it is asked for the files' sizes. Any other error does not say so. */
static inline int valet_sqlite3_has_files(sqlite3 *database) {
    int kinds[] = {SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER};
    for (int place = 0; place < 2; place++) {
        sqlite3_file *file = 0;
        sqlite3_int64 size;
        int code = sqlite3_file_control(database, "main", kinds[place], &file);
        if (code != SQLITE_OK || !file || !file->pMethods) continue;
        errno = 0;
        if (file->pMethods->xFileSize(file, &size) != SQLITE_OK && errno == EBADF) return 0;
    }
    return 1;
}

/* The log's length in bytes, 0 without a log; a negative number is an error. */
static inline sqlite3_int64 valet_sqlite3_log_size(sqlite3 *database) {
    sqlite3_file *log = 0;
    sqlite3_int64 size = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code == SQLITE_OK && log && log->pMethods) code = log->pMethods->xFileSize(log, &size);
    return code == SQLITE_OK ? size : -code;
}

/* Reads from the log, which must exist; bytes beyond its end are zero. */
static inline int valet_sqlite3_read_log(
    sqlite3 *database, void *bytes, int count, sqlite3_int64 offset) {
    sqlite3_file *log = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code != SQLITE_OK) return code;
    if (!log || !log->pMethods) return SQLITE_CANTOPEN;
    code = log->pMethods->xRead(log, bytes, count, offset);
    return code == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : code;
}

/* Writes zeros over the header of the log's frame at `offset`, if there is one, and waits until
   they are on disk. Then nobody takes it or those behind it for frames. */
static inline int valet_sqlite3_end_log(sqlite3 *database, sqlite3_int64 offset) {
    static const char zeros[24];
    sqlite3_file *log = 0;
    sqlite3_int64 size;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code != SQLITE_OK || !log || !log->pMethods) return code;
    code = log->pMethods->xFileSize(log, &size);
    if (code != SQLITE_OK || size <= offset) return code;
    code = log->pMethods->xWrite(log, zeros, sizeof zeros, offset);
    return code == SQLITE_OK ? log->pMethods->xSync(log, SQLITE_SYNC_NORMAL) : code;
}

#endif
