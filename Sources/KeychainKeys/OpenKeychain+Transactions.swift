// SPDX-License-Identifier: Apache-2.0

// The three kinds of transactions that `ItemStore.perform` runs: a read, a lookup by name, and a
// write. Each checks the keys that belong to what it sees, and the level that the process requires.

internal import ValetDatabase
internal import ValetKeybag
package import ValetKeychainModel
package import ValetKeychainRows
internal import ValetLockState
package import ValetSystem

/// Rows and keys as one moment had them.
package struct RowSnapshot: ~Copyable {
    /// The connection that reads.
    package let store: RowConnection
    /// The keys that belong to what is read.
    package let keys: OpenKeys
    /// The commit that is read; nil if it is not known to be the last one.
    let commit: LogIndex.Header?
    private var transaction: ReadTransaction?

    fileprivate init(
        _ store: RowConnection, _ keys: OpenKeys, _ commit: LogIndex.Header?,
        _ transaction: consuming ReadTransaction
    ) {
        self.store = store
        self.keys = keys
        self.commit = commit
        self.transaction = .some(consume transaction)
    }

    /// What opens the rows.
    package var state: RowKeys { keys.rows }

    /// Ends the transaction before what takes long: while it is open, the log of a keychain that
    /// other processes write to cannot be shortened. Nothing may be read afterwards.
    package mutating func end() { transaction = nil }
}

extension OpenKeychain {
    // Reading.

    /// Runs `body` in one read transaction, with the keys that belong to what it sees.
    ///
    /// - Throws: What `body` throws; ``KeychainFailure``: as ``currentKeys(_:)``, `timedOut`.
    package func read<R>(
        _ call: StoreCall, _ body: (inout RowSnapshot) throws -> R
    ) throws -> R {
        let reader = try pool.borrow(call.deadline)
        defer { pool.giveBack(reader) }
        var doubts = EpochDoubts()
        while true {
            let lastCommit = kept.lastCommit(seenBy: reader.connection)
            let transaction = try ReadTransaction(on: reader.connection)
            if let state = try believed(currentKeys(reader), &doubts) {
                try RequiredLevel.check(state.facts, call.operation)
                let commit = kept.keep(state, at: lastCommit)
                var snapshot = RowSnapshot(reader, state, commit, transaction)
                let result = try body(&snapshot)
                snapshot.end()
                renewIfUsed(state.facts, call.deadline)
                return result
            }
            _ = consume transaction
            try awaitChange(call.operation, call.deadline, &doubts)
        }
    }

    /// Runs `body`, which reads items by name: outside of a transaction if nothing was committed
    /// since the keys were last read, else in one.
    ///
    /// - Parameter body: Returns nil if ``NamedRead/isCurrent`` says that something was committed
    ///   while it read; it runs again then.
    /// - Throws: As ``read(_:_:)``.
    package func lookUp<R>(
        _ call: StoreCall, _ body: (inout NamedRead) throws -> R?
    ) throws -> R {
        if let (keys, commit) = kept.current(), isOpen(keys), RequiredLevel.isMet(by: keys.facts) {
            var read = NamedRead(self, keys, commit, call)
            defer { read.end() }
            if let result = try body(&read) {
                renewIfUsed(keys.facts, call.deadline)
                return result
            }
        }
        return try self.read(call) { snapshot in
            var read = NamedRead(self, in: snapshot, call)
            guard let result = try body(&read) else {
                throw KeychainFailure(.internalFault, during: call.operation)
            }
            return result
        }
    }

    /// The keys that a transaction sees; nil if an epoch change may explain why some do not fit,
    /// or a TPM has to be asked first.
    package func believed(
        _ keys: CurrentKeys, _ doubts: inout EpochDoubts
    ) throws(KeychainFailure) -> OpenKeys? {
        switch keys {
        case .doubtful(let facts, _, let cause) where doubts.areExcused(by: facts, cause):
            return nil
        case .sealed(let facts):
            doubts.sealed = facts
            return nil
        case .certain, .doubtful: return try settled(keys)
        }
    }

