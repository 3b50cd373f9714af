// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetLockState
internal import ValetSealing
internal import ValetSecretMemory

/// What opens a keychain whose keys are to be changed.
enum KeychainOpener: ~Copyable {
    case protector(Protector)
    case recovery(RecoveryProtector)
}

/// What the next epoch of a keychain is to be like.
struct EpochChange: ~Copyable {
    /// What opens the epoch that there is.
    let opener: KeychainOpener
    /// What is to open the next.
    let protector: Protector
    /// Where the device secret of `protector` comes from.
    let deviceSource: DeviceKeySource
    /// The device key that is to be written first, if it is new and ours.
    let deviceKey: DeviceKeyFile?
    /// Whether the recovery key is to open the next epoch, too.
    let keepsRecoveryKey: Bool
    /// Whether it unlocks a locked keychain.
    let unlocks: Bool
    /// From before the passcode was checked: a lock that came since holds.
    var moment: LockMoment?

    /// The keybags after the change: of the next epoch, and of the one that gives way.
    ///
    /// - Throws: As ``LockedKeybag/unlock(with:settings:)``; `malformed` after the last epoch that
    ///   a database can name.
    func keybags(after facts: KeychainFacts) throws(KeybagError) -> KeychainFacts {
        var settings = facts.settings
        settings.stamp = .random(in: .min ... .max)
        let recovery = keepsRecoveryKey ? try facts.newest.recoveryPublicKey : nil
        settings.epoch = Epoch(facts.newest.epoch.rawValue + 1)
        let newest = try LockedKeybag(
            succeeding: facts.newest, recovery: recovery, deviceSource: deviceSource,
            protector: protector, settings: settings.authenticatedBytes(of: settings.epoch))
        return KeychainFacts(
            settings, newest: newest, older: try rewrapped(facts.newest, facts.settings, recovery),
            at: facts.location)
    }

    /// The keybags with which rows go from the oldest of three epochs straight to `next`; nil if
    /// `facts` are of one epoch. They are in no database.
    ///
    /// - Throws: As ``keybags(after:)``.
    func keybagsOfOldest(
        of facts: KeychainFacts, before next: LockedKeybag
    ) throws(KeybagError) -> KeychainFacts? {
        guard let oldest = facts.older else { return nil }
        return KeychainFacts(
            facts.settings, newest: next, older: try rewrapped(oldest, facts.settings, nil),
            at: facts.location)
    }

    /// A keybag behind the new protector.
    private func rewrapped(
        _ keybag: LockedKeybag, _ settings: KeychainSettings, _ recovery: PublicKey?
    ) throws(KeybagError) -> LockedKeybag {
        let place = KeybagPlace(deviceSource: deviceSource, recovery: recovery)
        let settings = settings.authenticatedBytes(of: keybag.epoch)
        switch opener {
        case .protector(let opener):
            return try LockedKeybag(
                rewrapping: keybag, openedBy: opener, as: place, protector: protector,
                settings: settings)
        case .recovery(let opener):
            return try LockedKeybag(
                rewrapping: keybag, recoveredBy: opener, as: place, protector: protector,
                settings: settings)
        }
    }
}
