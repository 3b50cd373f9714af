// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetLockState
internal import ValetSealing

/// What a keychain says of itself without a key: its settings, and one keybag or two.
///
/// Valid for as long as the database shows the same stamp.
final class KeychainFacts: Sendable {
    let settings: KeychainSettings
    /// Where the keychain is.
    let location: KeychainLocation
    /// The keybag that new and changed rows are written under.
    let newest: LockedKeybag
    /// The keybag of the epoch that gives way, while it does: docs/FORMAT.md §4.4.
    let older: LockedKeybag?
    /// What opened keys have to fit, in rising order.
    let marks: [EpochMark]
    /// Tells which keys are open; nil without a passcode.
    let lockState: LockStateStore?

    /// - Parameter lockState: Where keys are published; nil for the one of this process.
    init(
        _ settings: KeychainSettings, newest: LockedKeybag, older: LockedKeybag?,
        at location: KeychainLocation, lockState given: LockStateStore? = nil
    ) {
        self.settings = settings
        self.location = location
        self.newest = newest
        self.older = older
        marks = [older, newest].compactMap { $0 }.map { keybag in
            EpochMark(
                epoch: keybag.epoch,
                digest: keybag.digest(settings: settings.authenticatedBytes(of: keybag.epoch)))
        }
        lockState =
            newest.protector == .device
            ? nil : given ?? LockStates.store(of: settings.keychainID, at: location)
    }

    /// Where opened keys are shared, with or without a passcode.
    var sharedLockState: LockStateStore {
        lockState ?? LockStates.store(of: settings.keychainID, at: location)
    }

    /// The keybags, the newest first.
    var keybags: [LockedKeybag] { [newest] + (older.map { [$0] } ?? []) }

    /// Whether a TPM has the device secret.
    var isBoundToTPM: Bool { newest.deviceSource == .tpm }

    /// Opens all keybags with one protector: both have the same while there are two.
    ///
    /// - Throws: As ``LockedKeybag/unlock(with:settings:)``.
    func unlock(
        with protector: borrowing Protector
    ) throws(KeybagError) -> [UnlockedKeybag] {
        var opened: [UnlockedKeybag] = []
        for keybag in keybags {
            opened.append(
                try keybag.unlock(
                    with: protector, settings: settings.authenticatedBytes(of: keybag.epoch)))
        }
        return opened
    }

    /// The keys of `opened`, the newest first, in the form in which they are published.
    func published(_ opened: [UnlockedKeybag]) -> [EpochKeys] {
        zip(opened.reversed(), marks).map { EpochKeys($0, digest: $1.digest) }
    }
}
