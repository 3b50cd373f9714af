// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetLockState
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem

extension Engine {
    /// Runs `body`, which goes by `facts`. What does not work may be true of a keychain that has
    /// been changed since: its device key is another one then, and so may be its passcode.
    ///
    /// - Returns: What `body` returns; false if it fails and the keychain has changed, or was
    ///   replaced.
    /// - Throws: What `body` throws.
    func unlessChanged(
        _ facts: KeychainFacts, _ timeLimit: Duration,
        _ body: () throws(KeychainFailure) -> Bool
    ) throws(KeychainFailure) -> Bool {
        do throws(KeychainFailure) {
            return try body()
        } catch {
            if isReplaced { return false }
            // No change of keys explains that, and the time is over.
            guard error.code != .timedOut else { throw error }
            let now = try? readFacts(error.operation, Deadline(after: timeLimit))
            guard let now, now.settings != facts.settings else { throw error }
            return false
        }
    }

    /// What opens the keychain that `facts` are of. Takes as long as the passcode is stretched, and
    /// as the TPM takes where there is one.
    ///
    /// - Parameter patience: How long to wait for a TPM, each of two times.
    /// - Throws: ``KeychainFailure``: `interactionNotAllowed` if a passcode is needed and there is
    ///   none; `incomplete`, `keyUnavailable`, `outOfMemory`. Whether the passcode is right is not
    ///   known yet, but with a TPM: `authenticationFailed`, `timedOut`, `inputOutput`.
    func protector(
        of facts: KeychainFacts, _ passcode: KeychainPasscode?, _ operation: String,
        _ patience: Duration
    ) throws(KeychainFailure) -> Protector {
        guard facts.newest.protector != .device else {
            return Protector(try source.secret(of: facts, until: Deadline(after: patience)))
        }
        guard let typed = passcode else {
            try source.check(facts, until: Deadline(after: patience))
            throw KeychainFailure(
                .interactionNotAllowed, during: operation, message: "it takes the passcode",
                hint: "give the keychain's passcode")
        }
        switch facts.newest.protector {
        case .tpmAndPasscode:
            return try wrongPasscodes.counting { () throws(KeychainFailure) in
                try source.protector(of: facts.newest, typed, patience)
            }
        case .device, .passcode:
            let secret = try source.secret(of: facts, until: Deadline(after: patience))
            do throws(KeybagError) {
                return try Protector(secret, passcode: typed.passcode, opening: facts.newest)
            } catch {
                throw KeychainFailure(translating: error, during: operation)
            }
        }
    }

    /// Takes away what is published of a keychain that has no passcode any more.
    ///
    /// - Throws: ``KeychainFailure``: `timedOut`, `inputOutput`.
    func lockWithoutPasscode(
        _ operation: String, _ deadline: Deadline
    ) throws(KeychainFailure) {
        try translating(operation) {
            // Somebody may be setting one, and unlocks then under the same lock.
            let held = directory.isReadOnly ? nil : try lock.acquire(before: deadline)
            let facts = try readFacts(operation, deadline)
            if facts.lockState == nil {
                defer { announceLockState() }
                try facts.sharedLockState.lock(all: true)
            }
            _ = consume held
        }
    }

    /// The moment before the passcode of `facts` is checked: a lock that comes after it holds.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput`.
    func moment(
        of facts: KeychainFacts, _ deadline: Deadline
    ) throws(KeychainFailure) -> LockMoment? {
        guard let lockState = facts.lockState else { return nil }
        return try translating(ItemStore.unlocking) {
            if !lockState.hasPage, !directory.isReadOnly {
                let held = try lock.acquire(before: deadline)
                lockState.preparePage()
                _ = consume held
            }
            return try lockState.moment()
        }
    }

    /// Opens the keys of a keychain with a passcode to every process that shares the lock state.
    ///
    /// - Parameter moment: From before the passcode was checked.
    /// - Returns: Whether it was done: not if the keychain has changed in the meantime.
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a wrong passcode, `timedOut`,
    ///   `keychainDamaged`.
    func publish(
        _ facts: KeychainFacts, openedBy protector: borrowing Protector,
        within limits: UnlockLimits, since moment: LockMoment?, _ deadline: Deadline
    ) throws(KeychainFailure) -> Bool {
        let operation = ItemStore.unlocking
        guard let lockState = facts.lockState else { return true }
        do {
            let opened = try facts.unlock(with: protector)
            // Two that unlock at once would be in no order. Where nothing can be written nobody
            // changes the keys either.
            let held = directory.isReadOnly ? nil : try lock.acquire(before: deadline)
            guard try isInPlace(), try readFacts(operation, deadline).settings == facts.settings
            else { return false }
            let proof = facts.older == nil ? nil : try facts.proof(with: protector)
            try lockState.publish(facts.published(opened), within: limits, since: moment)
            // Not before: of an unlock that failed nothing is kept.
            if let proof { keep(forResealing: proof) }
            _ = consume held
            announceLockState()
            return true
        } catch {
            throw KeychainFailure(translating: error, during: operation)
        }
    }
}
