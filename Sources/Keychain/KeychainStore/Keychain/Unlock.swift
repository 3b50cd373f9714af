// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeys
internal import ValetSealing
internal import ValetSystem

/// Unlocking and locking: spec/keys-and-states.md §5, §6.
extension Keychain {
    static let unlocking = "unlock the keychain"
    static let locking = "lock the keychain"

    /// Unlocks the keychain for every process that shares its lock state.
    ///
    /// Does nothing for a keychain without a passcode.
    ///
    /// - Parameters:
    ///   - duration: The time after which it locks even if it is in use; nil for no limit.
    ///   - idle: The time without use after which it locks; nil for no limit. Both limits replace
    ///     those of a keychain that is already unlocked.
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain,
    ///   `authenticationFailed` for a wrong passcode, `incomplete`, `keyUnavailable`, `timedOut`.
    package func unlock(
        _ passcode: Passcode, for duration: Duration? = nil, autoLock idle: Duration? = nil
    ) throws(KeychainFailure) {
        try store.changeKeys(Self.unlocking) {
            (keys, header) throws(KeychainFailure) -> PreparedUnlock? in
            guard header.lockState != nil else { return nil }
            let moment = try keys.moment(of: header)
            return PreparedUnlock(
                protector: try keys.protector(of: header, passcode), moment: moment)
        } _: { (keys, header, prepared) throws(KeychainFailure) -> Void? in
            // Without a passcode, nothing is locked.
            guard let prepared else { return () }
            let limits = UnlockLimits(
                end: duration.map { BootTime.now.advanced(by: $0) }, idle: idle)
            let isPublished = try keys.countingWrongPasscodes { () throws(KeychainFailure) in
                try keys.publish(
                    header, openedBy: prepared.protector, within: limits, since: prepared.moment)
            }
            return isPublished ? () : nil
        }
    }

    private struct PreparedUnlock: ~Copyable {
        let protector: Protector
        /// A moment before the passcode was checked: a lock since then wins.
        let moment: LockMoment
    }

    /// Unlocks the keychain for this process alone, wherever opened keys are kept otherwise.
    ///
    /// - Throws: Like ``unlock(_:for:autoLock:)``; ``KeychainFailure/Code/timedOut`` if another
    ///   thread is using the keychain.
    package func unlockForThisProcess(_ passcode: Passcode) throws(KeychainFailure) {
        LockStates.keepInThisProcess()
        // An open keychain keeps the lock state that it was opened with.
        guard ItemStore.closeAll().isClosed else {
            throw ItemStore.stillInUse("unlock the keychain")
        }
        try unlock(passcode)
    }

    /// Locks the keychain for every process that shares its lock state.
    ///
    /// - Parameters:
    ///   - all: Whether to remove also the keys that stay open from the first unlock on, as a
    ///     restart does.
    ///   - waiting: Whether to wait until the running write has ended. After that, no write with
    ///     the locked keys can happen.
    ///   - isSweeping: Whether to lock all keychains of the user if the files are damaged or
    ///     missing and no opened keys of this keychain can be found.
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain, `passcodeNotSet` for
    ///   a keychain without a passcode, unless `all` is set; `timedOut`, `inputOutput`. If the
    ///   files cannot be read, this first removes the opened keys, and then throws the reason.
    package func lock(
        all: Bool = false, waiting: Bool = false, orEveryKeychain isSweeping: Bool = false
    ) throws(KeychainFailure) {
        let known = lastKnownID
        var isRead = false
        do {
            try lock(all: all, waiting: waiting, &isRead)
        } catch {
            guard !isRead, known != nil || error.code != .itemNotFound else { throw error }
            let failure = lockUnread(
                known, all: all, orEveryKeychain: isSweeping && error.isOfFiles, because: error)
            // After a momentary error the next look succeeds. For a timeout no time is left.
            guard !error.isOfFiles, error.code != .timedOut else { throw failure }
            do throws(KeychainFailure) {
                try lock(all: all, waiting: waiting, &isRead)
            } catch {
                throw isRead ? error : failure
            }
        }
    }

