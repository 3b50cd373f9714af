// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

// Checkpoints, copies, rebuilding and checks of a database. The connection pool, key changes,
// repairs and `valet doctor` use them.

extension Connection {
    /// How far a checkpoint goes.
    package enum CheckpointMode: Hashable, Sendable {
        /// Moves the frames that no reader needs; does not wait.
        case passive
        /// Moves all frames and empties the log; waits for readers until the deadline.
        case truncate
    }

    /// The result of a checkpoint, in frames (pages) of the log.
    package struct CheckpointResult: Hashable, Sendable {
        /// Frames in the log.
        package let frameCount: Int
        /// How many of them are now in the database file.
        package let checkpointedCount: Int
    }

    /// Moves committed pages from the log into the database file. The caller holds the lock file.
    ///
    /// - Throws: ``SystemError``: `busy` if a reader (``CheckpointMode/truncate``) or another
    ///   checkpoint blocked it until the deadline, `misuse` inside a transaction.
    @discardableResult
    package func checkpoint(_ mode: CheckpointMode) throws(SystemError) -> CheckpointResult {
        let database = unsafe try openDatabase("checkpoint the log")
        var frameCount: Int32 = 0
        var checkpointedCount: Int32 = 0
        let code = unsafe sqlite3_wal_checkpoint_v2(
            database, "main", Self.number(of: mode), &frameCount, &checkpointedCount)
        try check(code, "checkpoint the log")
        let result = CheckpointResult(
            frameCount: Int(max(0, frameCount)), checkpointedCount: Int(max(0, checkpointedCount)))
        walFrameCount = result.frameCount
        return result
    }

    /// Sets whether freed pages are overwritten with zeros, which is the default. Freed bytes
    /// inside a page are always overwritten.
    package func overwriteFreePages(_ isOn: Bool) throws(SystemError) {
        try Statement(isOn ? "PRAGMA secure_delete = ON" : "PRAGMA secure_delete = FAST", on: self)
            .execute()
    }

    /// Reserves the room that a checkpoint will need for the open write transaction, which makes
    /// the database `pageCount` pages long. Without it, the transaction would be durable in the
    /// log, and on a full disk no checkpoint could ever empty the log again.
    ///
    /// A file that is longer than the database is as valid as any. System calls are made only if
    /// the transaction makes the database longer.
    /// - Returns: How many bytes were reserved; 0 if the database does not get longer.
    /// - Throws: ``SystemError``: `diskFull`, `inputOutput`. The transaction can be rolled back.
    package func reserveRoom(forPages pageCount: Int64) throws(SystemError) -> Int {
        let operation = "reserve room for the database"
        guard pageCount > Int64(try LogIndex(of: self)?.header.pageCount ?? .max) else { return 0 }
        let (target, isTooLong) = pageCount.multipliedReportingOverflow(
            by: Int64(LogFormat.pageByteCount))
        guard !isTooLong else { throw SystemError(.misuse, during: operation, path: path) }
        return try lengthen(SQLITE_FCNTL_FILE_POINTER, to: target, operation)
    }

    /// Appends zeros to the log's file until it is `byteCount` bytes long. The caller holds the
    /// lock file.
    ///
    /// A commit that makes the file longer takes one and a half times as long as one that
    /// overwrites bytes. Zeros are not frames: a reader of the log stops before them.
    /// - Throws: ``SystemError``: `diskFull`, `inputOutput`. The log stays sound.
    package func lengthenLog(to byteCount: Int) throws(SystemError) {
        _ = try lengthen(SQLITE_FCNTL_JOURNAL_POINTER, to: Int64(byteCount), "lengthen the log")
    }

    private func lengthen(
        _ kind: Int32, to byteCount: Int64, _ operation: String
    ) throws(SystemError) -> Int {
        let database = unsafe try openDatabase(operation)
        var added: sqlite3_int64 = 0
        try check(
            unsafe valet_sqlite3_lengthen(database, kind, byteCount, &added), operation)
        return Int(clamping: added)
    }

    private static func number(of mode: CheckpointMode) -> Int32 {
        switch mode {
        case .passive: SQLITE_CHECKPOINT_PASSIVE
        case .truncate: SQLITE_CHECKPOINT_TRUNCATE
        }
    }
}

