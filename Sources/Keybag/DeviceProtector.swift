// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// The protector that needs nobody: the device secret alone.
package struct DeviceProtector: Protector, ~Copyable, Sendable {
    private let secret: DeviceSecret
    private let object: [UInt8]?

    /// Takes over the device secret.
    package init(_ secret: consuming DeviceSecret) {
        self.secret = secret
        object = nil
    }

    /// Takes over a device secret that a TPM gives out, to make keybags of source `tpm` with. To
    /// open one it takes the secret alone.
    ///
    /// - Parameter object: The TPM's object, as it is stored: docs/FORMAT.md §4.8.
    /// - Throws: ``KeybagError/Code/malformed`` for an object that is none.
    package init(_ secret: consuming DeviceSecret, object: [UInt8]) throws(KeybagError) {
        try TPMObjectRecord.check(object)
        self.secret = secret
        self.object = object
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

    /// The record ``KeybagTag/rootByDevice``: the root key under the device key; and
    /// ``KeybagTag/tpmDeviceObject``, if a TPM gives that out.
    package func wrap(
        _ root: borrowing RootKey, keychainID: KeychainID, epoch: Epoch
    ) -> [KeybagTag: [UInt8]] {
        let binding = WrapBinding(.root, keychainID: keychainID, epoch: epoch)
        let wrapped = KeyWrap.wrap(root, under: deviceKEK(for: keychainID), binding: binding)
        var records: [KeybagTag: [UInt8]] = [.rootByDevice: wrapped.bytes]
        records[.tpmDeviceObject] = object
        return records
    }
}
