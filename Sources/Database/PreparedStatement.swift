// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
internal import ValetSystem

/// Making and releasing SQLite's statements, for the owners of their handles.
enum PreparedStatement {
    /// Compiles `sql`, one statement, to be used many times.
    static func make(
        _ sql: StaticString, on connection: Connection
    ) throws(SystemError) -> OpaquePointer {
        let database = unsafe try connection.openDatabase("prepare a statement")
        var handle: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(
            database, UnsafeRawPointer(sql.utf8Start).assumingMemoryBound(to: CChar.self),
            Int32(sql.utf8CodeUnitCount + 1), UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        try connection.check(code, "prepare a statement")
        guard let handle = unsafe handle else {
            throw SystemError(
                .misuse, during: "prepare a statement", path: connection.path, hint: "empty SQL")
        }
        return unsafe handle
    }

    static func release(_ handle: OpaquePointer) {
        // The code is that of the last step, which has been reported.
        unsafe sqlite3_finalize(handle)
    }

    /// Releases every statement of `database`; their owners must not use them any more.
    static func releaseAll(of database: OpaquePointer) {
        while let handle = unsafe sqlite3_next_stmt(database, nil) { unsafe release(handle) }
    }
}
