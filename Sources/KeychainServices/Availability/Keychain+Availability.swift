// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import KeychainStore

/// Locking, for applications: beside the calls for items, on Linux only.
///
/// All of this is about the keychain of this process. It may be used from every thread and task.
extension Keychain {
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
        RequiredLevel.raise(to: level.known)
    }

    /// The lock state now, and then each time that it has changed, in whatever process.
    ///
    /// Can be read by many tasks at once, each as often as it likes. See ``LockStateChanges``.
    public static var lockStateChanges: LockStateChanges {
        LockStateChanges { () throws(KeychainFailure) in try KeychainSession.current() }
    }
}

extension KeychainSession {
    func lockState() throws(KeychainFailure) -> Keychain.LockState {
        try remembering { () throws(KeychainFailure) in
            Keychain.LockState(try store.availability().state)
        }
    }

    func protectionLevel() throws(KeychainFailure) -> Keychain.ProtectionLevel? {
        try remembering { () throws(KeychainFailure) in
            try store.protectionLevel().map(Keychain.ProtectionLevel.init)
        }
    }
}
