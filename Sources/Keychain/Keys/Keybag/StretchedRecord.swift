// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

/// A stretched passcode with the record that says how it was stretched. Stretching takes a fraction
/// of a second and up to 256 MiB.
package struct StretchedRecord: ~Copyable, Sendable {
    let stretched: StretchedPasscode
    let argon2: Argon2Record

    /// Stretches a new passcode with a new salt, for a new keybag.
    ///
    /// - Throws: ``KeychainFailure/Code/outOfMemory``.
    package init(_ passcode: Passcode, cost: Argon2Cost) throws(KeychainFailure) {
        try self.init(passcode, argon2: Argon2Record(salt: .random(), cost: cost))
    }

    /// Stretches a passcode with the salt and cost of `keybag`, for the TPM that verifies it.
    ///
    /// - Throws: ``KeychainFailure``: `locked` if no TPM verifies a passcode of the keybag;
    ///   `keychainDamaged`; `outOfMemory`.
    package init(
        _ passcode: Passcode, opening keybag: LockedKeybag
    ) throws(KeychainFailure) {
        guard keybag.protector == .tpmAndPasscode else {
            throw KeychainFailure(.needsProtector)
        }
        try self.init(passcode, argon2: Argon2Record(parsing: keybag.body(.argon2)))
    }

    init(_ passcode: Passcode, argon2: Argon2Record) throws(KeychainFailure) {
        do {
            stretched = try PassphraseKDF.stretch(
                passcode.bytes, salt: argon2.salt, cost: argon2.cost)
        } catch {
            throw KeychainFailure(error)
        }
        self.argon2 = argon2
    }

    /// The authorization value of the TPM's object, 32 bytes: `H(W; "valet/1/tpm-auth")`.
    package var authorization: SecretBytes {
        let value = KeyedHash.derive(Purpose.TPMAuthorization.self, from: stretched, .tpmAuth)
        return value.withBytes { bytes in SecretBytes(copying: bytes) }
    }
}
