// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

/// One SQL statement, compiled at its first use and kept for the life of its connection.
///
/// A class, so that while one statement's row is being read others of the same set may run.
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
    // As in `Connection`: touched for one expression at a time.
    @exclusivity(unchecked) private var handle: OpaquePointer?
    @exclusivity(unchecked) private var isRunning = false

    /// Where the small blobs of a run lie, which saves an allocation for each.
    let smallBlobs = SmallBlobs()

    /// Remembers `sql`, exactly one statement; costs nothing until it is used.
    package init(_ sql: StaticString, on connection: Connection) {
        self.sql = sql
        self.connection = connection
    }

    /// Begins a run; dropping what is returned ends it.
    ///
    /// - Throws: ``SystemError/Code/misuse`` if the last run has not ended or the connection is
    ///   closed; whatever compiling throws, at the first use.
    package func start() throws(SystemError) -> Run {
        guard connection.isOpen, unsafe !isRunning else { throw wrongUse() }
        if connection.hasMetDamage { connection.forgetPages() }
        let handle = unsafe try preparedHandle()
        unsafe isRunning = true
        unsafe connection.activeRunCount += 1
        return unsafe Run(of: self, handle: handle)
    }

    /// Runs the statement to its end, without parameters; rows are passed over.
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

    /// Whether the handle may still be touched.
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
    /// The text in the first column of the first row; for statements that always have one.
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
