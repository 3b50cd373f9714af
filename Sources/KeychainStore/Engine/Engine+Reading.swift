// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetLockState
internal import ValetSystem

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
            try awaitChange(operation, deadline, &doubts)
        }
    }

    /// The state that is read; nil if an epoch change may explain what does not fit, or a TPM has
    /// to be asked first.
    func believed(
        _ reading: StateReading, _ doubts: inout EpochDoubts
    ) throws(KeychainFailure) -> KeychainState? {
        switch reading {
        case .doubtful(let facts, _, let cause) where doubts.areExcused(by: facts, cause):
            return nil
        case .sealed(let facts):
            doubts.sealed = facts
            return nil
        case .certain, .doubtful: return try settled(reading)
        }
    }

    /// Waits until nobody is changing epochs or writing, if it is keys that do not fit; for the
    /// TPM, if it is that which keeps the keychain from being opened; and for nothing if all it
    /// takes is another look. To be called outside of transactions.
    ///
    /// - Throws: ``KeychainFailure``: `timedOut`, also if the keychain was replaced; as
    ///   ``unseal(_:_:)``.
    func awaitChange(
        _ operation: String, _ deadline: Deadline, _ doubts: inout EpochDoubts
    ) throws(KeychainFailure) {
        guard !deadline.hasPassed else {
            throw KeychainFailure(.timedOut, during: operation)
        }
        guard let facts = doubts.sealed else {
            if doubts.needWait { try awaitWriters(deadline) }
            return
        }
        doubts.sealed = nil
        try unseal(facts, deadline)
        // That takes long.
        try translating(operation) { try checkPlace(during: operation) }
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

/// What a reader has seen of a keychain that is not open to it, before it believes that.
struct EpochDoubts {
    /// One change was begun and came to nothing, and then another: beyond that it is the keys.
    private static let limit = 3

    private var stamp: Int64?
    private var cause: LockCause?
    /// How often in a row the same keychain was seen.
    private var count = 0
    /// Whether what was seen last takes the end of a change, not another look.
    var needWait: Bool { cause == .otherEpoch }
    /// The keychain whose device secret a TPM has to give out first.
    var sealed: KeychainFacts?

    /// Whether an epoch change may be why not everything of `facts` is open. A reader that waited
    /// for it then sees another keychain, or the keys that fit this one; and one that finds the
    /// same keychain once more knows that it was that of the moment at which its keys were not
    /// there.
    mutating func areExcused(by facts: KeychainFacts, _ cause: LockCause) -> Bool {
        let isSame = stamp == facts.settings.stamp
        let isConfirmed = isSame && self.cause == cause && cause != .otherEpoch
        count = isSame ? count + 1 : 1
        (stamp, self.cause) = (facts.settings.stamp, cause)
        return !isConfirmed && count < Self.limit
    }
}
