// SPDX-License-Identifier: Apache-2.0

import CSQLiteBaseline

/// The yardstick: a table of keys and values in SQLite, with the same durability and no encryption.
/// One connection, which one thread at a time may use.
final class RawStore: Store {
    private var database: OpaquePointer?
    private var select: OpaquePointer?
    private var exists: OpaquePointer?
    private var upsert: OpaquePointer?
    private var keys: OpaquePointer?

    init(path: String) {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        check(sqlite3_open_v2(path, &database, flags, nil), SQLITE_OK)
        check(sqlite3_busy_timeout(database, 5000), SQLITE_OK)
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run("CREATE TABLE IF NOT EXISTS kv (key TEXT PRIMARY KEY, value BLOB NOT NULL)")
        select = prepare("SELECT value FROM kv WHERE key = ?1")
        exists = prepare("SELECT 1 FROM kv WHERE key = ?1")
        upsert = prepare(
            "INSERT INTO kv VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
        keys = prepare("SELECT key FROM kv")
    }

    deinit {
        for statement in [select, exists, upsert, keys] { sqlite3_finalize(statement) }
        check(sqlite3_close(database), SQLITE_OK)
    }

    func run(_ sql: String) {
        check(sqlite3_exec(database, sql, nil, nil, nil), SQLITE_OK)
    }

    func get(_ name: String) {
        bind(name, select)
        check(sqlite3_step(select), SQLITE_ROW)
        check(sqlite3_column_bytes(select, 0), 64)
        sqlite3_reset(select)
    }

    func contains(_ name: String) {
        bind(name, exists)
        check(sqlite3_step(exists), SQLITE_ROW)
        sqlite3_reset(exists)
    }

    func set(_ name: String, _ value: [UInt8]) {
        bind(name, upsert)
        check(baseline_bind_blob(upsert, 2, value, Int32(value.count)), SQLITE_OK)
        check(sqlite3_step(upsert), SQLITE_DONE)
        sqlite3_reset(upsert)
    }

    /// Returns all names.
    func list() -> [String] {
        var names: [String] = []
        while sqlite3_step(keys) == SQLITE_ROW {
            names.append(String(cString: sqlite3_column_text(keys, 0)))
        }
        sqlite3_reset(keys)
        return names
    }

    private func prepare(_ sql: String) -> OpaquePointer? {
        var statement: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        check(sqlite3_prepare_v3(database, sql, -1, flags, &statement, nil), SQLITE_OK)
        return statement
    }

    private func bind(_ key: String, _ statement: OpaquePointer?) {
        check(baseline_bind_text(statement, 1, key, Int32(key.utf8.count)), SQLITE_OK)
    }

    private func check(_ code: Int32, _ expected: Int32) {
        precondition(
            code == expected, "sqlite \(code): \(String(cString: sqlite3_errmsg(database)))")
    }
}
