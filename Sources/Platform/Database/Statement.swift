// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

/// One SQL statement, compiled at its first use and kept for the life of its connection.
///
/// A class, so that other statements of a set can run while one statement's row is read.
///
/// ```swift
/// let run = try find.start()
/// try run.bind(hash, at: 1)
/// guard try run.step() else { return nil }
/// let size = run.int64(0)
/// ```
@safe package final class Statement {
    private let sql: StaticString
    private let connection: Connection
    // Used for one expression at a time, as in `Connection`.
    @exclusivity(unchecked) private var handle: OpaquePointer?
    @exclusivity(unchecked) private var isRunning = false

    /// The small blobs of a run; saves an allocation for each.
    let smallBlobs = SmallBlobs()

    /// Keeps `sql`, exactly one statement, and compiles it at its first use.
    package init(_ sql: StaticString, on connection: Connection) {
        self.sql = sql
        self.connection = connection
    }

    /// Begins a run. Dropping the result ends it.
    ///
    /// - Throws: ``SystemError/Code/misuse`` if the last run has not ended or the connection is
    ///   closed; at the first use, errors of compiling.
    package func start() throws(SystemError) -> Run {
        guard connection.isOpen, unsafe !isRunning else { throw wrongUse() }
        let handle = unsafe try preparedHandle()
        unsafe isRunning = true
        unsafe connection.activeRunCount += 1
        return unsafe Run(of: self, handle: handle)
    }

    /// Runs the statement to its end, without parameters; ignores rows.
    package func execute() throws(SystemError) {
        try start().finish()
    }

    @inline(__always)
    private func preparedHandle() throws(SystemError) -> OpaquePointer {
        if let handle = unsafe handle { return unsafe handle }
        let new = unsafe try PreparedStatement.make(sql, on: connection)
        unsafe handle = new
        return unsafe new
    }

    @inline(never)
    private func wrongUse() -> SystemError {
        guard connection.isOpen else { return connection.closedError("run a statement") }
        return SystemError(
            .misuse, during: "run a statement", path: connection.path,
            hint: "the statement is running")
    }

    func failure(_ code: Int32, _ operation: String) -> SystemError {
        connection.failure(code, operation)
    }

    /// Whether the handle is still valid.
    var isUsable: Bool { connection.isOpen }

    func runHasEnded() {
        unsafe isRunning = false
        smallBlobs.clear()
        guard connection.isOpen else { return }
        unsafe connection.activeRunCount -= 1
    }

    deinit {
        // A closed connection has released all its statements.
        guard connection.isOpen, let handle = unsafe handle else { return }
        unsafe PreparedStatement.release(handle)
    }
}

extension Statement {
    /// The text in the first column of the first row; nil without a row.
    func onlyText() throws(SystemError) -> String? {
        let run = try start()
        guard try run.step() else { return nil }
        return try run.text(0)
    }

    /// The texts in the first column of all rows.
    func allTexts() throws(SystemError) -> [String] {
        let run = try start()
        var texts: [String] = []
        while try run.step() { texts.append(try run.text(0)) }
        return texts
    }
}

/// Compiles and releases SQLite's statements for the owners of their handles.
enum PreparedStatement {
    /// Compiles `sql`, one statement, for repeated use.
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
        // The result repeats the error of the last step, which has been reported.
        unsafe sqlite3_finalize(handle)
    }

    /// Releases every statement of `database`. Their owners must no longer use them.
    static func releaseAll(of database: OpaquePointer) {
        while let handle = unsafe sqlite3_next_stmt(database, nil) { unsafe release(handle) }
    }
}

/// Copies of the small blobs bound to a statement, such as the hash that names a row.
///
/// SQLite would allocate memory for each copy; this memory is allocated once per statement.
@safe final class SmallBlobs {
    private static let capacity = 256

    private let memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    // Used for one expression at a time, as in `Connection`.
    @exclusivity(unchecked) private var byteCount = 0

    /// Copies `bytes`. The copy is valid until ``clear()``.
    ///
    /// - Returns: The copy, or `nil` if there is no room.
    func add(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer? {
        guard unsafe bytes.count <= Self.capacity - byteCount else { return nil }
        let place = unsafe memory + byteCount
        unsafe UnsafeMutableRawBufferPointer(start: place, count: bytes.count).copyMemory(
            from: bytes)
        unsafe byteCount += bytes.count
        return UnsafeRawPointer(place)
    }

    /// Drops all copies. None may still be bound.
    func clear() {
        unsafe byteCount = 0
    }

    deinit {
        unsafe memory.deallocate()
    }
}
