// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetLockState
internal import ValetSealing
internal import ValetSystem

/// The keys of this process.
extension Engine {
    /// What the transaction of `store` sees of the keychain itself.
    ///
    /// - Throws: ``KeychainFailure``: `newerFormat`, `keychainDamaged`.
    func currentFacts(_ store: StoreConnection) throws(KeychainFailure) -> KeychainFacts {
        let stamp: Int64? = try translating(Self.opening) {
            let run = try store.stamp.start()
            return try run.step() ? run.int64(0) : nil
        }
        if let known = lastKnownFacts, known.settings.stamp == stamp { return known }
        let fresh = try KeychainFacts.load(from: store, at: location)
        lastKnownFacts = fresh
        nextErasure = 0
        return fresh
    }

    /// The state that the transaction of `store` sees.
    ///
    /// - Throws: ``KeychainFailure``: as ``currentFacts(_:)``; `incomplete`, `keyUnavailable`.
    func currentState(_ store: StoreConnection) throws(KeychainFailure) -> StateReading {
        let facts = try currentFacts(store)
        guard let lockState = facts.lockState else { return try withoutPasscode(facts) }
        switch reading(facts, of: lockState) {
        case .unlocked(let keys): return .certain(try state(facts, keys))
        case .locked(let keys, let cause):
            // This was checked when the same keys were seen before.
            let isKnown = cause != .otherEpoch && hasSeen(facts, keys)
            let state = try state(facts, keys)
            return isKnown ? .certain(state) : .doubtful(facts, state, cause)
        case .beforeFirstUnlock(let cause): return .doubtful(facts, nil, cause)
        case .unknown(let error):
            throw KeychainFailure(.inputOutput, during: Self.opening, message: "\(error)")
        }
    }

    /// What is true of a ``StateReading`` once it is known that no epoch change explains it, and
    /// the TPM was asked.
    ///
    /// - Throws: ``KeychainFailure``: `locked`, `incomplete`, `keyUnavailable`.
    func settled(_ reading: StateReading) throws(KeychainFailure) -> KeychainState {
        switch reading {
        case .certain(let state), .doubtful(_, .some(let state), _): return state
        case .doubtful(let facts, .none, let cause): throw failure(facts, cause)
        case .sealed: throw .locked(Self.opening)
        }
    }

    /// Why nothing is open.
    private func failure(_ facts: KeychainFacts, _ cause: LockCause) -> KeychainFailure {
        KeychainFailure(
            .locked, during: Self.opening, message: cause.explanation,
            hint: KeychainFailure.unlockHint(
                ofProcess: facts.lockState?.provider.place == .process))
    }

    /// What `failure` comes down to. Where it is that something is locked, and the device key is
    /// not there, no passcode would help: spec/keys-and-states.md §5, state K.
    func reason(for failure: KeychainFailure, _ deadline: Deadline) -> KeychainFailure {
        guard failure.code == .locked, let facts = lastKnownFacts, facts.lockState != nil else {
            return failure
        }
        do throws(KeychainFailure) {
            try source.check(facts, until: deadline)
            return failure
        } catch {
            // A TPM that is busy tells nothing.
            guard !facts.isBoundToTPM || error.code == .keyUnavailable else {
                return failure
            }
            // Keys that have changed since have another device key.
            let now = try? readFacts(failure.operation, Deadline(after: .seconds(1)))
            return now?.settings == facts.settings ? error : failure
        }
    }

    /// Whether the keys that `state` holds are those that are open at this moment.
    func isOpen(_ state: KeychainState) -> Bool {
        guard let lockState = state.facts.lockState else { return true }
        if let opened = state.opened, lockState.isUnlocked(with: opened) { return true }
        return reading(state.facts, of: lockState).keys === state.opened
    }

    /// What is open at this moment. What this process keeps of other keys is let go, unless a call
    /// that is under way still uses it: a locked process keeps no keys.
    func reading(_ facts: KeychainFacts, of lockState: LockStateStore) -> LockReading {
        let reading = lockState.current(expecting: facts.marks)
        if case .unlocked = reading { return reading }
        forgetKeys(but: reading.keys)
        return reading
    }

    /// Waits until nobody is changing epochs or writing.
    ///
    /// - Throws: ``KeychainFailure``: `timedOut`.
    func awaitWriters(_ deadline: Deadline) throws(KeychainFailure) {
        guard !directory.isReadOnly else { return }
        try translating(Self.opening) { _ = try lock.acquire(before: deadline) }
    }

    private func state(
        _ facts: KeychainFacts, _ keys: OpenedKeys
    ) throws(KeychainFailure) -> KeychainState {
        if let known = lastKnownState, hasSeen(facts, keys) { return known }
        let opened = facts.keybags.compactMap { keys.keys(of: $0.epoch)?.keybag }
        guard opened.count == facts.keybags.count else { throw .locked(Self.opening) }
        return try translating(Self.opening) {
            let fresh = try KeychainState(facts, opened, opened: keys)
            lastKnownState = fresh
            return fresh
        }
    }

    /// Whether the last state of this process is made of these.
    private func hasSeen(_ facts: KeychainFacts, _ keys: OpenedKeys) -> Bool {
        lastKnownState?.facts === facts && lastKnownState?.opened === keys
    }

    private func withoutPasscode(
        _ facts: KeychainFacts
    ) throws(KeychainFailure) -> StateReading {
        if let known = lastKnownState, known.facts === facts { return .certain(known) }
        let lockState = facts.sharedLockState
        // There may have been a passcode, and keys that went by it.
        lockState.forget(before: facts.newest.epoch)
        if facts.isBoundToTPM, !source.kept.has(facts.newest.deviceKeyID) {
            // Somebody may have asked the TPM before us.
            guard case .unlocked(let keys) = lockState.current(expecting: facts.marks) else {
                return .sealed(facts)
            }
            return .certain(try state(facts, keys))
        }
        return try translating(Self.opening) {
            let protector = Protector(try source.secret(of: facts, until: .immediately))
            let fresh = try KeychainState(
                facts, try facts.unlock(with: protector), opened: nil)
            lastKnownState = fresh
            return .certain(fresh)
        }
    }
}

/// What a transaction sees of the keys that are open.
enum StateReading {
    case certain(KeychainState)
    /// Not everything is open, and an epoch change may be why: one that is under way and has
    /// published keys that do not fit yet, or one that came after the transaction had begun and
    /// took the keys away with the passcode. If it was none, the state is that of a locked
    /// keychain, or nothing is open at all.
    case doubtful(KeychainFacts, KeychainState?, LockCause)
    /// Nothing is open before a TPM has given out the device secret, which is waited for outside
    /// of transactions: ``Engine/unseal(_:_:)``.
    case sealed(KeychainFacts)
}