    /// - Parameter isRead: Becomes true once the keychain's id is known.
    private func lock(
        all: Bool, waiting: Bool, _ isRead: inout Bool
    ) throws(KeychainFailure) {
        try store.workOnKeys(Self.locking, checkingSettings: false) {
            (keys) throws(KeychainFailure) in
            let deadline = keys.deadline
            let header = try keys.keychain.readHeader(deadline, for: Self.locking)
            isRead = true
            guard let lockState = header.lockState else {
                // Drops the secret that the TPM released, so that the next use asks the TPM again.
                if header.isBoundToTPM, all { try header.openedKeys.lock(all: true) }
                // A lock of all keys, as at a log-out, succeeds whatever was open:
                // spec/keys-and-states.md §5.
                guard !all else { return }
                throw KeychainFailure(
                    .passcodeNotSet, during: Self.locking,
                    message: "a keychain without a passcode is always open",
                    hint: "set one with `valet passcode set`")
            }
            defer { keys.keychain.announceLockState() }
            try lockState.lock(all: all)
            _ = keys.keychain.lockStatus(header, of: lockState)
            if waiting { try awaitWriters(keys.keychain.pool, deadline) }
        }
    }

    private func awaitWriters(
        _ pool: ConnectionPool, _ deadline: Deadline
    ) throws(KeychainFailure) {
        do {
            try pool.awaitWriters(deadline)
        } catch {
            let failure = KeychainFailure(error, during: Self.locking)
            let cause = failure.code == .timedOut ? "it has not ended in time" : failure.message
            throw KeychainFailure(
                KeychainFailure(
                    .timedOut, during: "wait for the write in progress",
                    message: "\(cause); the keychain is locked", path: failure.path),
                advice: failure.advice)
        }
    }

    /// Why programs that had the keychain unlocked have to unlock it again, since this process has
    /// changed its keys; nil if they need not.
    package func reasonOthersAreLocked() -> String? {
        lastKnownID.flatMap {
            LockStates.store(of: $0, at: store.location).reasonOthersAreLocked?.message
        }
    }

    /// Removes the opened keys for all processes although the keychain's files cannot be read: a
    /// lock must work in spite of that.
    ///
    /// - Parameter known: The id of the keychain, if this process has read it before.
    /// - Returns: `failure`, with the result of the removal added.
    private func lockUnread(
        _ known: KeychainID?, all: Bool, orEveryKeychain isSweeping: Bool,
        because failure: KeychainFailure
    ) -> KeychainFailure {
        do {
            defer { announceLockState() }
            let isOfEvery = try LockStates.lock(
                known ?? deviceKeyOwner, at: store.location, all: all, orEveryKeychain: isSweeping)
            let words =
                isOfEvery
                ? "the opened keys of all keychains of this user were removed"
                : "its opened keys were removed nevertheless"
            return KeychainFailure(failure, adding: words)
        } catch {
            return KeychainFailure(
                failure, adding: "its opened keys could not be removed: \(error)")
        }
    }

    /// Announces a lock to the keychain's watchers although its database cannot be opened.
    private func announceLockState() {
        let folder = try? PrivateDirectory.open(store.location.folder, creating: false)
        try? folder?.touch(KeychainFile.state)
        KeychainWatch.wakeAll()
    }

    /// The keychain that the device key names; nil if the key cannot be read or names none.
    private var deviceKeyOwner: KeychainID? {
        let source = DeviceSecretSource(location: store.location)
        do {
            return try source.given(by: source.preferred()).keychainID
        } catch {
            return nil
        }
    }
}

extension KeychainFailure {
    /// Whether files of the keychain are missing or damaged, or must not be used. Other failures
    /// may last for a moment only.
    fileprivate var isOfFiles: Bool {
        // The process that has the log open puts it back.
        guard cause != .unmatchedLog else { return false }
        return switch code {
        case .itemNotFound, .incomplete, .keychainDamaged, .newerFormat, .insecureFiles,
            .unsupportedFileSystem:
            true
        default: false
        }
    }
}
