// SPDX-License-Identifier: Apache-2.0

internal import CSQLite

extension Connection {
    /// Writes a compact copy of the database, as of one moment, to a new file of mode 0600.
    ///
    /// Nothing that was deleted is in the copy. It has no write-ahead log:
    /// see ``useWriteAheadLog()``. It is on disk when this returns.
    ///
    /// - Throws: ``DatabaseError``: `alreadyExists`, `diskFull`, `misuse` inside a transaction, …
    ///   The unfinished file is removed then.
    package func copy(
        to name: String, in directory: KeychainDirectory
    ) throws(DatabaseError) {
        try directory.createEmptyFile(name)
        do throws(DatabaseError) {
            try withAttaching { () throws(DatabaseError) in
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
    package func vacuum() throws(DatabaseError) {
        try withAttaching { () throws(DatabaseError) in
            try Statement("VACUUM", on: self).execute()
        }
    }

    /// VACUUM attaches its target, which nothing else of ours may do.
    private func withAttaching(_ body: () throws(DatabaseError) -> Void) throws(DatabaseError) {
        let database = unsafe try openDatabase("copy the database")
        unsafe sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 1)
        defer { unsafe sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0) }
        try body()
    }
}
