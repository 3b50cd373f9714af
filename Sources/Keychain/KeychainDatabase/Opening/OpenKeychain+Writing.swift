// SPDX-License-Identifier: Apache-2.0

// The write transactions of `ItemStore`, under the writers' lock.

internal import ValetDatabase
package import ValetKeychainModel
internal import ValetSystem

extension OpenKeychain {
    /// Runs `body` in one transaction under the writers' lock.
    ///
    /// - Parameters:
    ///   - batch: Runs other calls in the transaction; nil runs `body` alone.
    ///   - afterCommit: Runs after the commit, and before any other process can write.
    /// - Throws: Errors of `body`; ``KeychainFailure``: `timedOut`, also if the keychain was
    ///   replaced; `readOnly`, `diskFull`, `newerFormat`. Then nothing has changed.
    package func write<R>(
        _ call: StoreCall, leading batch: WriteBatch? = nil,
        _ body: (RowTransaction) throws(KeychainFailure) -> R,
        afterCommit: (KeySet) -> Void = { _ in }
    ) throws(KeychainFailure) -> R {
        while true {
            let held = try translating(
                pool.lockForWriting(call.deadline), during: call.operation)
            let writer = try pool.writer(call.deadline, for: call.operation)
            pool.makeRoomInLog(writer)
            let transaction = try translating(
                Transaction(on: writer.connection), during: call.operation)
            let keys = try currentKeys(writer.reading, for: call.operation)
            if case .sealed(let header) = keys {
                _ = consume transaction
                // The lock is free while this process waits for the TPM.
                _ = consume held
                batch?.handOn()
                try unseal(header, call.deadline)
                continue
            }
            // Nobody changes keys now: those that do not fit never will.
            let state = try settled(keys)
            let result = try run(call, writer, state, body)
            if call.isRehearsal { return result }  // The transaction rolls back.
            try batch?.run(on: writer.connection, while: { isOpen(state) }) {
                (call, body) throws(KeychainFailure) in
                try run(call, writer, state, body)
            }
            try commit(transaction, writer, call)
            batch?.acknowledge(state)
            afterCommit(state)
            pool.tendLog(writer)
            OldKeyErasure(self).eraseIfDue(writer)
            _ = consume held
            batch?.handOn()
            renewIfUsed(state.header, call.deadline)
            return result
        }
    }

    private func commit(
        _ transaction: consuming Transaction, _ writer: RowWriter, _ call: StoreCall
    ) throws(KeychainFailure) {
        do {
            try pool.reserveRoom(writer)
            try transaction.commit()
        } catch {
            throw KeychainFailure(error, during: call.operation)
        }
    }

    /// Runs one call in the transaction of `writer`.
    private func run<R>(
        _ call: StoreCall, _ writer: RowWriter, _ state: KeySet,
        _ body: (RowTransaction) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        try checkMayWrite(state, call)
        let access = RowTransaction(
            writer: writer, state: state.rows, now: call.now, operation: call.operation)
        return try body(access)
    }

    private func checkMayWrite(
        _ state: KeySet, _ call: StoreCall
    ) throws(KeychainFailure) {
        guard state.settings.isWritable else {
            throw KeychainFailure(
                .newerFormat, during: call.operation,
                message: "a newer version allows this version only to read the keychain",
                path: directory.path, hint: "update this program")
        }
        try RequiredLevel.check(state.header, call.operation)
    }
}
