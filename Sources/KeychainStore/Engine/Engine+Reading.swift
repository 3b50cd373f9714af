// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import KeychainModel

extension Engine {
    /// An epoch change is waited for once, and a second that begins in between; keys that do not
    /// fit then are no keys of this keychain's.
    static let attemptCount = 3

    /// Runs `body` in one read transaction, with the keys that belong to what it sees.
    ///
    /// - Throws: ``KeychainFailure``: as ``currentState(_:)``, `timedOut`, and what `body` throws.
    func read<R>(
        _ operation: String, _ deadline: Deadline,
        _ body: (StoreConnection, KeychainState) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        for attempt in 1...Self.attemptCount {
            let result: R?? = try withReader(deadline) { (store) throws(KeychainFailure) in
                try inTransaction(store, operation) { () throws(KeychainFailure) -> R? in
                    guard let state = try currentState(store) else { return nil }
                    try RequiredLevel.check(state.facts, operation)
                    return try body(store, state)
                }
            }
            if case .some(.some(let result)) = result { return result }
            if attempt < Self.attemptCount { try awaitWriters(deadline) }
        }
        throw .locked(operation)
    }

    private func inTransaction<R>(
        _ store: StoreConnection, _ operation: String, _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        let transaction = try translating(operation) { try ReadTransaction(on: store.connection) }
        let result = try body()
        _ = consume transaction
        return result
    }

    /// Reads what the keychain says of itself, opened or not.
    func readFacts(_ operation: String, _ deadline: Deadline) throws(KeychainFailure) -> KeychainFacts {
        try withReader(deadline) { (store) throws(KeychainFailure) in
            try inTransaction(store, operation) { () throws(KeychainFailure) in
                try currentFacts(store)
            }
        }
    }
}
