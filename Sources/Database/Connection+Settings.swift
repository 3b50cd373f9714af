// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
internal import ValetSystem

extension Connection {
    /// Sets everything that spec/keys-and-states.md §9.4 asks for; what SQLite offers as a call is
    /// not a PRAGMA, to keep opening fast.
    func configure(cacheKibibytes: Int) throws(SystemError) {
        let database = unsafe try openDatabase("configure the database")
        unsafe lowerLimits(of: database)
        for (option, value) in Self.flags {
            try check(
                unsafe valet_sqlite3_set_flag(database, option, value), "configure the database")
        }
        var keepsLog: Int32 = 1
        try check(
            unsafe sqlite3_file_control(
                database, "main", SQLITE_FCNTL_PERSIST_WAL, &keepsLog), "configure the database")
        try check(
            unsafe sqlite3_exec(database, Self.pragmas, nil, nil, nil), "configure the database")
        try setCacheSize(kibibytes: cacheKibibytes)
    }

    private static var flags: [(option: Int32, value: Int32)] {
        [
            (SQLITE_DBCONFIG_DEFENSIVE, 1),
            (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
            // Closing must not write: it may happen without the lock, in a child or at exit.
            (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1),
            (SQLITE_DBCONFIG_ENABLE_FKEY, 0),
            (SQLITE_DBCONFIG_DQS_DML, 0),
            (SQLITE_DBCONFIG_DQS_DDL, 0),
        ]
    }

    /// How long the log's file may stay when its frames were taken over: 1,000 pages, and room for
    /// the transaction that goes beyond them. What was cut off would have to be made again.
    package static let keptLogByteCount = 1080 * 4120

    /// How long the log's file is when nothing is in it: room for some 30 pages, so that items can
    /// be removed where the disk is full.
    package static let reservedLogByteCount = 128 << 10

    // `synchronous` comes last: it is the first to read the file, with everything else in force.
    // A PRAGMA takes no bound parameter; the only thing put in is a number.
    private static let pragmas = """
        PRAGMA temp_store = MEMORY;
        PRAGMA cell_size_check = ON;
        PRAGMA secure_delete = ON;
        PRAGMA mmap_size = 0;
        PRAGMA journal_size_limit = \(keptLogByteCount);
        PRAGMA synchronous = FULL;
        """

    private func setCacheSize(kibibytes: Int) throws(SystemError) {
        // A PRAGMA takes no bound parameter; the only thing put in is a number.
        let text = "PRAGMA cache_size = -\(max(1, kibibytes))"
        try check(
            unsafe sqlite3_exec(database, text, nil, nil, nil), "configure the database")
    }

    /// A damaged or hostile file must not make SQLite do what our statements never ask for.
    private func lowerLimits(of database: OpaquePointer) {
        unsafe sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 32 << 20)
        unsafe sqlite3_limit(database, SQLITE_LIMIT_SQL_LENGTH, 64 << 10)
        unsafe sqlite3_limit(database, SQLITE_LIMIT_COLUMN, 200)
        unsafe sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0)
        unsafe sqlite3_limit(database, SQLITE_LIMIT_WORKER_THREADS, 0)
        unsafe sqlite3_limit(database, SQLITE_LIMIT_TRIGGER_DEPTH, 8)
    }
}
