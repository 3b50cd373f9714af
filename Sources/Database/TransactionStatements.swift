// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
internal import ValetSystem

/// The statements of transactions, prepared once.
///
/// Not of type ``Statement``, which would keep its connection alive, which keeps these.
@safe struct TransactionStatements {
    enum Verb: Int, CaseIterable {
        case beginWriting
        case beginReading
        case commit
        case rollBack

        fileprivate var sql: StaticString {
            switch self {
            case .beginWriting: "BEGIN IMMEDIATE"
            case .beginReading: "BEGIN DEFERRED"
            case .commit: "COMMIT"
            case .rollBack: "ROLLBACK"
            }
        }

        fileprivate var operation: String {
            switch self {
            case .beginWriting, .beginReading: "begin a transaction"
            case .commit: "commit"
            case .rollBack: "roll back"
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

    /// Drops the handles, which the connection releases or abandons.
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

    /// Begins writing; SQLite would only begin to read where it can do no more.
    func beginWriting() throws(SystemError) {
        if let database = unsafe database, unsafe sqlite3_db_readonly(database, "main") != 0 {
            throw SystemError(.readOnly, during: "begin a transaction", path: path)
        }
        try run(.beginWriting)
    }

    /// Ends a transaction that SQLite has not ended by itself, as it does after some errors.
    func rollBack() {
        guard isInTransaction else { return }
        // If this fails, the device has failed, and the log ends before the transaction.
        try? run(.rollBack)
    }

    /// Ends a transaction that has only read; statements that are still reading may go on.
    func endReading() {
        guard isInTransaction else { return }
        // Committing nothing writes nothing. Should it fail, the transaction still has to end.
        if (try? run(.commit)) == nil { rollBack() }
    }
}
