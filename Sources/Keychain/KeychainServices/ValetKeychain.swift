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
}

extension ValetKeychain {
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

    /// The update as this task sees it: a test may have scripted another state.
    func scripted(_ update: AvailabilityUpdates.Element) -> AvailabilityUpdates.Element {
        script?.changed(update, in: self) ?? update
    }
}
