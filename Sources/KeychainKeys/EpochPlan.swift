// SPDX-License-Identifier: Apache-2.0

// The values of an epoch change: its options, the wanted epoch, the prepared change, and the begun
// change that is left to finish. `KeyChange` makes the first two.

package import ValetKeybag
package import ValetKeychainModel
package import ValetKeychainRows
package import ValetLockState
internal import ValetSealing
internal import ValetSecretMemory
package import ValetTPM

/// The options of a change of keys.
package struct EpochOptions {
    /// Called with the number of rows sealed again, and the number of all rows.
    package typealias Progress = (_ count: Int, _ total: Int) -> Void

    /// Whether to set damaged rows aside. If false, a damaged row makes the change fail.
    package var skipsDamaged: Bool
    /// Called after each batch of rows.
    package var progress: Progress

    /// - Parameters:
    ///   - skipsDamaged: Whether to set damaged rows aside, instead of failing.
    ///   - progress: Called after each batch of rows.
    package init(
        skippingDamaged skipsDamaged: Bool = false, progress: @escaping Progress = { _, _ in }
    ) {
        self.skipsDamaged = skipsDamaged
        self.progress = progress
    }
}

/// The request for the next epoch.
package struct NextEpoch {
    /// The passcode; nil for none.
    let passcode: KeychainPasscode?
    /// The work that one try of the passcode costs.
    let stretching: PasscodeStretching
    /// Whether the recovery key also opens the next epoch.
    package var keepsRecoveryKey = true
    /// Whether to unlock a locked keychain. Has no effect without a passcode.
    package var unlocks = true
    /// The source of its device secret; nil keeps the present source.
    package var source: DeviceKeySource?
    /// The PCRs of a TPM that its device secret is bound to; nil for those of the present epoch.
    package var registers: PCRSelection?
    /// How long each call of the TPM may take.
    var patience = Duration.seconds(5)

    /// An epoch like the present one, with this passcode.
    package init(
        passcode: KeychainPasscode?, stretching: PasscodeStretching,
        patience: Duration = .seconds(5)
    ) {
        self.passcode = passcode
        self.stretching = stretching
        self.patience = patience
    }
}

/// The protector or recovery key that opens a keychain before a change of keys.
package enum KeychainOpener: ~Copyable {
    case protector(Protector)
    case recovery(RecoveryProtector)
}

/// A prepared epoch change: everything that is needed to begin it in one transaction.
package struct EpochPlan: ~Copyable {
    /// Opens the present epoch.
    let opener: KeychainOpener
    /// Will open the next epoch.
    package let protector: Protector
    /// Where the device secret of `protector` comes from.
    let deviceSource: DeviceKeySource
    /// The new device key, to be written first; nil if it does not come from `device.key`.
    let deviceKey: DeviceKeyFile?
    /// Whether the recovery key also opens the next epoch.
    let keepsRecoveryKey: Bool
    /// Whether the change unlocks a locked keychain.
    let unlocks: Bool
    /// A moment before the passcode was checked: a lock since then wins.
    package var moment: LockMoment?

    /// The header after the change: the keybag of the next epoch, and that of the present one
    /// wrapped for the new protector.
    ///
    /// - Throws: As ``LockedKeybag/unlock(with:settings:)``; `malformed` if the epoch number would
    ///   exceed what a database can store.
    package func keybags(after header: KeychainHeader) throws(KeybagError) -> KeychainHeader {
        var settings = header.settings
        settings.stamp = .random(in: .min ... .max)
        settings.epoch = Epoch(header.newest.epoch.rawValue + 1)
        let place = KeybagPlace(
            deviceSource: deviceSource,
            recovery: keepsRecoveryKey ? try header.newest.recoveryPublicKey : nil)
        // Checks the MAC of the present keybag, on which the next one relies.
        let older = try rewrapped(header.newest, header.settings, as: place)
        return KeychainHeader(
            settings, newest: try successor(of: header.newest, settings, as: place),
            older: older, at: header.location)
    }

    /// The keybag of the next epoch.
    private func successor(
        of keybag: LockedKeybag, _ settings: KeychainSettings, as place: KeybagPlace
    ) throws(KeybagError) -> LockedKeybag {
        let settings = settings.authenticatedBytes(of: settings.epoch)
        switch opener {
        case .protector(let opener):
            return try LockedKeybag(
                succeeding: keybag, openedBy: opener, as: place, protector: protector,
                settings: settings)
        case .recovery(let opener):
            return try LockedKeybag(
                succeeding: keybag, recoveredBy: opener, as: place, protector: protector,
                settings: settings)
        }
    }

    /// The header with which rows move from the oldest of three epochs straight to `next`; nil if
    /// `header` has only one epoch. No database ever contains it.
    ///
    /// - Throws: As ``keybags(after:)``.
    func keybagsOfOldest(
        of header: KeychainHeader, before next: LockedKeybag
    ) throws(KeybagError) -> KeychainHeader? {
        guard let oldest = header.older else { return nil }
        let place = KeybagPlace(deviceSource: deviceSource, recovery: nil)
        return KeychainHeader(
            header.settings, newest: next,
            older: try rewrapped(oldest, header.settings, as: place), at: header.location)
    }

    /// The keybag with its root key wrapped for the new protector.
    private func rewrapped(
        _ keybag: LockedKeybag, _ settings: KeychainSettings, as place: KeybagPlace
    ) throws(KeybagError) -> LockedKeybag {
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

/// A begun epoch change, with the keys to finish it. It lives as long as the call that began it:
/// docs/FORMAT.md §4.7.
package struct BegunEpoch {
    /// The opened keys of both epochs. They are not looked up, because the keychain may be locked.
    package let keys: OpenKeys
    /// Opens values that require the user's presence; nil without a passcode.
    package let proof: PresenceProof?
}
