// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// A way to open a keybag: something that yields the key under which the root key is wrapped.
package protocol Protector: ~Copyable {
    /// Which record of the keybag it opens.
    var kind: ProtectorKind { get }
    /// The id of the device secret.
    var deviceKeyID: KeyID { get }

    /// Unwraps the root key of `keybag`.
    ///
    /// - Throws: ``KeybagError``: `wrongDeviceSecret` if the secret at hand is not the one that
    ///   the keybag was made with, `wrongPasscode`, `tampered` if the keybag was changed.
    borrowing func rootKey(of keybag: LockedKeybag) throws(KeybagError) -> RootKey

    /// The key that keys of this device only are bound to.
    borrowing func deviceKEK(for keychainID: KeychainID) -> DeviceKEK

    /// The key that the key of ``ProtectionClass/whenPasscodeSetThisDeviceOnly`` is bound to; nil
    /// without a passcode.
    borrowing func passcodeKEK(for keychainID: KeychainID) -> PasscodeKEK?

    /// Wraps a new root key: the records of this protector.
    borrowing func wrap(
        _ root: borrowing RootKey, keychainID: KeychainID, epoch: Epoch
    ) -> [KeybagTag: [UInt8]]
}

extension SymmetricKey<Purpose.Device> {
    /// Kdev of a keychain: docs/FORMAT.md §4.2.
    func kek(for keychainID: KeychainID) -> DeviceKEK {
        KeyedHash.derive(from: self, .deviceKEK) { hash in hash.append(keychainID) }
    }
}