extension Connection {
    /// Writes a compact copy of one state of the database to a new file of mode 0600.
    ///
    /// The copy contains no deleted row and has no write-ahead log: see ``useWriteAheadLog()``. It
    /// is on disk when this returns.
    ///
    /// - Throws: ``SystemError``: `alreadyExists`, `diskFull`, `misuse` inside a transaction, …
    ///   The unfinished file is then removed.
    package func copy(
        to name: String, in directory: PrivateDirectory
    ) throws(SystemError) {
        try directory.createEmptyFile(name)
        do {
            try withAttaching { () throws(SystemError) in
                let run = try Statement("VACUUM INTO ?1", on: self).start()
                try run.bind(directory.path(of: name), at: 1)
                try run.finish()
            }
            try directory.sync()
        } catch {
            // Report the first error.
            try? directory.remove(name)
            throw error
        }
    }

    /// Rebuilds the database file without deleted rows. The caller holds the lock file.
    ///
    /// The next ``CheckpointMode/truncate`` removes the old pages from the file. Needs memory of
    /// the size of the database.
    package func vacuum() throws(SystemError) {
        do {
            try withAttaching { () throws(SystemError) in
                try Statement("VACUUM", on: self).execute()
            }
        } catch {
            throw takingBackOwnCommit(after: error)
        }
    }

    /// VACUUM attaches its target. No other statement may attach a database.
    private func withAttaching(_ body: () throws(SystemError) -> Void) throws(SystemError) {
        let database = unsafe try openDatabase("copy the database")
        unsafe sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 1)
        defer { unsafe sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0) }
        try body()
    }

    /// An empty database without a file name and without a log, for building new contents. It uses
    /// space in `directory` until it is closed. A killed process leaves no trace of it.
    ///
    /// - Parameter name: The name that the file briefly has, while it is empty.
    /// - Throws: ``SystemError``: `diskFull`, `readOnly`, `inputOutput`, …
    package static func scratch(
        _ name: String, in directory: PrivateDirectory, deadline: Deadline
    ) throws(SystemError) -> Connection {
        // An empty file, left by a process that was killed within this function.
        if try directory.check(file: name) != nil { try directory.remove(name) }
        try directory.createEmptyFile(name)
        let connection: Connection
        do {
            connection = try Connection(
                opening: directory.path(of: name), flags: SQLITE_OPEN_READWRITE,
                deadline: deadline)
        } catch {
            // Report the first error.
            try? directory.remove(name)
            throw error
        }
        try directory.remove(name)
        try connection.configure()
        try connection.reserveChecksums()
        // No process can read this database after a crash, so it need not reach the disk.
        let database = unsafe try connection.openDatabase("make a scratch database")
        try connection.check(
            unsafe sqlite3_exec(
                database, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF", nil, nil, nil),
            "make a scratch database")
        return connection
    }

    /// Replaces the contents of this database by those of `source`, page by page in one
    /// transaction: a crash leaves the old contents or the new ones. The caller holds the lock
    /// file.
    ///
    /// The old contents may be damaged, because they are not read. Readers see them until their
    /// transactions end. The log grows by the size of `source`.
    /// - Throws: ``SystemError``: `diskFull`, `inputOutput`, `busy`, `misuse` inside a
    ///   transaction. Then nothing has changed, unless the hint says that this is not known.
    package func replaceContents(by source: Connection) throws(SystemError) {
        let operation = "replace the contents"
        let target = unsafe try openDatabase(operation)
        let origin = unsafe try source.openDatabase(operation)
        guard !isInTransaction,
            let copy = unsafe sqlite3_backup_init(target, "main", origin, "main")
        else {
            throw SystemError(.misuse, during: operation, path: path)
        }
        let code = unsafe sqlite3_backup_step(copy, -1)
        // Ends the transaction; rolls back unless every page was copied.
        let end = unsafe sqlite3_backup_finish(copy)
        guard code == SQLITE_DONE, end == SQLITE_OK else {
            let code = code == SQLITE_DONE ? end : code
            throw takingBackOwnCommit(after: failure(code, operation))
        }
    }
}

extension Connection {
    /// The CREATE statements of the database, exactly as written, sorted.
    package func schema() throws(SystemError) -> [String] {
        try Statement(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY sql", on: self
        ).allTexts()
    }

    /// Searches the whole file for damage.
    ///
    /// - Returns: One line for each problem, at most 100; none if the database is sound.
    package func integrityProblems() throws(SystemError) -> [String] {
        let lines: [String]
        do {
            lines = try Statement("PRAGMA integrity_check", on: self).allTexts()
        } catch .corrupt {
            // Some damage aborts the check.
            return ["the check ended early: the database is damaged"]
        }
        // SQLite lists the pages that it could not read among the damaged ones.
        guard !lines.contains(where: { $0.hasPart("error code=\(CheckedFile.readError)") }) else {
            throw SystemError(.inputOutput, during: "check the database", path: path)
        }
        return lines == ["ok"] ? [] : lines
    }
}
