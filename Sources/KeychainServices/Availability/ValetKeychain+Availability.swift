// SPDX-License-Identifier: Apache-2.0

public import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory

/// Locking, for applications: beside the calls for items, on Linux only.
///
/// All of this is about the keychain of this process. It may be used from every thread and task.
extension ValetKeychain {
    /// How far the keychain can be used now. Creates nothing and prompts nobody.
    ///
    /// Costs some ten microseconds once the keychain was used.
    /// - Throws: ``KeychainModel/KeychainFailure`` if it cannot be found out: `timedOut` while
    ///   others keep the keychain busy, `keychainDamaged`, `newerFormat`, `insecureFiles`,
    ///   `noHome`, `inputOutput`.
    public static var lockState: LockState {
        get throws(KeychainFailure) { try KeychainSession.current().lockState() }
    }

    /// The protection level that is recorded in the keychain; nil while there is none.
    ///
    /// Costs what ``lockState`` does.
    /// - Throws: As ``lockState``.
    public static var protectionLevel: ProtectionLevel? {
        get throws(KeychainFailure) { try KeychainSession.current().protectionLevel() }
    }

    /// Has every call of this process that reads, finds, writes or deletes items fail with
    /// `insufficientProtection` (errSecNotAvailable) while the keychain's level is below `level`,
    /// and has none made below it.
    ///
    /// To be called before the first use; what is required can be raised later, and not lowered: a
    /// lower `level` changes nothing. Asking for state and level, locking and unlocking still work.
    /// A child of `fork` requires what its parent does.
    public static func requireProtectionLevel(_ level: ProtectionLevel) {
        RequiredLevel.raise(to: level)
    }

    /// The lock state now, and then each time that it has changed, in whatever process.
    ///
    /// Can be read by many tasks at once, each as often as it likes. See ``LockStateChanges``.
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
            try script == nil ? store.protectionLevel() : availability().level
        }
    }

    private func availability() throws(KeychainFailure) -> KeychainAvailability {
        guard let script else { return try store.availability() }
        return try script.look(in: self)
    }

    /// What an update says to this task: a test may have scripted something else.
    func scripted(_ update: AvailabilityUpdates.Element) -> AvailabilityUpdates.Element {
        script?.changed(update, in: self) ?? update
    }

    /// Has every watcher of a keychain look again: a script says something new.
    package static func scriptHasChanged() {
        AvailabilityWatcher.current.value.tellAgain()
    }
}
