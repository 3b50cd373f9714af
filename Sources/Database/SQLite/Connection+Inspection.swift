// SPDX-License-Identifier: Apache-2.0

internal import CSQLite

extension Connection {
    /// The CREATE statements of the database, exactly as they were written, sorted.
    package func schema() throws(DatabaseError) -> [String] {
        try Statement(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY sql", on: self
        ).allTexts()
    }

    /// Looks for damage everywhere; reads the whole file.
    ///
    /// - Returns: What was found, one line each, at most 100; none if all is well.
    package func integrityProblems() throws(DatabaseError) -> [String] {
        try problems(foundBy: Statement("PRAGMA integrity_check", on: self))
    }

    /// As ``integrityProblems()``, without comparing indexes with their tables: some times faster.
    package func quickProblems() throws(DatabaseError) -> [String] {
        try problems(foundBy: Statement("PRAGMA quick_check", on: self))
    }

    private func problems(foundBy check: Statement) throws(DatabaseError) -> [String] {
        do throws(DatabaseError) {
            let lines = try check.allTexts()
            return lines == ["ok"] ? [] : lines
        } catch .corrupt {
            // Some damage ends the check itself.
            return ["the check ended early: the database is damaged"]
        }
    }

    /// A number that is another one after any commit, by whatever process, that this connection
    /// has come to see. It reads no file: begin a read first to see the present.
    package func dataVersion() throws(DatabaseError) -> UInt32 {
        let database = unsafe try openDatabase("read the data version")
        var version: UInt32 = 0
        let code = unsafe sqlite3_file_control(
            database, "main", SQLITE_FCNTL_DATA_VERSION, &version)
        try check(code, "read the data version")
        return version
    }

    /// How many rows the last INSERT, UPDATE or DELETE has changed.
    package var changedRowCount: Int {
        guard let database = unsafe database else { return 0 }
        return Int(unsafe sqlite3_changes64(database))
    }

    /// How many rows all statements of this connection have changed.
    package var totalChangedRowCount: Int {
        guard let database = unsafe database else { return 0 }
        return Int(unsafe sqlite3_total_changes64(database))
    }
}
