// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
public import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing

// The calls with which an application unlocks and locks the keychain.

extension ValetKeychain {
    /// Unlocks the keychain with its passcode, for every process of the user. In services, and
    /// where the kernel refuses keyrings, it unlocks the keychain only for this process.
    ///
    /// Blocks while it stretches the passcode (about a quarter of a second and up to 256 MiB), and
    /// waits five seconds at most for a lock. Does nothing without a passcode.
    ///
    /// - Parameters:
    ///   - passcode: The typed bytes, UTF-8 without the end of the line, 1 to 1,024. The call
    ///     copies them to guarded memory and wipes the copy; wiping yours is up to you.
    ///   - duration: How long the keychain stays unlocked, regardless of use; nil: until it is
    ///     locked.
    ///   - autoLock: The time without use after which it locks; nil for never. A use is a call, of
    ///     any process that shares the state, that needs an item of the accessibilities
    ///     `whenUnlocked…` or `whenPasscodeSet…`; reading the state is not a use. It may lock up to
    ///     an eighth of that time early: docs/decisions/0020-auto-lock.md.
    /// - Throws: ``ValetKeychainModel/KeychainFailure``: `authenticationFailed` for a wrong
    ///   passcode, `itemNotFound` if there is no keychain, `invalidRequest` for no bytes or too
    ///   many, `keyUnavailable`, `incomplete`, `timedOut`, `outOfMemory`.
    public static func unlock(
        passcode: Span<UInt8>, for duration: Duration? = nil, autoLock: Duration? = nil
    ) throws(KeychainFailure) {
        let session = try KeychainSession.current()
        try session.unlock(
            KeychainPasscode(SecretBytes(copying: passcode)), for: duration, autoLock: autoLock)
    }

    /// Unlocks the keychain like the blocking call of that name, on a thread that blocks neither
    /// the caller's executor nor the cooperative thread pool. Cancelling the task does not stop it.
    ///
    /// - Parameter passcode: The array is wiped if it is the only copy: hand it over with
    ///   `consume`.
    public static func unlock(
        passcode: consuming [UInt8], for duration: Duration? = nil, autoLock: Duration? = nil
    ) async throws(KeychainFailure) {
        let typed = SecretBytes(takingOver: passcode)
        let session = try KeychainSession.current()
        let passcode = try KeychainPasscode(typed)
        try await offloading { () throws(KeychainFailure) in
            try session.unlock(passcode, for: duration, autoLock: autoLock)
        }
    }

    /// Locks the keychain for all processes for which `unlock(passcode:)` unlocks it. Items of the
    /// accessibilities `afterFirstUnlock…` stay open.
    ///
    /// - Parameter all: Whether to close these as well, like a restart of the machine.
    /// - Throws: ``ValetKeychainModel/KeychainFailure``: `passcodeNotSet` if it cannot be locked,
    ///   `itemNotFound` if there is no keychain, `inputOutput` if other processes may still have
    ///   the keys. If the keychain's files cannot be read, it first removes the keys, and then
    ///   throws the reason.
    public static func lock(all: Bool = false) throws(KeychainFailure) {
        try KeychainSession.current().lock(all: all)
    }
}

extension KeychainSession {
    func unlock(
        _ passcode: KeychainPasscode, for duration: Duration?, autoLock: Duration? = nil
    ) throws(KeychainFailure) {
        try remembering { () throws(KeychainFailure) in
            try store.keychain.unlock(passcode, for: duration, autoLock: autoLock)
        }
    }

    func lock(all: Bool) throws(KeychainFailure) {
        try remembering { () throws(KeychainFailure) in try store.keychain.lock(all: all) }
    }
}
