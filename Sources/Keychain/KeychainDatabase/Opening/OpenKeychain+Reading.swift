// SPDX-License-Identifier: Apache-2.0

// The two ways in which `ItemStore` reads: in a transaction, and by name without one. Each checks
// that its keys belong to the rows that it sees, and that the keychain has the protection level
// that the process requires.

internal import ValetDatabase
package import ValetKeychainModel
internal import ValetKeys
package import ValetSystem

/// Rows and keys of one moment.
package struct RowSnapshot: ~Copyable {
    /// The connection that reads.
    package let store: RowConnection
    /// The keys of the rows that are read.
    package let keys: KeySet
    /// The file that is read.
    package let database: FileIdentity
    /// The commit that is read; nil if it is not known to be the last one.
    let commit: LogIndex.Header?
    private var transaction: ReadTransaction?

    fileprivate init(
        _ store: RowConnection, _ keys: KeySet, _ database: FileIdentity,
        _ commit: LogIndex.Header?, _ transaction: consuming ReadTransaction
    ) {
        self.store = store
        self.keys = keys
        self.database = database
        self.commit = commit
        self.transaction = .some(consume transaction)
    }

    /// The keys that open the rows.
    package var state: RowKeys { keys.rows }

    /// Ends the transaction before slow work: while it is open, other processes cannot shorten the
    /// log. Nothing may be read afterwards.
    package mutating func end() { transaction = nil }
}

extension OpenKeychain {
    /// Runs `body` in one read transaction, with the keys of the rows that it sees.
    ///
    /// - Throws: Errors of `body`; ``KeychainFailure``: as ``currentKeys(_:)``, `timedOut`.
    package func read<R>(
        _ call: StoreCall, _ body: (inout RowSnapshot) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        let reader = try pool.borrow(call.deadline, for: call.operation)
        defer { pool.giveBack(reader) }
        var look = RepeatedLook()
        while true {
            let lastCommit = kept.lastCommit(seenBy: reader.connection)
            let transaction = try translating(
                ReadTransaction(on: reader.connection), during: call.operation)
            if let state = try believed(reader, &look, for: call.operation) {
                try RequiredLevel.check(state.header, call.operation)
                let commit = kept.keep(state, at: lastCommit)
                var snapshot = RowSnapshot(
                    reader, state, pool.place.database, commit, transaction)
                let result = try body(&snapshot)
                snapshot.end()
                // Other processes do not see a transaction in a replaced index, and may have
                // changed the pages that it reads.
                try checkPlace(call)
                renewIfUsed(state.header, call.deadline)
                return result
            }
            _ = consume transaction
            try awaitChange(call.operation, call.deadline, &look)
        }
    }

    private func checkPlace(_ call: StoreCall) throws(KeychainFailure) {
        do throws(SystemError) {
            guard try pool.place.wasInPlaceRecently() else { throw pool.place.replacement }
        } catch {
            throw KeychainFailure(error, during: call.operation)
        }
    }

    /// Runs `body`, which reads items by name: outside of a transaction if nothing was committed
    /// since the keys were last read, otherwise inside one.
    ///
    /// - Parameter body: Returns nil if ``NamedRead/isCurrent`` says that something was committed
    ///   during its read. Then it runs again.
    /// - Throws: As ``read(_:_:)``.
    package func lookUp<R>(
        _ call: StoreCall, _ body: (inout NamedRead) throws(KeychainFailure) -> R?
    ) throws(KeychainFailure) -> R {
        if let (keys, commit) = kept.current(), isOpen(keys), RequiredLevel.isMet(by: keys.header) {
            var read = NamedRead(self, keys, commit, call)
            defer { read.end() }
            if let result = try body(&read) {
                renewIfUsed(keys.header, call.deadline)
                return result
            }
        }
        return try self.read(call) { (snapshot) throws(KeychainFailure) in
            var read = NamedRead(self, in: snapshot, call)
            guard let result = try body(&read) else {
                throw KeychainFailure(.internalFault, during: call.operation)
            }
            return result
        }
    }

