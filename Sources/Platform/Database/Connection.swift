// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCSQLite
package import ValetSystem

/// One open SQLite database.
///
/// A class, because SQLite keeps a pointer to it for two callbacks and its statements share it.
/// One thread at a time may use a connection and everything made from it. Dropping the last
/// reference closes it; for a writing connection, do so under the lock file
/// (spec/keys-and-states.md §9.3).
@safe package final class Connection {
    /// The path that SQLite opened, for messages.
    package let path: String

    /// When all waiting for other processes ends. Set it at the start of every call.
    package var deadline: Deadline

    /// Frames in the write-ahead log as of this connection's last commit or checkpoint.
    package internal(set) var walFrameCount = 0

    // One thread uses these two several times per statement, for one expression at a time: a
    // run-time check for overlapping access could find nothing.

    /// SQLite's handle; `nil` once closed.
    @exclusivity(unchecked) var database: OpaquePointer?

    /// The number of statements that run; the connection cannot be closed before they end.
    @exclusivity(unchecked) var activeRunCount = 0

    var transactionStatements = TransactionStatements()
    var lockTrouble = LockTrouble()
    /// The log and its index that were beside the database after the first read.
    var logIdentity: FileIdentity?
    var indexIdentity: FileIdentity?
    /// What this connection shares with the others of this process; nil until it is fully opened.
    var sharedLog: SharedLog?
    private let system: ConnectionSystem

    /// For a repair: how often a page was read that was damaged, and could not be mended.
    package var damagedPageCount: Int { system.damagedPageCount }

    /// Whether statements can run.
    package var isOpen: Bool { unsafe database != nil }

    /// Whether a transaction is open, for reading or for writing.
    package var isInTransaction: Bool {
        guard let database = unsafe database else { return false }
        return unsafe sqlite3_get_autocommit(database) == 0
    }

    /// How many rows this connection has added, changed or deleted, in all its transactions.
    package var changedRowCount: Int64 { unsafe sqlite3_total_changes64(database) }

    /// - Parameter acceptsDamage: Whether to read pages whose checksums do not fit.
    init(
        opening path: String, flags: Int32, deadline: Deadline, acceptsDamage: Bool = false
    ) throws(SystemError) {
        guard sqlite3_threadsafe() != 0, sqlite3_libversion_number() >= 3_037_000 else {
            throw SystemError(
                .misuse, during: "open the database", path: path,
                hint: "install SQLite 3.37 or newer, built with SQLITE_THREADSAFE")
        }
        guard let system = ConnectionSystem(acceptsDamage: acceptsDamage) else {
            throw SystemError(.outOfMemory, during: "open the database", path: path)
        }
        self.path = path
        self.deadline = deadline
        self.system = system
        let common =
            SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE
            | SQLITE_OPEN_NOFOLLOW
        var code = self.system.register(for: self)
        if code == SQLITE_OK {
            code = unsafe sqlite3_open_v2(path, &database, flags | common, self.system.name)
        }
        guard code == SQLITE_OK else {
            let systemError = unsafe sqlite3_system_errno(database)
            unsafe Self.release(database)
            unsafe database = nil
            throw SystemError(
                sqlite: code, during: "open the database", path: path, systemError: systemError)
        }
        installCallbacks()
    }

    /// Closes the connection and ends all its statements, without a checkpoint.
    ///
    /// - Throws: ``SystemError/Code/misuse`` while a run of a statement has not ended.
    package func close() throws(SystemError) {
        guard unsafe activeRunCount == 0 else {
            throw SystemError(.misuse, during: "close the database", path: path)
        }
        shutDown()
    }

    deinit {
        shutDown()
    }

    func shutDown() {
        guard let open = unsafe database else { return }
        unsafe database = nil
        // SQLite closes descriptors by number: where other code has closed SQLite's, the numbers
        // may belong to files of others.
        guard !ClosedDescriptors.wereFound else { return }
        transactionStatements.forget()
        let release = {
            unsafe PreparedStatement.releaseAll(of: open)
            unsafe Self.release(open)
        }
        if let sharedLog { sharedLog.closing(release) } else { release() }
        sharedLog = nil
    }

    private static func release(_ database: OpaquePointer?) {
        // Fails only while statements or backups exist, and all have been released.
        unsafe sqlite3_close(database)
    }
}

