// SPDX-License-Identifier: Apache-2.0

internal import Foundation
public import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory

extension ValetKeychain {
    /// Unlocks the keychain with its passcode: for every process of the user, or, where the lock
    /// state is that of each process (services, and where the kernel refuses keys), for this one.
    ///
    /// Blocks for as long as it takes to stretch the passcode (about a quarter of a second, and up
    /// to 256 MiB), and five seconds at most for others. Does nothing without a passcode.
    ///
    /// - Parameters:
    ///   - passcode: The bytes that were typed, UTF-8 without the end of the line, 1 to 1,024. They
    ///     are copied to guarded memory, and wiped there; your own are yours to wipe.
    ///   - duration: How long the keychain stays unlocked, however much it is used; nil for until
    ///     it is locked.
    ///   - autoLock: After how long without use it locks itself; nil for never. A use is a call, of
    ///     any process that shares the state, that needs an item of the accessibilities
    ///     `whenUnlocked…` or `whenPasscodeSet…`; asking for the state is none. It may lock up to
    ///     an eighth of that time early: docs/decisions/0020-auto-lock.md.
    /// - Throws: ``KeychainModel/KeychainFailure``: `authenticationFailed` for a wrong passcode,
    ///   `itemNotFound` if there is no keychain, `invalidRequest` for no bytes or too many,
    ///   `keyUnavailable`, `incomplete`, `timedOut`, `outOfMemory`.
    public static func unlock(
        passcode: Span<UInt8>, for duration: Duration? = nil, autoLock: Duration? = nil
    ) throws(KeychainFailure) {
        try KeychainSession.current().unlock(
            SecretBytes(copying: passcode), for: duration, autoLock: autoLock)
    }

    /// As the call of that name which blocks, on a thread of its own: neither the caller's executor
    /// nor the cooperative thread pool is kept busy. Cancelling the task does not stop it.
    ///
    /// - Parameter passcode: Is wiped, if nobody else has a copy: hand it over with `consume`.
    public static func unlock(
        passcode: consuming [UInt8], for duration: Duration? = nil, autoLock: Duration? = nil
    ) async throws(KeychainFailure) {
        let typed = SecretBytes(takingOver: passcode)
        let session = try KeychainSession.current()
        let passcode = try KeychainPasscode(typed)
        try await onThread { () throws(KeychainFailure) in
            try session.unlock(passcode, for: duration, autoLock: autoLock)
        }
    }

    /// Locks the keychain for everybody for whom `unlock(passcode:)` unlocks it.
    /// Items of the accessibilities `afterFirstUnlock…` stay open.
    ///
    /// - Parameter all: Whether to close these as well, as a start of the machine does.
    /// - Throws: ``KeychainModel/KeychainFailure``: `passcodeNotSet` if it cannot be locked,
    ///   `itemNotFound` if there is no keychain, `inputOutput`: others may have the keys still.
    ///   What keeps the keychain's files from being read is thrown after the keys were taken away.
    public static func lock(all: Bool = false) throws(KeychainFailure) {
        try KeychainSession.current().lock(all: all)
    }
}

extension KeychainSession {
    func unlock(
        _ typed: consuming SecretBytes, for duration: Duration?, autoLock: Duration? = nil
    ) throws(KeychainFailure) {
        try unlock(KeychainPasscode(typed), for: duration, autoLock: autoLock)
    }

    func unlock(
        _ passcode: KeychainPasscode, for duration: Duration?, autoLock: Duration? = nil
    ) throws(KeychainFailure) {
        try remembering { () throws(KeychainFailure) in
            try store.unlock(passcode, for: duration, autoLock: autoLock)
        }
    }

    func lock(all: Bool) throws(KeychainFailure) {
        try remembering { () throws(KeychainFailure) in try store.lock(all: all) }
    }

    /// Unlocks with what `$VALET_PASSCODE_FD` gives, if that was not tried yet.
    func unlockWithGivenPasscode() async throws(KeychainFailure) {
        guard GivenPasscode.isThere else { return }
        try await onThread { () throws(KeychainFailure) in
            _ = try GivenPasscode.current.value.unlock(store)
        }
    }
}

/// Runs `body`, which blocks, on a thread of its own.
func onThread(
    _ body: @escaping @Sendable () throws(KeychainFailure) -> Void
) async throws(KeychainFailure) {
    let result = await withCheckedContinuation {
        (continuation: CheckedContinuation<Result<Void, KeychainFailure>, Never>) in
        Thread.detachNewThread {
            continuation.resume(returning: Result { () throws(KeychainFailure) in try body() })
        }
    }
    try result.get()
}
