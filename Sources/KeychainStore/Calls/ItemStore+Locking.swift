// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
package import ValetKeychainModel
internal import ValetLockState
internal import ValetSealing
internal import ValetSystem

/// spec/keys-and-states.md §5, §6.
extension ItemStore {
    static let unlocking = "unlock the keychain"
    static let locking = "lock the keychain"

    /// Unlocks the keychain for every process that shares its lock state.
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
        let moment = try engine.moment(of: facts, Deadline(after: timeLimit))
        let protector = try engine.protector(of: facts, passcode, Self.unlocking, timeLimit)
        let deadline = Deadline(after: timeLimit)
        let limits = UnlockLimits(
            end: duration.map { BootTime.now.advanced(by: $0) }, idle: idle)
        let isPublished = try engine.wrongPasscodes.counting { () throws(KeychainFailure) in
            try engine.publish(
                facts, openedBy: protector, within: limits, since: moment, deadline)
        }
        if isPublished { _ = try? engine.finishEpochChange(before: deadline) }
        return isPublished
    }

    /// Locks the keychain for every process that shares its lock state.
    ///
    /// - Parameters:
    ///   - all: Also takes the keys that stay from the first unlock on, as a reboot does.
    ///   - waiting: Waits for the write that is under way: after that none is made any more.
    ///   - isSweeping: Whether all keychains of the user are locked where the files cannot be read
    ///     and nothing tells which one it is.
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain, `passcodeNotSet` if
    ///   it cannot be locked, unless all keys are to go; `timedOut`, `inputOutput`. What keeps its
    ///   files from being read is thrown after the opened keys were taken away.
    package func lock(
        all: Bool = false, waiting: Bool = false, orEveryKeychain isSweeping: Bool = false
    ) throws(KeychainFailure) {
        let known = lastKnownKeychainID
        var isRead = false
        do throws(KeychainFailure) {
            try lock(all: all, waiting: waiting, &isRead)
        } catch {
            guard !isRead, known != nil || error.code != .itemNotFound else { throw error }
            throw lockUnread(known, all: all, orEveryKeychain: isSweeping, because: error)
        }
    }

    /// - Parameter isRead: Is set once it is known which keychain it is.
    private func lock(
        all: Bool, waiting: Bool, _ isRead: inout Bool
    ) throws(KeychainFailure) {
        try withEngine(Self.locking) { (engine) throws(KeychainFailure) in
            let deadline = Deadline(after: timeLimit)
            let facts = try engine.readFacts(Self.locking, deadline)
            isRead = true
            guard let lockState = facts.lockState else {
                // What a TPM released is forgotten: it has to be asked again.
                if facts.isBoundToTPM, all {
                    try translating(Self.locking) { try facts.sharedLockState.lock(all: true) }
                }
                // As before a log-out, where it does not matter what was open: §5.
                guard !all else { return }
                throw KeychainFailure(
                    .passcodeNotSet, during: Self.locking,
                    message: "a keychain without a passcode is always open",
                    hint: "set one with `valet passcode set`")
            }
            defer { engine.announceLockState() }
            try translating(Self.locking) { try lockState.lock(all: all) }
            _ = engine.reading(facts, of: lockState)
            if waiting { try awaitWriters(engine, deadline) }
        }
    }

    private func awaitWriters(
        _ engine: Engine, _ deadline: Deadline
    ) throws(KeychainFailure) {
        do throws(KeychainFailure) {
            try engine.awaitWriters(deadline)
        } catch {
            guard error.code == .timedOut else { throw error }
            throw KeychainFailure(
                .timedOut, during: "wait for the write that is under way",
                message: "it has not ended in time; the keychain is locked", path: error.path,
                hint: error.hint)
        }
    }

    /// Why keys that this process has put in the place of others are no longer shared, so that
    /// other processes have to unlock again; nil if they are, or there are none.
    package func reasonKeysAreNotShared() -> String? {
        lastKnownKeychainID.flatMap { LockStates.store(of: $0, at: location).fallback }
            .map { "\($0)" }
    }

    /// Takes the opened keys away from everybody though the keychain's files cannot be read: who
    /// locks does not care why.
    ///
    /// - Parameter known: The keychain, if this process has read of it before.
    /// - Returns: `failure`, and what was done.
    private func lockUnread(
        _ known: KeychainID?, all: Bool, orEveryKeychain isSweeping: Bool,
        because failure: KeychainFailure
    ) -> KeychainFailure {
        do throws(LockStateError) {
            defer { announceLockState() }
            let locked = try LockStates.lock(
                known ?? deviceKeyOwner, at: location, all: all, orEveryKeychain: isSweeping)
            let words =
                switch locked {
                case .one: "its opened keys were taken away all the same"
                case .every: "the opened keys of all keychains of this user were taken away"
                case .none: "whether it has opened keys is not known: `valet lock` takes all away"
                }
            return KeychainFailure(failure, adding: words)
        } catch {
            return KeychainFailure(
                failure, adding: "its opened keys could not be taken away: \(error)")
        }
    }

    /// Tells those that watch the keychain of a lock, where its database cannot be opened.
    private func announceLockState() {
        let folder = try? PrivateDirectory.open(location.folder, creating: false)
        try? folder?.touch(KeychainLocation.stateName)
        LockStateWatch.wakeAll()
    }

    /// The keychain that the device key names; nil if that cannot be read, or names none.
    private var deviceKeyOwner: KeychainID? {
        let source = DeviceSecretSource(location: location)
        do throws(KeychainFailure) {
            return try source.given(by: source.preferred).keychainID
        } catch {
            return nil
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
        // Another program that changes the keys each time is not waited for.
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