extension Connection {
    /// Throws unless `code` is `SQLITE_OK`.
    @inline(__always)
    func check(_ code: Int32, _ operation: String) throws(SystemError) {
        guard code == SQLITE_OK else { throw failure(code, operation) }
    }

    @inline(never)
    func failure(_ code: Int32, _ operation: String) -> SystemError {
        guard let database = unsafe database else { return closedError(operation) }
        if unsafe hasLostFiles(code, database) { return ClosedDescriptors.found(at: path) }
        if lockError != 0, [SQLITE_BUSY, SQLITE_PROTOCOL].contains(code & 0xff) {
            return SystemError(
                .inputOutput, during: operation, path: path, cause: (code, lockError),
                hint: LockTrouble.hint)
        }
        var systemError = unsafe Self.reportsSystemError(code) ? sqlite3_system_errno(database) : 0
        if code & 0xff == SQLITE_CANTOPEN, systemError == ENOENT {
            // SQLite retries without creating the file, and then reports only that it is missing.
            systemError = PrivateDirectory.reasonNoFileIsMade(beside: path) ?? ENOENT
        }
        var hint = systemError == ENOLCK ? LockTrouble.hint : nil
        if [SQLITE_READONLY, SQLITE_CANTOPEN].contains(code & 0xff) {
            hint = Self.hintOnWriting(path)
        }
        if code == SQLITE_ERROR {
            // The text of a wrong statement is our own and static: it contains no value.
            hint = unsafe String(cString: sqlite3_errmsg(database))
            // SQLite has no code of its own for a header with another format of the schema.
            if hint == "unsupported file format" {
                return SystemError(
                    .corrupt, during: operation, path: path, cause: (code, nil))
            }
        }
        return SystemError(
            sqlite: code, during: operation, path: path, systemError: systemError, hint: hint)
    }

    /// Whether `code` comes from descriptors that other code has closed.
    private func hasLostFiles(_ code: Int32, _ database: OpaquePointer) -> Bool {
        guard [SQLITE_IOERR, SQLITE_BUSY, SQLITE_PROTOCOL, SQLITE_CANTOPEN].contains(code & 0xff)
        else { return false }
        return unsafe lockError == EBADF || valet_sqlite3_has_files(database) == 0
    }

    /// SQLite never clears the system's error number, so it is valid only with these codes.
    private static func reportsSystemError(_ code: Int32) -> Bool {
        [SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_FULL].contains(code & 0xff)
    }

    @inline(never)
    func closedError(_ operation: String) -> SystemError {
        SystemError(
            .misuse, during: operation, path: path, hint: "the connection has been closed")
    }

    /// The handle, or an error if the connection is closed. Not for the hot path.
    func openDatabase(_ operation: String) throws(SystemError) -> OpaquePointer {
        guard let database = unsafe database else { throw closedError(operation) }
        return unsafe database
    }

    /// Both callbacks run on the thread that uses the connection, within its calls.
    private func installCallbacks() {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe sqlite3_busy_handler(
            database,
            { context, attempt in
                guard let context = unsafe context else { return 0 }
                let connection = unsafe Unmanaged<Connection>.fromOpaque(context)
                    .takeUnretainedValue()
                let pause = Backoff.pause(first: 50_000, attempt: Int(attempt))
                return connection.pause(atMost: pause) ? 1 : 0
            }, context)
        // This hook replaces SQLite's own, which would start checkpoints by itself.
        unsafe sqlite3_wal_autocheckpoint(database, 0)
        unsafe sqlite3_wal_hook(
            database,
            { context, _, _, frameCount in
                guard let context = unsafe context else { return SQLITE_OK }
                let connection = unsafe Unmanaged<Connection>.fromOpaque(context)
                    .takeUnretainedValue()
                connection.walFrameCount = Int(frameCount)
                return SQLITE_OK
            }, context)
    }
}
