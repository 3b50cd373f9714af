// SPDX-License-Identifier: Apache-2.0

// Write transactions, under the writers' lock: those of `ItemStore.perform`, and those that replace
// the keybags.

internal import ValetDatabase
internal import ValetKeychainModel
package import ValetKeychainRows
package import ValetSystem

/// What a write transaction is for.
package enum WritePurpose {
    /// Items, for a user of the store.
    case items
    /// The keys. Opened keys are used although the keychain may be locked, if they are still the
    /// keychain's.
    case keys(OpenKeys?)

    fileprivate var isOfItems: Bool {
        if case .items = self { true } else { false }
    }
}

extension OpenKeychain {
    /// Runs `body` in one transaction under the lock of writers.
    ///
    /// - Parameters:
    ///   - purpose: Whether this is a call of the store's users, which may do a part of an epoch
    ///     change that was left undone.
    ///   - batch: Runs other calls in the transaction; nil runs `body` alone.
    ///   - afterCommit: Runs before any other process can write.
    /// - Throws: What `body` throws; ``KeychainFailure``: `timedOut`, also if the keychain was
    ///   replaced; `readOnly`, `diskFull`, `newerFormat`. Nothing is changed then in the keychain
    ///   that has its place.
    package func write<R>(
        _ call: StoreCall, for purpose: WritePurpose = .items,
        leading batch: WriteBatch? = nil, _ body: (RowTransaction) throws -> R,
        afterCommit: (OpenKeys) throws -> Void = { _ in }
    ) throws -> R {
        let isOfItems = purpose.isOfItems
        while true {
            let held = try pool.lockForWriting(call.deadline)
            let writer = try pool.writer(call.deadline)
            pool.makeRoomInLog(writer)
            let transaction = try Transaction(on: writer.connection)
            let keys = try keysForWriting(writer, purpose)
            if case .sealed(let header) = keys {
                _ = consume transaction
                // The lock is free while this process waits for the TPM.
                _ = consume held
                batch?.handOn()
                try unseal(header, call.deadline)
                continue
            }
            // Nothing changes epochs under the lock: keys that do not fit now never will.
            let state = try settled(keys)
            let result = try run(call, isOfItems, writer, state, body)
            try batch?.run(on: writer.connection, while: { isOpen(state) }) {
                try run($0, isOfItems, writer, state, $1)
            }
            try pool.reserveRoom(writer)
            try commit(transaction, call.operation)
            if let program = call.program { state.rows.remember(program) }
            batch?.acknowledge(state)
            try afterCommit(state)
            pool.tendLog(writer)
            let pause = isOfItems ? EpochFinisher(keychain: self).goOn(writer, state) : 0
            _ = consume held
            batch?.handOn()
            renewIfUsed(state.header, call.deadline)
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
    private func commit(_ transaction: consuming Transaction, _ operation: String) throws {
        // Everything was in its place when the lock was taken. What counts is that it still is
        // after the commit; this look spares a folder that is moved away a commit of no use.
        guard try directory.isAtPath() else { throw pool.replacement }
        try transaction.commit()
        try pool.confirmCommit(operation)
    }

    private func keysForWriting(
        _ writer: RowWriter, _ purpose: WritePurpose
    ) throws -> CurrentKeys {
        if case .keys(let own) = purpose,
            let own = try own?.following(currentHeader(writer.reading))
        {
            return .certain(own)
        }
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
        if isOfItems { try RequiredLevel.check(state.header, call.operation) }
    }

    /// Runs `body`, which replaces the keybags, in a transaction under the lock of writers; but
    /// only if the keychain is still what `header` says.
    ///
    /// - Parameter onFailure: Runs if the transaction was not committed.
    /// - Returns: Whether it is.
    package func replaceKeys(
        of header: KeychainHeader, _ operation: String, _ deadline: Deadline,
        _ body: (RowWriter) throws -> Void, onFailure: () throws -> Void
    ) throws -> Bool {
        let held = try pool.lockForWriting(deadline)
        let writer = try pool.writer(deadline)
        let transaction = try Transaction(on: writer.connection)
        guard try currentHeader(writer.reading).settings == header.settings else { return false }
        guard header.settings.isWritable else {
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
        try pool.confirmCommit(operation)
        _ = consume held
        return true
    }
}
