// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

extension Connection {
    /// The CREATE statements of the database, exactly as they were written, sorted.
    package func schema() throws(SystemError) -> [String] {
        try Statement(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY sql", on: self
        ).allTexts()
    }

    /// Looks for damage everywhere; reads the whole file.
    ///
    /// - Returns: What was found, one line each, at most 100; none if all is well.
    package func integrityProblems() throws(SystemError) -> [String] {
        do throws(SystemError) {
            let lines = try Statement("PRAGMA integrity_check", on: self).allTexts()
            return lines == ["ok"] ? [] : lines
        } catch .corrupt {
            // Some damage ends the check itself.
            return ["the check ended early: the database is damaged"]
        }
    }

    /// A number that is another one after any commit, by whatever process, that this connection
    /// has come to see. It reads no file: begin a read first to see the present.
    package func dataVersion() throws(SystemError) -> UInt32 {
        let database = unsafe try openDatabase("read the data version")
        var version: UInt32 = 0
        let code = unsafe sqlite3_file_control(
            database, "main", SQLITE_FCNTL_DATA_VERSION, &version)
        try check(code, "read the data version")
        return version
    }
}
