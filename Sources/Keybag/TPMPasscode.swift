// SPDX-License-Identifier: Apache-2.0

package import ValetSealing
package import ValetSecretMemory

/// A passcode that was stretched for a TPM: it gives the authorization value that the TPM is asked
/// with, and then, with what the TPM gave out, a ``TPMProtector``. docs/FORMAT.md §4.2, §4.8.
package struct TPMPasscode: ~Copyable, Sendable {
    let stretched: StretchedPasscode
    let argon2: Argon2Record

    /// Stretches a new passcode, with a new salt, to make keybags with.
    ///
    /// - Throws: ``KeybagError/Code/outOfMemory``.
    package init(_ passcode: borrowing Passcode, cost: Argon2Cost) throws(KeybagError) {
        try self.init(passcode, argon2: Argon2Record(salt: .random(), cost: cost))
    }

    /// Stretches a passcode as `keybag` says, to open that keybag.
    ///
    /// - Throws: ``KeybagError``: `needsProtector` if the keybag needs no TPM, or no passcode;
    ///   `malformed`; `outOfMemory`. Only the TPM knows whether the passcode is right.
    package init(
        _ passcode: borrowing Passcode, opening keybag: LockedKeybag
    ) throws(KeybagError) {
        guard keybag.protector == .tpmAndPasscode else {
            throw KeybagError(.needsProtector, during: "open the keybag")
        }
        try self.init(passcode, argon2: Argon2Record(parsing: keybag.body(.argon2)))
    }

    init(_ passcode: borrowing Passcode, argon2: Argon2Record) throws(KeybagError) {
        do throws(SealingError) {
            stretched = try PassphraseKDF.stretch(
                passcode.bytes, salt: argon2.salt, cost: argon2.cost)
        } catch {
            throw KeybagError(error, during: "stretch the passcode")
        }
        self.argon2 = argon2
    }

    /// What the TPM's object takes, 32 bytes: `H(W; "valet/1/tpm-auth")`.
    package var authorization: SecretBytes {
        let value = KeyedHash.derive(Purpose.TPMAuthorization.self, from: stretched, .tpmAuth)
        return value.withBytes { bytes in SecretBytes(copying: bytes) }
    }
}

extension LockedKeybag {
    /// The TPM's object of the device secret, as it is stored; nil if that comes from elsewhere.
    package var tpmDeviceObject: [UInt8]? { records[.tpmDeviceObject] }

    /// The TPM's object of the passcode's secret, as it is stored; nil if none is needed.
    package var tpmPasscodeObject: [UInt8]? { records[.tpmPasscodeObject] }
}
