// SPDX-License-Identifier: Apache-2.0

package import Sealing

/// The protector that needs nobody: the device secret alone.
package struct DeviceProtector: Protector, ~Copyable, Sendable {
    private let secret: DeviceSecret

    /// Takes over the device secret.
    package init(_ secret: consuming DeviceSecret) {
        self.secret = secret
    }

    /// The record wrapped under the device key alone.
    package var kind: ProtectorKind { .device }
    /// The id of the device secret.
    package var deviceKeyID: KeyID { secret.id }

    /// Unwraps the root key under the device secret.
    ///
    /// - Throws: ``KeybagError``: `wrongDeviceSecret` if the keybag names another secret,
    ///   `tampered` if the keybag was changed.
    package func rootKey(of keybag: LockedKeybag) throws(KeybagError) -> RootKey {
        try keybag.check(secret)
        let wrapped = try keybag.wrappedKey(.rootByDevice)
        let binding = WrapBinding(.root, keychainID: keybag.keychainID, epoch: keybag.epoch)
        do throws(SealingError) {
            return try KeyWrap.unwrap(
                wrapped, under: deviceKEK(for: keybag.keychainID), binding: binding)
        } catch {
            throw KeybagError(error)
        }
    }

    /// The key-encrypting key of a keychain, derived from the device secret: docs/FORMAT.md §4.
    package func deviceKEK(for keychainID: KeychainID) -> DeviceKEK { secret.kek(for: keychainID) }

    /// None.
    package func passcodeKEK(for keychainID: KeychainID) -> PasscodeKEK? { nil }

    /// The one record ``KeybagTag/rootByDevice``: the root key under the device key.
    package func wrap(
        _ root: borrowing RootKey, keychainID: KeychainID, epoch: Epoch
    ) -> [KeybagTag: [UInt8]] {
        let binding = WrapBinding(.root, keychainID: keychainID, epoch: epoch)
        let wrapped = KeyWrap.wrap(root, under: deviceKEK(for: keychainID), binding: binding)
        return [.rootByDevice: wrapped.bytes]
    }
}