    /// The keys that the transaction of `store` sees; nil if another look is needed, because a
    /// key change may explain why they do not fit, or a TPM has to be asked first.
    package func believed(
        _ store: RowConnection, _ look: inout RepeatedLook, for operation: String = opening
    ) throws(KeychainFailure) -> KeySet? {
        let keys = try currentKeys(store, for: operation)
        switch keys {
        case .doubtful(let header, let state, let cause)
        where look.isWorthwhile(at: header, cause, hasKeys: state != nil):
            return nil
        case .sealed(let header):
            look.sealed = header
            return nil
        case .certain, .doubtful: return try settled(keys)
        }
    }

    /// Waits for the TPM if it has to release the device secret, otherwise for a key change if
    /// the keys do not fit. Returns at once if another look is enough. Call it outside of
    /// transactions.
    ///
    /// - Throws: ``KeychainFailure``: `timedOut`; as ``unseal(_:_:)``.
    package func awaitChange(
        _ operation: String, _ deadline: Deadline, _ look: inout RepeatedLook
    ) throws(KeychainFailure) {
        guard !deadline.hasPassed else { throw KeychainFailure(.timedOut, during: operation) }
        guard let header = look.sealed else {
            if let keys = look.awaited { try awaitKeys(keys, operation, deadline) }
            return
        }
        look.sealed = nil
        try unseal(header, deadline)
    }

    /// How long a reader that finds no keys waits for a key change that may set the first
    /// passcode.
    private static let patience = Duration.seconds(1)

    /// Waits until a key change that has committed has published its keys. No other process
    /// changes the keys of this process alone, so those need no writers' lock.
    ///
    /// - Throws: ``KeychainFailure``: `timedOut`, unless there are no keys at all. Then the
    ///   keychain counts as locked.
    private func awaitKeys(
        _ keys: AwaitedKeys, _ operation: String, _ deadline: Deadline
    ) throws(KeychainFailure) {
        let limit =
            keys.areReplaced
            ? deadline : Deadline(after: min(deadline.remaining, Self.patience))
        do throws(SystemError) {
            if keys.lockState.isForSharing { return try pool.awaitWriters(limit) }
            guard keys.lockState.awaitChange(before: limit) else { throw pool.lock.busy() }
        } catch {
            if keys.areReplaced { throw KeychainFailure(error, during: operation) }
        }
    }

    /// Reads the header of the keychain, which needs no key.
    package func readHeader(
        _ deadline: Deadline, for operation: String = opening
    ) throws(KeychainFailure) -> KeychainHeader {
        let reader = try pool.borrow(deadline, for: operation)
        defer { pool.giveBack(reader) }
        let transaction = try translating(
            ReadTransaction(on: reader.connection), during: operation)
        let header = try currentHeader(reader, for: operation)
        _ = consume transaction
        return header
    }
}

/// A read transaction that lasts longer than a call, with the keys of the rows that it sees.
///
/// While it is open, the log of the database cannot be shortened. Used by one thread at a time.
package final class HeldSnapshot {
    /// The connection that reads.
    package let store: RowConnection
    /// The keys of the rows that are read.
    package let keys: KeySet
    private let keychain: OpenKeychain
    private var use: KeychainUse?
    private var transaction: ReadTransaction?

    /// Begins to read, in a call of `slot`.
    ///
    /// - Throws: ``KeychainFailure``: as a read transaction.
    package init(
        _ keychain: OpenKeychain, of slot: SharedKeychain, _ keys: KeySet, _ call: StoreCall
    ) throws(KeychainFailure) {
        use = .some(try slot.use(for: call))
        store = try keychain.pool.borrow(call.deadline, for: call.operation)
        self.keychain = keychain
        self.keys = keys
        do {
            transaction = .some(try ReadTransaction(on: store.connection))
            // The first read fixes the state that the transaction sees.
            _ = try store.sync.readMark()
        } catch {
            throw KeychainFailure(error, during: call.operation)
        }
    }

    /// Whether the keys are still open. A lock since the transaction began closes them, too.
    package var isOpen: Bool { keychain.isOpen(keys) }

    /// Ends the transaction.
    package func close() {
        guard transaction != nil else { return }
        transaction = nil
        keychain.pool.giveBack(store)
        use = nil
    }

    deinit { close() }
}