    /// Waits for a running epoch change or write if the keys do not fit, and for the TPM if that
    /// keeps the keychain closed. Returns at once where another look is enough. Belongs outside of
    /// transactions.
    ///
    /// - Throws: ``KeychainFailure``: `timedOut`, also if the keychain was replaced; as
    ///   ``unseal(_:_:)``.
    package func awaitChange(
        _ operation: String, _ deadline: Deadline, _ doubts: inout EpochDoubts
    ) throws {
        guard !deadline.hasPassed else { throw KeychainFailure(.timedOut, during: operation) }
        guard let facts = doubts.sealed else {
            if doubts.needWait { try pool.awaitWriters(deadline) }
            return
        }
        doubts.sealed = nil
        try unseal(facts, deadline)
        // Asking the TPM takes long.
        try pool.checkPlace()
    }

    /// Reads what the keychain says of itself, opened or not.
    package func readFacts(_ deadline: Deadline) throws -> KeychainHeader {
        let reader = try pool.borrow(deadline)
        defer { pool.giveBack(reader) }
        let transaction = try ReadTransaction(on: reader.connection)
        let facts = try currentFacts(reader)
        _ = consume transaction
        return facts
    }

    // Writing.

    /// Runs `body` in one transaction under the lock of writers.
    ///
    /// - Parameters:
    ///   - isOfItems: Whether this is a call of the store's users, which may do a part of an epoch
    ///     change that was left undone.
    ///   - own: Opened keys that are used although the keychain may be locked, if they are still
    ///     the keychain's.
    ///   - batch: Runs other calls in the transaction; nil runs `body` alone.
    /// - Throws: What `body` throws; ``KeychainFailure``: `timedOut`, also if the keychain was
    ///   replaced; `readOnly`, `diskFull`, `newerFormat`. Nothing is changed then in the keychain
    ///   that has its place.
    package func write<R>(
        _ call: StoreCall, isOfItems: Bool = true, with own: OpenKeys? = nil,
        leading batch: WriteBatch? = nil, _ body: (RowTransaction) throws -> R
    ) throws -> R {
        while true {
            let held = try pool.lockForWriting(call.deadline)
            let writer = try pool.writer(call.deadline)
            pool.makeRoomInLog(writer)
            let transaction = try Transaction(on: writer.connection)
            let keys = try keysForWriting(writer, own)
            if case .sealed(let facts) = keys {
                _ = consume transaction
                // The lock is free while this process waits for the TPM.
                _ = consume held
                batch?.handOn()
                try unseal(facts, call.deadline)
                continue
            }
            // Nothing changes epochs under the lock: keys that do not fit now never will.
            let state = try settled(keys)
            let result = try run(call, isOfItems, writer, state, body)
            try batch?.run(on: writer.connection, while: { isOpen(state) }) {
                try run($0, isOfItems, writer, state, $1)
            }
            try commit(transaction)
            if let program = call.program { state.rows.remember(program) }
            batch?.acknowledge(state)
            pool.tendLog(writer)
            let pause = isOfItems ? EpochFinisher(keychain: self).goOn(writer, state) : 0
            _ = consume held
            batch?.handOn()
            renewIfUsed(state.facts, call.deadline)
            if pause > 0 { _ = call.deadline.sleep(atMost: pause) }
            return result
        }
    }

    /// Runs one call in the transaction of `writer`.
    private func run<R>(
        _ call: StoreCall, _ isOfItems: Bool, _ writer: RowWriter, _ state: OpenKeys,
        _ body: (RowTransaction) throws -> R
    ) throws -> R {
        try checkMayWrite(state, call, isOfItems)
        let access = RowTransaction(
            writer: writer, state: state.rows, now: call.now, operation: call.operation)
        let result = try body(access)
        if let program = call.program { try access.record(program) }
        return result
    }

    /// Makes a transaction permanent, in the keychain that has its place.
    private func commit(_ transaction: consuming Transaction) throws {
        // The folder may still be replaced between this look and the commit.
        try pool.checkPlace()
        try transaction.commit()
        // A keychain that was replaced since does not have what was committed.
        if pool.isReplaced { try pool.checkPlace() }
    }

