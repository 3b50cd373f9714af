// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

extension Connection {
    /// Writes a compact copy of the database, as of one moment, to a new file of mode 0600.
    ///
    /// Nothing that was deleted is in the copy. It has no write-ahead log:
    /// see ``useWriteAheadLog()``. It is on disk when this returns.
    ///
    /// - Throws: ``SystemError``: `alreadyExists`, `diskFull`, `misuse` inside a transaction, …
    ///   The unfinished file is removed then.
    package func copy(
        to name: String, in directory: PrivateDirectory
    ) throws(SystemError) {
        try directory.createEmptyFile(name)
        do throws(SystemError) {
            try withAttaching { () throws(SystemError) in
                let run = try Statement("VACUUM INTO ?1", on: self).start()
                try run.bind(directory.path(of: name), at: 1)
                try run.finish()
            }
            try directory.sync()
        } catch {
            // The first error is the one to report.
            try? directory.remove(name)
            throw error
        }
    }

    /// Rebuilds the database file, so that no deleted row is left in it. Belongs under the lock.
    ///
    /// The old pages leave the file with the next ``CheckpointMode/truncate``. Takes memory of the
    /// size of the database.
    package func vacuum() throws(SystemError) {
        try withAttaching { () throws(SystemError) in
            try Statement("VACUUM", on: self).execute()
        }
    }

    /// VACUUM attaches its target, which nothing else of ours may do.
    private func withAttaching(_ body: () throws(SystemError) -> Void) throws(SystemError) {
        let database = unsafe try openDatabase("copy the database")
        unsafe sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 1)
        defer { unsafe sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0) }
        try body()
    }

    /// An empty database without a name and without a log, to build contents in. It takes up room
    /// in `directory` until it is closed; a process that is killed leaves nothing of it.
    ///
    /// - Parameters:
    ///   - name: What the file is called for a moment, while it is still empty.
    ///   - cacheKibibytes: The most memory that the page cache takes.
    /// - Throws: ``SystemError``: `diskFull`, `readOnly`, `inputOutput`, …
    package static func scratch(
        _ name: String, in directory: PrivateDirectory, deadline: Deadline,
        cacheKibibytes: Int = 8_000
    ) throws(SystemError) -> Connection {
        // Left by a process that was killed within this function, and empty.
        if try directory.check(file: name) != nil { try directory.remove(name) }
        try directory.createEmptyFile(name)
        let connection: Connection
        do throws(SystemError) {
            connection = try Connection(
                opening: directory.path(of: name), flags: SQLITE_OPEN_READWRITE,
                deadline: deadline)
        } catch {
            // The first error is the one to report.
            try? directory.remove(name)
            throw error
        }
        try directory.remove(name)
        try connection.configure(cacheKibibytes: cacheKibibytes)
        // Nobody reads this database after a crash: nothing of it has to reach the disk.
        let database = unsafe try connection.openDatabase("make a scratch database")
        try connection.check(
            unsafe sqlite3_exec(
                database, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF", nil, nil, nil),
            "make a scratch database")
        return connection
    }

    /// Puts the contents of `source` in the place of this database's own, page by page and in one
    /// transaction: a crash leaves the old contents or the new ones. Belongs under the lock.
    ///
    /// Reads nothing of the old contents, so they may be damaged. Readers keep what they see until
    /// their transactions end. The log grows by the size of `source`.
    /// - Throws: ``SystemError``: `diskFull`, `inputOutput`, `busy`, `misuse` inside a
    ///   transaction; nothing has changed then.
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
        // Ends the transaction: with a rollback, unless every page was copied.
        let end = unsafe sqlite3_backup_finish(copy)
        guard code == SQLITE_DONE else { throw failure(code, operation) }
        try check(end, operation)
    }
}
