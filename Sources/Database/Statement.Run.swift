// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

extension Statement {
    /// One run of a statement: bind, step, read. Dropping it resets the statement.
    ///
    /// Parameters count from 1, columns from 0, as in SQLite.
    @safe package struct Run: ~Copyable {
        let statement: Statement
        let handle: OpaquePointer

        init(of statement: Statement, handle: OpaquePointer) {
            self.statement = statement
            unsafe self.handle = handle
        }

        /// Goes to the next row.
        ///
        /// - Returns: Whether there is one; the columns may be read only then.
        /// - Throws: ``SystemError``: `busy`, `diskFull`, `constraint`, `corrupt`, `readOnly`, …
        package func step() throws(SystemError) -> Bool {
            guard statement.isUsable else { throw statement.failure(SQLITE_MISUSE, "step") }
            let code = unsafe sqlite3_step(handle)
            if code == SQLITE_ROW { return true }
            if code == SQLITE_DONE { return false }
            throw statement.failure(code, "run a statement")
        }

        /// Passes over all rows; for statements that write.
        package func finish() throws(SystemError) {
            while try step() {}
        }

        func checkBinding(_ code: Int32) throws(SystemError) {
            guard code == SQLITE_OK else { throw statement.failure(code, "bind a parameter") }
        }

        deinit {
            if statement.isUsable {
                // The code of a reset is that of the last step, which has been thrown.
                unsafe sqlite3_reset(handle)
                unsafe sqlite3_clear_bindings(handle)
            }
            statement.runHasEnded()
        }
    }
}
