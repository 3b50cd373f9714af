// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainModel
internal import ValetSystem

/// The cache of reads by name: rows, sealed as in the database, and the keys that open them. Each
/// ``OpenKeychain`` owns one.
///
/// All of it belongs to one commit. It is used only while that is the last commit, which the header
/// of the log's index shows without a system call:
/// docs/decisions/0060-reads-without-transactions.md. Opened values are never kept.
final class KeptRows: Sendable {
    private struct Key: Hashable {
        let service: ServicePlace
        let account: String

        static func == (left: Self, right: Self) -> Bool {
            left.service === right.service && left.account.hasSameBytes(as: right.account)
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(service))
            hasher.combine(account)
        }
    }

    private struct Contents {
        var index: LogIndex?
        /// The commit to which ``keys`` and ``rows`` belong.
        var commit: LogIndex.Header?
        var keys: KeySet?
        var rows: [Key: ValueRow] = [:]
        var byteCount = 0

        mutating func removeRows() {
            rows.removeAll(keepingCapacity: true)
            byteCount = 0
        }
    }

    private static let capacity = 65_536
    private static let capacityInBytes = 24 << 20
    /// The approximate size of a row without its account and value.
    private static let rowByteCount = 300
    private static let largestByteCount = 512

    private let contents = Lock(Contents())

    /// The keys of the last commit, if they are kept.
    func current() -> (keys: KeySet, commit: LogIndex.Header)? {
        contents.withLock { contents in
            guard let commit = contents.commit, let keys = contents.keys,
                let index = contents.index, index.isAt(commit)
            else { return nil }
            return (keys, commit)
        }
    }

    /// Whether `commit` is the last one.
    func isLast(_ commit: LogIndex.Header) -> Bool {
        contents.withLock { $0.index?.isAt(commit) ?? false }
    }

    /// The row of an account as of `commit`, if it was read before.
    func row(
        _ account: String, _ service: ServicePlace, at commit: LogIndex.Header
    ) -> ValueRow? {
        contents.withLock { contents in
            guard let known = contents.commit, known == commit else { return nil }
            return contents.rows[Key(service: service, account: account)]
        }
    }

    /// Keeps a row that was read while `commit` was the last one. Large rows are not kept. Once the
    /// cache is full, it stays unchanged until the next commit.
    func add(
        _ row: ValueRow, _ account: String, _ service: ServicePlace, at commit: LogIndex.Header
    ) {
        guard row.secret.count <= Self.largestByteCount else { return }
        contents.withLock { contents in
            guard let known = contents.commit, known == commit,
                contents.rows.count < Self.capacity, contents.byteCount < Self.capacityInBytes
            else { return }
            contents.byteCount += Self.rowByteCount + account.utf8.count + row.secret.count
            contents.rows[Key(service: service, account: account)] = row
        }
    }

    /// The last commit. Take it before a transaction of `connection` begins.
    ///
    /// - Returns: nil if there is no log, or if `connection` has not read the database yet.
    func lastCommit(seenBy connection: Connection) -> LogIndex.Header? {
        contents.withLock { contents in
            if contents.index == nil { contents.index = try? LogIndex(of: connection) }
            return contents.index?.header
        }
    }

    /// Keeps the keys that a transaction has found, for reads after it.
    ///
    /// - Parameter commit: The last commit before the transaction began.
    /// - Returns: `commit` if it still is the last one, else nil. If commit 7 is the last one
    ///   before and after the transaction begins, then the transaction reads commit 7.
    func keep(_ keys: KeySet, at commit: LogIndex.Header?) -> LogIndex.Header? {
        guard let commit else { return nil }
        return contents.withLock { contents in
            guard let index = contents.index, index.isAt(commit) else { return nil }
            if contents.keys !== keys || contents.commit.map({ $0 == commit }) != true {
                contents.removeRows()
            }
            (contents.commit, contents.keys) = (commit, keys)
            return commit
        }
    }

    /// Forgets the keys, unless `isOpen` says that they are still open.
    func forgetKeys(unless isOpen: (KeySet) -> Bool) {
        contents.withLock { contents in
            guard let keys = contents.keys, !isOpen(keys) else { return }
            contents.keys = nil
            contents.removeRows()
        }
    }

    /// Forgets everything, before the connections are closed.
    func forgetAll() {
        contents.withLock { $0 = Contents() }
    }

    /// In a child of `fork`: closes the connection whose memory the index is in.
    ///
    /// - Returns: false if a thread of the parent was in the middle of a call.
    func closeInherited() -> Bool {
        contents.withLockIfAvailable { contents in
            defer { contents = Contents() }
            return (try? contents.index?.close()) != nil || contents.index == nil
        } ?? false
    }
}

/// One read by name. It takes a connection only for rows that are not kept.
package struct NamedRead: ~Copyable {
    /// The keys that open the rows.
    package let keys: RowKeys
    private let keychain: OpenKeychain
    private let deadline: Deadline
    private let operation: String
    /// The commit that is read; nil if there may be a later one.
    private let commit: LogIndex.Header?
    private let isInTransaction: Bool
    private var reader: RowConnection?

    /// A read outside of a transaction, of the last commit.
    init(_ keychain: OpenKeychain, _ keys: KeySet, _ commit: LogIndex.Header, _ call: StoreCall) {
        self.keychain = keychain
        self.keys = keys.rows
        self.commit = commit
        (deadline, operation) = (call.deadline, call.operation)
        isInTransaction = false
    }

    /// A read in the transaction of `snapshot`.
    init(_ keychain: OpenKeychain, in snapshot: borrowing RowSnapshot, _ call: StoreCall) {
        self.keychain = keychain
        keys = snapshot.state
        commit = snapshot.commit
        (deadline, operation) = (call.deadline, call.operation)
        isInTransaction = true
        reader = snapshot.store
    }

    /// The row of an account, if it was read before and nothing was committed since.
    package func keptRow(_ account: String, _ service: ServicePlace) -> ValueRow? {
        guard let commit else { return nil }
        return keychain.kept.row(account, service, at: commit)
    }

    /// Keeps a row that was read.
    package func keep(_ row: ValueRow, _ account: String, _ service: ServicePlace) {
        guard let commit else { return }
        keychain.kept.add(row, account, service, at: commit)
    }

    /// The connection for rows that are not kept. Each statement begins a transaction of its own,
    /// in which ``isCurrent`` says whether the keys belong to the rows that it reads.
    package mutating func connection() throws(KeychainFailure) -> RowConnection {
        if let reader { return reader }
        let borrowed = try keychain.pool.borrow(deadline, for: operation)
        reader = borrowed
        return borrowed
    }

    /// Whether the keys belong to the rows that a running statement reads.
    package var isCurrent: Bool {
        guard !isInTransaction else { return true }
        return commit.map { keychain.kept.isLast($0) } ?? false
    }

    /// Gives the connection back.
    mutating func end() {
        if !isInTransaction, let reader { keychain.pool.giveBack(reader) }
        reader = nil
    }
}
