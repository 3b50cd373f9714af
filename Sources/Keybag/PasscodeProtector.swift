// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// The protector that needs the device secret and a passcode: docs/FORMAT.md §4.2, §4.5.
///
/// Making one costs what the keybag's Argon2 cost says; whatever is done with it costs no more. It
/// holds the stretched passcode: let it go as soon as the keybag is open.
package struct PasscodeProtector: Protector, ~Copyable, Sendable {
    private let secret: DeviceSecret
    private let stretched: StretchedPasscode
    private let argon2: Argon2Record

    /// Stretches a new passcode, with a new salt, to make keybags with.
    ///
    /// - Throws: ``KeybagError/Code/outOfMemory``.
    package init(
        _ secret: consuming DeviceSecret, passcode: borrowing Passcode, cost: Argon2Cost
    ) throws(KeybagError) {
        let argon2 = Argon2Record(salt: .random(), cost: cost)
        try self.init(secret, passcode: passcode, argon2: argon2)
    }

    /// Stretches a passcode as `keybag` says, to open that keybag.
    ///
    /// What can be known to be in vain is refused before it costs anything.
    /// - Throws: ``KeybagError``: `needsProtector` if the keybag has no passcode or needs a TPM,
    ///   too; `wrongDeviceSecret`; `malformed`; `outOfMemory`. Whether the passcode is right is not
    ///   known yet.
    package init(
        _ secret: consuming DeviceSecret, passcode: borrowing Passcode,
        opening keybag: LockedKeybag
    ) throws(KeybagError) {
        guard keybag.protector == .passcode else {
            throw KeybagError(.needsProtector, during: "open the keybag")
        }
        try keybag.check(secret)
        let argon2 = try Argon2Record(parsing: keybag.body(.argon2))
        try self.init(secret, passcode: passcode, argon2: argon2)
    }

    init(
        _ secret: consuming DeviceSecret, passcode: borrowing Passcode, argon2: Argon2Record
    ) throws(KeybagError) {
        do throws(SealingError) {
            stretched = try PassphraseKDF.stretch(
                passcode.bytes, salt: argon2.salt, cost: argon2.cost)
        } catch {
            throw KeybagError(error, during: "stretch the passcode")
        }
        self.secret = secret
        self.argon2 = argon2
    }

    /// The record wrapped under device secret and passcode.
    package var kind: ProtectorKind { .passcode }
    /// The id of the device secret.
    package var deviceKeyID: KeyID { secret.id }

    /// Unwraps the root key under device secret and passcode.
    ///
    /// - Throws: ``KeybagError``: `wrongDeviceSecret`; `needsProtector` if the passcode was
    ///   stretched for another keybag; `wrongPasscode`; `tampered` if the keybag was changed.
    package func rootKey(of keybag: LockedKeybag) throws(KeybagError) -> RootKey {
        try keybag.check(secret)
        guard try keybag.body(.argon2) == argon2.bytes else {
            throw KeybagError(.needsProtector, during: "open the keybag")
        }
        let wrapped = try keybag.wrappedKey(.rootByPasscode)
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

    /// The key-encrypting key of a keychain, derived from device secret and passcode.
    package func passcodeKEK(for keychainID: KeychainID) -> PasscodeKEK? { kek(for: keychainID) }

    private func kek(for keychainID: KeychainID) -> PasscodeKEK {
        KeyedHash.derive(from: secret, .passcodeKEK) { hash in
            hash.append(keychainID)
            hash.append(stretched)
        }
    }

    private func binding(keychainID: KeychainID, epoch: Epoch) -> WrapBinding {
        WrapBinding(.root, keychainID: keychainID, epoch: epoch, parameters: argon2.bytes)
    }

    /// The records ``KeybagTag/rootByPasscode`` and ``KeybagTag/argon2``.
    package func wrap(
        _ root: borrowing RootKey, keychainID: KeychainID, epoch: Epoch
    ) -> [KeybagTag: [UInt8]] {
        let wrapped = KeyWrap.wrap(
            root, under: kek(for: keychainID),
            binding: binding(keychainID: keychainID, epoch: epoch))
        return [.rootByPasscode: wrapped.bytes, .argon2: argon2.bytes]
    }
}
