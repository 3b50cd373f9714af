// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
package import ValetKeychainKeys
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetLockState
internal import ValetSealing
package import ValetSecretMemory
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
        try perform(.changeKeys, Self.unlocking) { keys, facts -> Void? in
            guard facts.lockState != nil else { return () }
            let moment = try keys.moment(of: facts)
            let protector = try keys.protector(of: facts, passcode)
            let deadline = keys.deadline
            let limits = UnlockLimits(
                end: duration.map { BootTime.now.advanced(by: $0) }, idle: idle)
            let isPublished = try keys.countingWrongPasscodes {
                try keys.publish(
                    facts, openedBy: protector, within: limits, since: moment, deadline)
            }
            guard isPublished else { return nil }
            _ = try? EpochFinisher(keychain: keys.keychain).finish(before: deadline)
            return ()
        }
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
        try perform(.lock, Self.locking) { keys in
            let deadline = keys.deadline
            let facts = try keys.keychain.readFacts(deadline)
            isRead = true
            guard let lockState = facts.lockState else {
                // The TPM's secret is forgotten, so that the next use asks the TPM again.
                if facts.isBoundToTPM, all { try facts.sharedLockState.lock(all: true) }
                // At a log-out it does not matter what was open: spec/keys-and-states.md §5.
                guard !all else { return }
                throw KeychainFailure(
                    .passcodeNotSet, during: Self.locking,
                    message: "a keychain without a passcode is always open",
                    hint: "set one with `valet passcode set`")
            }
            defer { keys.keychain.announceLockState() }
            try lockState.lock(all: all)
            _ = keys.keychain.lockReading(facts, of: lockState)
            if waiting { try awaitWriters(keys.keychain.pool, deadline) }
        }
    }

    private func awaitWriters(
        _ pool: ConnectionPool, _ deadline: Deadline
    ) throws(KeychainFailure) {
        do throws(SystemError) {
            try pool.awaitWriters(deadline)
        } catch {
            let failure = KeychainFailure(error, during: Self.locking)
            guard failure.code == .timedOut else { throw failure }
            throw KeychainFailure(
                .timedOut, during: "wait for the write that is under way",
                message: "it has not ended in time; the keychain is locked", path: failure.path,
                hint: failure.hint)
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
        try? folder?.touch(KeychainFile.state)
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
}

/// Answers that a command needs before it asks a person for more.
extension ItemStore {
    /// Makes sure that there is a keychain, and its device key.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain, `incomplete` and
    ///   `keyUnavailable` if its device key is not there, and what keeps it from being read.
    package func checkDeviceKey() throws(KeychainFailure) {
        try perform(.keys, "open the keychain") { keys in
            _ = try keys.source.secret(of: keys.facts(), until: keys.deadline)
        }
    }

    /// Makes sure that a passcode is the one that is set; changes and publishes nothing. Takes as
    /// long as the passcode is stretched.
    ///
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a wrong one, `passcodeNotSet`,
    ///   `itemNotFound`, `incomplete`, `keyUnavailable`.
    package func check(_ passcode: KeychainPasscode) throws(KeychainFailure) {
        let operation = "check the passcode"
        try perform(.keys, operation) { keys in
            let facts = try keys.facts()
            guard facts.lockState != nil else {
                throw KeychainFailure(
                    .passcodeNotSet, during: operation, message: "there is no passcode")
            }
            let protector = try keys.protector(of: facts, passcode)
            _ = try facts.unlock(with: protector).count
        }
    }

    /// Makes sure that a text is the keychain's recovery key; changes nothing.
    ///
    /// - Parameter text: What was typed from the paper.
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a text that is mistyped, for the
    ///   key of another keychain, and if there is no recovery key; `itemNotFound`.
    package func checkRecoveryKey(_ text: borrowing SecretBytes) throws(KeychainFailure) {
        let operation = "check the recovery key"
        let publicKey: PublicKey
        do throws(KeybagError) {
            publicKey = try text.withBytes { bytes throws(KeybagError) in
                try RecoveryKey(parsing: bytes).publicKey
            }
        } catch {
            throw KeychainFailure(translating: error, during: operation)
        }
        try perform(.keys, operation) { keys in
            let known = try keys.facts().newest.recoveryPublicKey
            guard known == publicKey else {
                throw KeychainFailure(
                    .authenticationFailed, during: operation,
                    message: known == nil
                        ? "there is no recovery key" : "the recovery key is another one's")
            }
        }
    }

    /// How many items there are only while a passcode is set: those of its class, and those that
    /// need a person.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain.
    package func itemsThatNeedPasscode() throws(KeychainFailure) -> Int {
        try perform(.keys, "count items") { keys in
            try keys.rowCount(
                of: [RowKinds([.whenPasscodeSetThisDeviceOnly], needing: PresencePair.allCases)])
        }
    }
}