    private func keysForWriting(
        _ writer: RowWriter, _ own: OpenKeys?
    ) throws -> CurrentKeys {
        if let own = try own?.following(currentFacts(writer.reading)) { return .certain(own) }
        return try currentKeys(writer.reading)
    }

    private func checkMayWrite(
        _ state: OpenKeys, _ call: StoreCall, _ isOfItems: Bool
    ) throws(KeychainFailure) {
        guard state.settings.isWritable else {
            throw KeychainFailure(
                .newerFormat, during: call.operation,
                message: "a newer version allows this version only to read the keychain",
                path: directory.path, hint: "update this program")
        }
        if isOfItems { try RequiredLevel.check(state.facts, call.operation) }
    }

    /// Runs `body`, which replaces the keybags, in a transaction under the lock of writers; but
    /// only if the keychain is still what `facts` say.
    ///
    /// - Parameter onFailure: Runs if the transaction was not committed.
    /// - Returns: Whether it is.
    package func replaceKeys(
        of facts: KeychainHeader, _ operation: String, _ deadline: Deadline,
        _ body: (RowWriter) throws -> Void, onFailure: () throws -> Void
    ) throws -> Bool {
        let held = try pool.lockForWriting(deadline)
        let writer = try pool.writer(deadline)
        let transaction = try Transaction(on: writer.connection)
        guard try currentFacts(writer.reading).settings == facts.settings else { return false }
        guard facts.settings.isWritable else {
            throw KeychainFailure(.newerFormat, during: operation, hint: "update this program")
        }
        do {
            try body(writer)
            try pool.checkPlace()
            try transaction.commit()
        } catch {
            // The first error is the one to report.
            try? onFailure()
            throw error
        }
        // A keychain that was replaced since does not have what was committed.
        if pool.isReplaced { try pool.checkPlace() }
        _ = consume held
        return true
    }

    // Keys that a TPM releases, and keys that lock themselves.

    /// Has the TPM release the device secret of a keychain without a passcode, for this process and
    /// for later ones: its keys are shared like those of an unlocked keychain. Never called in a
    /// transaction or under the lock of writers, so that other processes need not wait for the TPM.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable`, `timedOut`, `inputOutput`.
    func unseal(_ facts: KeychainHeader, _ deadline: Deadline) throws(KeychainFailure) {
        let protector = Protector(try source.secret(of: facts, until: deadline))
        // A reader that finds no keys asks the TPM itself.
        try? share(facts, openedBy: protector)
    }

    /// Publishes the keys, unless a writer is active or the keys have changed.
    private func share(
        _ facts: KeychainHeader, openedBy protector: borrowing Protector
    ) throws {
        let lockState = facts.sharedLockState
        guard lockState.isShared, !directory.isReadOnly else { return }
        let opened = try facts.unlock(with: protector)
        let held = try pool.lock.acquire(before: .immediately)
        let now = try readFacts(.immediately)
        if now.settings == facts.settings {
            try lockState.publish(facts.published(opened), within: .none)
        }
        _ = consume held
    }

    /// How long a call waits for the lock of writers once half of the idle time has passed.
    private static let renewalPatience = Duration.milliseconds(50)

    /// Extends the time until an unlocked keychain locks itself, if its keys were used late enough
    /// (docs/decisions/0020-auto-lock.md). Runs at the end of each call that uses keys, without the
    /// lock of writers.
    func renewIfUsed(_ facts: KeychainHeader?, _ deadline: Deadline) {
        guard let lockState = facts?.lockState, lockState.isRenewalDue else { return }
        // The call itself is complete, so the next use of the keychain tries again.
        do { try renew(lockState, deadline) } catch { lockState.postponeRenewal() }
    }

    private func renew(_ lockState: LockStateStore, _ deadline: Deadline) throws {
        // The lock keeps other keys from being published in between. Where nothing can be written,
        // none are.
        guard lockState.isShared, !directory.isReadOnly else { return try lockState.renew() }
        let limit =
            lockState.isRenewalUrgent
            ? Deadline(after: min(deadline.remaining, Self.renewalPatience)) : .immediately
        let held = try pool.lock.acquire(before: limit)
        try lockState.renew()
        _ = consume held
    }
}
