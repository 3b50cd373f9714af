// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import Keybag
package import KeychainModel
internal import LockState

/// keys-and-states §1.5, §1.6.
extension ItemStore {
    private static let unlocking = "unlock the keychain"
    private static let locking = "lock the keychain"

    /// Unlocks the keychain for everyone who shares its lock state.
    ///
    /// - Parameters:
    ///   - duration: For how long, however much it is used; nil for until it is locked.
    ///   - idle: After how long without use it locks itself; nil for never. An unlocked keychain
    ///     gets these limits instead of its own.
    ///
    /// Does nothing for a keychain without a passcode. Goes on with an epoch change that was left
    /// undone, for as long as a call may take.
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain,
    ///   `authenticationFailed` for a wrong passcode, `incomplete`, `keyUnavailable`, `timedOut`.
    package func unlock(
        _ passcode: KeychainPasscode, for duration: Duration? = nil, autoLock idle: Duration? = nil
    ) throws(KeychainFailure) {
        try untilUnchanged(Self.unlocking) { (engine, facts) throws(KeychainFailure) in
            guard facts.lockState != nil else { return true }
            return try unlock(engine, facts, passcode, for: duration, autoLock: idle)
        }
    }

    /// - Returns: Whether it was done: not if the keychain has changed in the meantime.
    private func unlock(
        _ engine: Engine, _ facts: KeychainFacts, _ passcode: KeychainPasscode,
        for duration: Duration?, autoLock idle: Duration?
    ) throws(KeychainFailure) -> Bool {
        let protector = try engine.protector(of: facts, passcode, Self.unlocking, timeLimit)
        let deadline = Deadline(after: timeLimit)
        let limits = UnlockLimits(
            end: duration.map { BootTime.now.advanced(by: $0) }, idle: idle)
        let isPublished = try WrongPasscodes.counting { () throws(KeychainFailure) in
            try engine.publish(
                facts, openedBy: protector, within: limits, Self.unlocking, deadline)
        }
        if isPublished { _ = try? engine.finishEpochChange(before: deadline) }
        return isPublished
    }

    /// Locks the keychain for everyone who shares its lock state.
    ///
    /// - Parameters:
    ///   - all: Also takes the keys that stay from the first unlock on, as a reboot does.
    ///   - waiting: Waits for the write that is under way: after that none is made any more.
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain, `passcodeNotSet` if
    ///   it cannot be locked, `timedOut`, `inputOutput`.
    package func lock(all: Bool = false, waiting: Bool = false) throws(KeychainFailure) {
        try withEngine(Self.locking) { (engine) throws(KeychainFailure) in
            let deadline = Deadline(after: timeLimit)
            let facts = try engine.readFacts(Self.locking, deadline)
            guard let lockState = facts.lockState else {
                // What a TPM gave out is there for nobody but who asks it again.
                if facts.isBoundToTPM, all {
                    let shared = LockStates.store(of: facts.settings.keychainID)
                    try translating(Self.locking) { try shared.lock(all: true) }
                }
                throw KeychainFailure(
                    .passcodeNotSet, during: Self.locking,
                    message: "a keychain without a passcode is always open",
                    hint: "set one with `valet passcode set`")
            }
            defer { engine.announceLockState() }
            try translating(Self.locking) { try lockState.lock(all: all) }
            _ = engine.reading(facts, of: lockState)
            if waiting { try engine.awaitWriters(deadline) }
        }
    }

    /// Runs `body` with the keychain as it is, and again if somebody else has changed its keys
    /// meanwhile.
    ///
    /// - Parameter body: Returns false if the keychain is another one than it was given.
    func untilUnchanged(
        _ operation: String, creating: Bool = false,
        _ body: (Engine, KeychainFacts) throws(KeychainFailure) -> Bool
    ) throws(KeychainFailure) {
        // Somebody who changes the keys each time has to explain it.
        for _ in 0..<3 {
            let isDone = try withEngine(operation, creating: creating) {
                (engine) throws(KeychainFailure) in
                let facts = try engine.readFacts(operation, Deadline(after: timeLimit))
                return try engine.unlessChanged(facts, timeLimit) { () throws(KeychainFailure) in
                    try body(engine, facts)
                }
            }
            if isDone { return }
        }
        throw KeychainFailure(
            .timedOut, during: operation, message: "its keys were changed again and again")
    }

    /// Runs `body` with the opened files of a keychain that is there; it makes its own deadlines.
    func withEngine<R>(
        _ operation: String, creating: Bool = false,
        _ body: (Engine) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        let result = try withEngineIfThere(operation, creating: creating, body)
        guard let result else {
            throw KeychainFailure(
                .itemNotFound, during: operation, message: "there is no keychain yet",
                path: location.folder)
        }
        return result
    }
}
