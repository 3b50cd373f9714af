// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

/// A write transaction. Dropping it without ``commit()`` rolls back.
///
/// The caller holds the lock file until the transaction has ended.
package struct Transaction: ~Copyable {
    private let connection: Connection
    private var hasEnded = false

    /// Begins it at once (`BEGIN IMMEDIATE`), so that no statement inside can fail with *busy*.
    ///
    /// - Throws: ``SystemError``: `busy` at the connection's deadline; `readOnly`; `misuse` in
    ///   another transaction.
    package init(on connection: Connection) throws(SystemError) {
        try connection.beginWriting()
        self.connection = connection
    }

    /// Makes the changes permanent: when this returns, they survive a power cut.
    ///
    /// - Throws: ``SystemError``: `diskFull`, `inputOutput`, … Then nothing has changed, unless the
    ///   hint says that this is not known.
    package consuming func commit() throws(SystemError) {
        do throws(SystemError) {
            try connection.run(.commit)
            hasEnded = true
        } catch {
            throw connection.takingBackCommit(after: error)
        }
    }

    deinit {
        if !hasEnded { connection.rollBack() }
    }
}

/// A part of a write transaction. Dropping it without ``release()`` undoes that part alone.
///
/// Some errors make SQLite roll back the whole transaction: a full disk, a failed read or write, no
/// memory. Afterwards ``Connection/isInTransaction`` is false.
package struct Savepoint: ~Copyable {
    private let connection: Connection
    private var hasEnded = false

    /// Begins it, inside a write transaction.
    ///
    /// - Throws: ``SystemError/Code/misuse`` outside of a transaction.
    package init(on connection: Connection) throws(SystemError) {
        guard connection.isInTransaction else {
            throw SystemError(.misuse, during: "begin a savepoint", path: connection.path)
        }
        try connection.run(.beginSavepoint)
        self.connection = connection
    }

    /// Makes the changes a part of the transaction.
    package consuming func release() throws(SystemError) {
        try connection.run(.releaseSavepoint)
        hasEnded = true
    }

    deinit {
        if !hasEnded { connection.undoSavepoint() }
    }
}

/// A read transaction: all reads inside see the same state. Ends when dropped.
///
/// It must not outlive its call: while it lasts, the log cannot be checkpointed completely.
package struct ReadTransaction: ~Copyable {
    private let connection: Connection

    /// Begins it. The first read fixes the state that all reads see.
    ///
    /// - Throws: ``SystemError/Code/misuse`` inside another transaction.
    package init(on connection: Connection) throws(SystemError) {
        try connection.run(.beginReading)
        self.connection = connection
    }

    deinit {
        connection.endReading()
    }
}

/// The statements of transactions, compiled once.
///
/// They are not of type ``Statement``: that holds its connection, and the connection holds these.
@safe struct TransactionStatements {
    enum Verb: Int, CaseIterable {
        case beginWriting
        case beginReading
        case commit
        case rollBack
        case beginSavepoint
        case releaseSavepoint
        case undoSavepoint

        fileprivate var sql: StaticString {
            switch self {
            case .beginWriting: "BEGIN IMMEDIATE"
            case .beginReading: "BEGIN DEFERRED"
            case .commit: "COMMIT"
            case .rollBack: "ROLLBACK"
            case .beginSavepoint: "SAVEPOINT part"
            case .releaseSavepoint: "RELEASE part"
            case .undoSavepoint: "ROLLBACK TO part"
            }
        }

        fileprivate var operation: String {
            switch self {
            case .beginWriting, .beginReading: "begin a transaction"
            case .commit: "commit"
            case .rollBack, .undoSavepoint: "roll back"
            case .beginSavepoint: "begin a savepoint"
            case .releaseSavepoint: "end a savepoint"
            }
        }
    }

    private var handles = unsafe [OpaquePointer?](repeating: nil, count: Verb.allCases.count)

    fileprivate mutating func handle(
        of verb: Verb, on connection: Connection
    ) throws(SystemError) -> OpaquePointer {
        if let handle = unsafe handles[verb.rawValue] { return unsafe handle }
        let new = unsafe try PreparedStatement.make(verb.sql, on: connection)
        unsafe handles[verb.rawValue] = new
        return unsafe new
    }

    /// Drops the handles; the connection has released them.
    mutating func forget() {
        unsafe handles = []
    }
}

extension Connection {
    func run(_ verb: TransactionStatements.Verb) throws(SystemError) {
        guard isOpen else { throw closedError(verb.operation) }
        let handle = unsafe try transactionStatements.handle(of: verb, on: self)
        let code = unsafe sqlite3_step(handle)
        unsafe sqlite3_reset(handle)
        guard code == SQLITE_DONE else { throw failure(code, verb.operation) }
    }

    /// Begins writing. On a read-only database SQLite would silently begin to read instead.
    func beginWriting() throws(SystemError) {
        if let database = unsafe database, unsafe sqlite3_db_readonly(database, "main") != 0 {
            throw SystemError(.readOnly, during: "begin a transaction", path: path)
        }
        try run(.beginWriting)
    }

    /// Rolls back, unless SQLite has already done so after an error.
    func rollBack() {
        guard isInTransaction else { return }
        // A rollback fails only if the device fails; then the log ends before the transaction.
        try? run(.rollBack)
    }

    /// Takes a commit back that has failed. All its frames may be in the log, and only not known to
    /// be durable: the next program that opens the log would take them for committed.
    ///
    /// - Returns: The error of the commit.
    func takingBackCommit(after error: SystemError) -> SystemError {
        rollBack()
        // A closed descriptor may be another file by now.
        guard error.code != .descriptorsClosed else { return error }
        do throws(SystemError) {
            guard let index = try LogIndex(of: self) else { return error }
            let end = LogFormat.offset(ofFrame: index.header.frameCount)
            let database = unsafe try openDatabase("end the log")
            try check(unsafe valet_sqlite3_end_log(database, Int64(end)), "end the log")
            return error
        } catch {
            return SystemError(
                .inputOutput, during: "commit", path: path,
                cause: (sqlite: error.sqliteCode, system: error.systemError),
                hint: "look whether the change was made before you make it again: the disk failed "
                    + "at the commit, and again when it was taken back")
        }
    }

    /// Like ``takingBackCommit(after:)``, for a statement that begins and commits a transaction of
    /// its own. If it was *busy* it has written nothing, and the frames may be those of another
    /// program.
    func takingBackOwnCommit(after error: SystemError) -> SystemError {
        error.code == .busy ? error : takingBackCommit(after: error)
    }

    /// Undoes all changes since the savepoint. If that fails, undoes the whole transaction.
    func undoSavepoint() {
        guard isInTransaction else { return }
        do {
            try run(.undoSavepoint)
            try run(.releaseSavepoint)
        } catch {
            rollBack()
        }
    }

    /// Ends a transaction that has only read. Statements that are still reading can continue.
    func endReading() {
        guard isInTransaction else { return }
        // An empty commit writes nothing. If it fails, the transaction must end all the same.
        if (try? run(.commit)) == nil { rollBack() }
    }
}
