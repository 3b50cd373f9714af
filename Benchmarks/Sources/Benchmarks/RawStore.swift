// SPDX-License-Identifier: Apache-2.0

import CSQLiteBaseline

/// The yardstick: a table of keys and values in SQLite, with the same durability and no crypto.
final class RawStore {
    /// How the table is laid out; both are common, and the second is the leaner one.
    enum Layout: String, CaseIterable {
        case rowid = "CREATE TABLE IF NOT EXISTS kv (key TEXT PRIMARY KEY, value BLOB NOT NULL)"
        case withoutRowid =
            "CREATE TABLE IF NOT EXISTS kv(key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
    }

    private var database: OpaquePointer?
    private var select: OpaquePointer?
    private var exists: OpaquePointer?
    private var upsert: OpaquePointer?
    private var keys: OpaquePointer?

    init(path: String, _ layout: Layout) {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        check(sqlite3_open_v2(path, &database, flags, nil), SQLITE_OK)
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run(layout.rawValue)
        select = prepare("SELECT value FROM kv WHERE key = ?1")
        exists = prepare("SELECT 1 FROM kv WHERE key = ?1")
        upsert = prepare(
            "INSERT INTO kv VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
        keys = prepare("SELECT key FROM kv WHERE key >= ?1 AND key < ?2")
    }

    func run(_ sql: String) {
        check(sqlite3_exec(database, sql, nil, nil, nil), SQLITE_OK)
    }

    func get(_ key: String) {
        bind(key, select)
        check(sqlite3_step(select), SQLITE_ROW)
        check(sqlite3_column_bytes(select, 0), 64)
        sqlite3_reset(select)
    }

    func contains(_ key: String) {
        bind(key, exists)
        check(sqlite3_step(exists), SQLITE_ROW)
        sqlite3_reset(exists)
    }

    func set(_ key: String, _ value: [UInt8]) {
        bind(key, upsert)
        check(baseline_bind_blob(upsert, 2, value, Int32(value.count)), SQLITE_OK)
        check(sqlite3_step(upsert), SQLITE_DONE)
        sqlite3_reset(upsert)
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
