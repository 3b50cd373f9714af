// SPDX-License-Identifier: Apache-2.0

package import Sealing

/// A way to open a keybag: something that yields the key under which the root key is wrapped.
package protocol Protector: ~Copyable {
    /// Which record of the keybag it opens.
    var kind: ProtectorKind { get }

    /// Unwraps the root key of `keybag`.
    ///
    /// - Throws: ``KeybagError``: `wrongDeviceSecret` if the secret at hand is not the one that
    ///   the keybag was made with, `tampered` if the keybag was changed.
    borrowing func rootKey(of keybag: LockedKeybag) throws(KeybagError) -> RootKey

    /// The key that keys of this device only are bound to.
    borrowing func deviceKEK(for keychainID: KeychainID) -> DeviceKEK

    /// Wraps a new root key.
    borrowing func wrap(
        _ root: borrowing RootKey, keychainID: KeychainID, epoch: Epoch
    ) -> [KeybagTag: [UInt8]]
}
