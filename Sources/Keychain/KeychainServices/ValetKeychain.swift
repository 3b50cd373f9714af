// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
public import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing

/// The keychain of this process: its identity, its lock state, its protection level.
///
/// All of this is for Linux only. Every thread and task may use it.
public enum ValetKeychain {
    /// How far the keychain can be used at one moment.
    public typealias LockState = ValetKeychainModel.LockState

    /// What a thief of the disk has to overcome. docs/THREAT-MODEL.md defines the levels.
    public typealias ProtectionLevel = ValetKeychainModel.ProtectionLevel

    /// Sets the identity of this application, in place of entitlements and the executable's name.
    ///
    /// Call it before the first use of the keychain. After that only a call with the identity in
    /// effect succeeds.
    ///
    /// - Parameters:
    ///   - applicationIdentifier: The name under which the application's items are kept.
    ///   - accessGroups: The groups that it shares with other applications; new items go to the
    ///     first. The group named like the application always comes last.
    /// - Throws: `invalidRequest` if a name is empty, or if the keychain is in use under another
    ///   identity.
    public static func configure(
        applicationIdentifier: String, accessGroups: [String] = []
    ) throws(KeychainFailure) {
        if applicationIdentifier.isEmpty || accessGroups.contains("") {
            throw KeychainFailure(
                .invalidRequest, during: "configure the keychain", message: "a name is empty")
        }
        let groups = Entitlements.ordered(accessGroups + [applicationIdentifier])
        try ApplicationIdentity.configure(applicationIdentifier, groups)
    }

    /// How far the keychain can be used now. Creates nothing and does not ask the user.
    ///
    /// Takes about ten microseconds once the keychain is in use.
    /// - Throws: ``ValetKeychainModel/KeychainFailure`` if the state cannot be read: `timedOut`
    ///   while other processes keep the keychain busy, `keychainDamaged`, `newerFormat`,
    ///   `insecureFiles`, `noHome`, `inputOutput`.
    public static var lockState: LockState {
        get throws(KeychainFailure) { try KeychainSession.current().lockState() }
    }

    /// The protection level that is recorded in the keychain; nil while there is no keychain.
    ///
    /// Takes as long as ``lockState``.
    /// - Throws: Like ``lockState``.
    public static var protectionLevel: ProtectionLevel? {
        get throws(KeychainFailure) { try KeychainSession.current().protectionLevel() }
    }

    /// Requires a protection level. While the keychain's level is below `level`, every call of this
    /// process that reads, finds, writes or deletes items fails with `insufficientProtection`
    /// (errSecNotAvailable), and no keychain is created.
    ///
    /// Call it before the first use. Later calls can raise the required level; a lower `level`
    /// changes nothing. Reading state and level, locking and unlocking still work. A child of
    /// `fork` requires what its parent does.
    public static func requireProtectionLevel(_ level: ProtectionLevel) {
        RequiredLevel.raise(to: level)
    }

    /// The lock state now, and then after each change by any process.
    ///
    /// Many tasks can read it at once, each as often as it likes. See ``LockStateChanges``.
    public static var lockStateChanges: LockStateChanges {
        LockStateChanges { () throws(KeychainFailure) in try KeychainSession.current() }
    }
}

extension KeychainSession {
    func lockState() throws(KeychainFailure) -> ValetKeychain.LockState {
        try remembering { () throws(KeychainFailure) in
            try availability().state
        }
    }

    func protectionLevel() throws(KeychainFailure) -> ValetKeychain.ProtectionLevel? {
        try remembering { () throws(KeychainFailure) in
            try script == nil ? store.keychain.protectionLevel() : availability().level
        }
    }

    private func availability() throws(KeychainFailure) -> KeychainAvailability {
        guard let script else { return try store.keychain.availability() }
        return try script.look(in: self)
    }

    func scripted(_ update: AvailabilityUpdates.Element) -> AvailabilityUpdates.Element {
        script?.changed(update, in: self) ?? update
    }
}

extension ValetKeychain {
    /// Unlocks the keychain with its passcode, for every process of the user. In services, and
    /// where the kernel refuses keyrings, it unlocks the keychain only for this process.
    ///
    /// Blocks while it stretches the passcode (about a quarter of a second and up to 256 MiB), and
    /// waits five seconds at most for a lock. Does nothing if the keychain has no passcode.
    ///
    /// - Parameters:
    ///   - passcode: The typed text: 1 to 1,024 bytes of UTF-8, without the end of the line. The
    ///     call copies them to guarded memory and wipes the copy; wiping yours is up to you.
    ///   - duration: How long the keychain stays unlocked, regardless of use; nil: until it is
    ///     locked.
    ///   - autoLock: The time without use after which the keychain locks; nil for never. A use is a
    ///     call, by any process that shares the state, that needs an item of the accessibilities
    ///     `whenUnlocked…` or `whenPasscodeSet…`; reading the state is not a use. The keychain may
    ///     lock up to an eighth of that time early: docs/decisions/0020-auto-lock.md.
    /// - Throws: ``ValetKeychainModel/KeychainFailure``: `authenticationFailed` for a wrong
    ///   passcode, `itemNotFound` if there is no keychain, `invalidRequest` for no bytes or too
    ///   many, `keyUnavailable`, `incomplete`, `timedOut`, `outOfMemory`.
    public static func unlock(
        passcode: Span<UInt8>, for duration: Duration? = nil, autoLock: Duration? = nil
    ) throws(KeychainFailure) {
        let session = try KeychainSession.current()
        try session.unlock(
            Passcode(SecretBytes(copying: passcode)), for: duration, autoLock: autoLock)
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
        let passcode = try Passcode(typed)
        try await offloading { () throws(KeychainFailure) in
            try session.unlock(passcode, for: duration, autoLock: autoLock)
        }
    }

    /// Locks the keychain for all processes for which `unlock(passcode:)` unlocks it. Items of the
    /// accessibilities `afterFirstUnlock…` stay open.
    ///
    /// - Parameter all: Whether to close those items as well, as a restart of the machine does.
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
        _ passcode: Passcode, for duration: Duration?, autoLock: Duration? = nil
    ) throws(KeychainFailure) {
        try remembering { () throws(KeychainFailure) in
            try store.keychain.unlock(passcode, for: duration, autoLock: autoLock)
        }
    }

    func lock(all: Bool) throws(KeychainFailure) {
        try remembering { () throws(KeychainFailure) in try store.keychain.lock(all: all) }
    }
}
