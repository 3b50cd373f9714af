// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// The protector that needs the device secret, a passcode and what a TPM gives out for it:
/// docs/FORMAT.md §4.2, §4.8. Nothing is wrapped under the passcode alone, so that a thief of the
/// disk and not the TPM has nothing to try passcodes on.
package struct TPMProtector: Protector, ~Copyable, Sendable {
    private let secret: DeviceSecret
    private let passcode: TPMPasscode
    private let unsealed: TPMPasscodeSecret
    private let object: [UInt8]
    private let deviceObject: [UInt8]?

    /// Takes over all three.
    ///
    /// - Parameters:
    ///   - unsealed: What the TPM gave out for ``TPMPasscode/authorization``; of a new keybag, what
    ///     was sealed under it.
    ///   - object: The TPM's object of that, as it is stored.
    ///   - deviceObject: The TPM's object of the device secret, to make keybags of source `tpm`
    ///     with; to open one it is not needed.
    /// - Throws: ``KeybagError/Code/malformed`` for an object that is none.
    package init(
        _ secret: consuming DeviceSecret, passcode: consuming TPMPasscode,
        unsealed: consuming TPMPasscodeSecret, object: [UInt8], deviceObject: [UInt8]? = nil
    ) throws(KeybagError) {
        try TPMObjectRecord.check(object)
        if let deviceObject { try TPMObjectRecord.check(deviceObject) }
        self.secret = secret
        self.passcode = passcode
        self.unsealed = unsealed
        self.object = object
        self.deviceObject = deviceObject
    }

    /// The record wrapped under device secret, passcode and TPM.
    package var kind: ProtectorKind { .tpmAndPasscode }
    /// The id of the device secret.
    package var deviceKeyID: KeyID { secret.id }

    /// Unwraps the root key under all three.
    ///
    /// - Throws: ``KeybagError``: `wrongDeviceSecret`; `needsProtector` if the passcode was
    ///   stretched, or the object made, for another keybag; `wrongPasscode` if the TPM's secret is
    ///   another one; `tampered` if the keybag was changed.
    package func rootKey(of keybag: LockedKeybag) throws(KeybagError) -> RootKey {
        try keybag.check(secret)
        guard try keybag.body(.argon2) == passcode.argon2.bytes,
            try keybag.body(.tpmPasscodeObject) == object
        else { throw KeybagError(.needsProtector, during: "open the keybag") }
        let wrapped = try keybag.wrappedKey(.rootByTPM)
        do throws(SealingError) {
            return try KeyWrap.unwrap(
                wrapped, under: kek(for: keybag.keychainID),
                binding: binding(keychainID: keybag.keychainID, epoch: keybag.epoch))
        } catch {
            throw KeybagError(error, wrongKey: .wrongPasscode)
        }
    }

    /// The key-encrypting key of a keychain, derived from the device secret alone.
    package func deviceKEK(for keychainID: KeychainID) -> DeviceKEK { secret.kek(for: keychainID) }

    /// The key-encrypting key of a keychain, derived from all three.
    package func passcodeKEK(for keychainID: KeychainID) -> PasscodeKEK? { kek(for: keychainID) }

    private func kek(for keychainID: KeychainID) -> PasscodeKEK {
        KeyedHash.derive(from: secret, .passcodeKEKTPM) { hash in
            hash.append(keychainID)
            hash.append(unsealed)
            hash.append(passcode.stretched)
        }
    }

    private func binding(keychainID: KeychainID, epoch: Epoch) -> WrapBinding {
        WrapBinding(
            .root, keychainID: keychainID, epoch: epoch,
            parameters: passcode.argon2.bytes + object)
    }

    /// The records ``KeybagTag/rootByTPM``, ``KeybagTag/argon2``, ``KeybagTag/tpmPasscodeObject``
    /// and, if a TPM gives out the device secret, ``KeybagTag/tpmDeviceObject``.
    package func wrap(
        _ root: borrowing RootKey, keychainID: KeychainID, epoch: Epoch
    ) -> [KeybagTag: [UInt8]] {
        let wrapped = KeyWrap.wrap(
            root, under: kek(for: keychainID),
            binding: binding(keychainID: keychainID, epoch: epoch))
        var records: [KeybagTag: [UInt8]] = [
            .rootByTPM: wrapped.bytes, .argon2: passcode.argon2.bytes, .tpmPasscodeObject: object,
        ]
        records[.tpmDeviceObject] = deviceObject
        return records
    }
}
