// SPDX-License-Identifier: Apache-2.0

// What an epoch change is asked for, what it is made of, and what it leaves to be finished.

package import ValetKeybag
package import ValetKeychainModel
package import ValetKeychainRows
package import ValetLockState
internal import ValetSealing
internal import ValetSecretMemory
package import ValetTPM

/// How a change of keys goes about it.
package struct EpochOptions {
    /// Is told how many of how many rows have been sealed anew.
    package typealias Progress = (_ count: Int, _ total: Int) -> Void

    /// Whether damaged rows are set aside, where else nothing is changed.
    package var skipsDamaged: Bool
    /// Is told how far it has come.
    package var progress: Progress

    /// - Parameters:
    ///   - skipsDamaged: Whether damaged rows are set aside, where else nothing is changed.
    ///   - progress: Is told how far it has come.
    package init(
        skippingDamaged skipsDamaged: Bool = false, progress: @escaping Progress = { _, _ in }
    ) {
        self.skipsDamaged = skipsDamaged
        self.progress = progress
    }
}

/// What is wanted of the next epoch.
package struct NextEpoch {
    /// Nil for none.
    let passcode: KeychainPasscode?
    /// How much work it is to be to try the passcode.
    let stretching: PasscodeStretching
    /// Whether the recovery key is to open it, too.
    package var keepsRecoveryKey = true
    /// Whether to unlock a locked keychain: only where a passcode is set.
    package var unlocks = true
    /// Where its device secret is to come from; nil leaves it where it is.
    package var source: DeviceKeySource?
    /// Which registers of a TPM its device secret is bound to; nil for those that the last is.
    package var registers: PCRSelection?
    /// How long to wait for a TPM, each time.
    var patience = Duration.seconds(5)

    /// An epoch like the last one, with that passcode.
    package init(
        passcode: KeychainPasscode?, stretching: PasscodeStretching,
        patience: Duration = .seconds(5)
    ) {
        self.passcode = passcode
        self.stretching = stretching
        self.patience = patience
    }
}

/// What opens a keychain whose keys are to be changed.
package enum KeychainOpener: ~Copyable {
    case protector(Protector)
    case recovery(RecoveryProtector)
}

/// What the next epoch of a keychain is to be like.
package struct EpochChange: ~Copyable {
    /// What opens the epoch that there is.
    let opener: KeychainOpener
    /// What is to open the next.
    package let protector: Protector
    /// Where the device secret of `protector` comes from.
    let deviceSource: DeviceKeySource
    /// The device key that is to be written first, if it is new and ours.
    let deviceKey: DeviceKeyFile?
    /// Whether the recovery key is to open the next epoch, too.
    let keepsRecoveryKey: Bool
    /// Whether it unlocks a locked keychain.
    let unlocks: Bool
    /// From before the passcode was checked: a lock that came since holds.
    package var moment: LockMoment?

    /// The keybags after the change: of the next epoch, and of the one before it.
    ///
    /// - Throws: As ``LockedKeybag/unlock(with:settings:)``; `malformed` after the last epoch that
    ///   a database can name.
    package func keybags(after facts: KeychainHeader) throws(KeybagError) -> KeychainHeader {
        var settings = facts.settings
        settings.stamp = .random(in: .min ... .max)
        let recovery = keepsRecoveryKey ? try facts.newest.recoveryPublicKey : nil
        settings.epoch = Epoch(facts.newest.epoch.rawValue + 1)
        let newest = try LockedKeybag(
            succeeding: facts.newest, recovery: recovery, deviceSource: deviceSource,
            protector: protector, settings: settings.authenticatedBytes(of: settings.epoch))
        return KeychainHeader(
            settings, newest: newest, older: try rewrapped(facts.newest, facts.settings, recovery),
            at: facts.location)
    }

    /// The keybags with which rows go from the oldest of three epochs straight to `next`; nil if
    /// `facts` are of one epoch. They are in no database.
    ///
    /// - Throws: As ``keybags(after:)``.
    func keybagsOfOldest(
        of facts: KeychainHeader, before next: LockedKeybag
    ) throws(KeybagError) -> KeychainHeader? {
        guard let oldest = facts.older else { return nil }
        return KeychainHeader(
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

/// An epoch change that was begun, with what the rest of it takes. It lives as long as the
/// call that began it: docs/FORMAT.md §4.7.
package struct BegunEpoch {
    /// The opened keys of both epochs: the keychain may be locked.
    package let keys: OpenKeys
    /// What opens values that take a person; nil without a passcode.
    package let proof: PresenceProof?
}
