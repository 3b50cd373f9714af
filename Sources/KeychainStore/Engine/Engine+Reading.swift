// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import KeychainModel

extension Engine {
    /// Runs `body` in one read transaction, with the keys that belong to what it sees.
    ///
    /// - Throws: ``KeychainFailure``: as ``currentState(_:)``, `timedOut`, and what `body` throws.
    func read<R>(
        _ operation: String, _ deadline: Deadline,
        _ body: (StoreConnection, KeychainState) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        var doubts = EpochDoubts()
        while true {
            let result: R? = try withReader(deadline) { (store) throws(KeychainFailure) in
                try inTransaction(store, operation) { () throws(KeychainFailure) -> R? in
                    let reading = try currentState(store)
                    guard let state = try believed(reading, &doubts) else { return nil }
                    try RequiredLevel.check(state.facts, operation)
                    return try body(store, state)
                }
            }
            if let result {
                renewIfUsed(lastKnownFacts, deadline)
                return result
            }
            try awaitEpochChange(operation, deadline)
        }
    }

    /// The state that is read; nil if an epoch change may explain what does not fit.
    func believed(
        _ reading: StateReading, _ doubts: inout EpochDoubts
    ) throws(KeychainFailure) -> KeychainState? {
        if case .doubtful(let facts, _) = reading, doubts.areExcused(by: facts) { return nil }
        return try settled(reading)
    }

    /// Waits until nobody is changing epochs or writing.
    ///
    /// - Throws: ``KeychainFailure``: `timedOut`.
    func awaitEpochChange(
        _ operation: String, _ deadline: Deadline
    ) throws(KeychainFailure) {
        guard !deadline.hasPassed else {
            throw KeychainFailure(.timedOut, during: operation)
        }
        try awaitWriters(deadline)
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
    func readFacts(_ operation: String, _ deadline: Deadline) throws(KeychainFailure)
        -> KeychainFacts
    {
        try withReader(deadline) { (store) throws(KeychainFailure) in
            try inTransaction(store, operation) { () throws(KeychainFailure) in
                try currentFacts(store)
            }
        }
    }
}

/// How often in a row published keys did not fit one and the same keychain.
struct EpochDoubts {
    /// One change was begun and came to nothing, and then another: beyond that it is the keys.
    private static let limit = 3

    private var stamp: Int64?
    private var count = 0

    /// Whether what does not fit `facts` may be an epoch change that is waited for: whoever
    /// waited then sees another keychain, or the keys that fit this one.
    mutating func areExcused(by facts: KeychainFacts) -> Bool {
        count = facts.settings.stamp == stamp ? count + 1 : 1
        stamp = facts.settings.stamp
        return count < Self.limit
    }
}
