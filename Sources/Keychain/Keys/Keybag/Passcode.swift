// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

/// A passcode as the user typed it: 1 to 1,024 bytes.
///
/// The bytes are taken as they were typed, in UTF-8. They are not normalised, trimmed or folded, so
/// that every program derives the same key from them (docs/FORMAT.md §4.5).
package struct Passcode: ~Copyable, Sendable {
    /// The most bytes of a passcode.
    package static let maximalByteCount = 1024
    /// A passcode of fewer characters is short.
    package static let shortCharacterCount = 8

    let bytes: SecretBytes

    /// Takes ownership of the typed bytes, without the end of the line.
    ///
    /// - Throws: ``KeychainFailure``: `invalidRequest` for no bytes, or above 1,024.
    package init(_ bytes: consuming SecretBytes) throws(KeychainFailure) {
        guard bytes.byteCount > 0 else {
            throw KeychainFailure(.emptyPasscode, during: "take the passcode")
        }
        guard bytes.byteCount <= Self.maximalByteCount else {
            throw KeychainFailure(.passcodeTooLong, during: "take the passcode")
        }
        self.bytes = bytes.asKeys()
    }

    /// The number of Unicode scalars. Bytes that are not UTF-8 count unless they have the form of a
    /// continuation byte.
    package var characterCount: Int { Self.characterCount(of: bytes) }

    /// The number of Unicode scalars in text that may not be a passcode: empty, or too long.
    package static func characterCount(of bytes: borrowing SecretBytes) -> Int {
        bytes.withBytes { bytes in
            bytes.indices.reduce(0) { bytes[$1] & 0xc0 == 0x80 ? $0 : $0 + 1 }
        }
    }

    /// Whether it has fewer than eight characters, which a thief of the disk soon guesses.
    package var isShort: Bool { characterCount < Self.shortCharacterCount }

    /// Whether both passcodes are equal. The time depends only on their length.
    package borrowing func isEqual(to other: borrowing Passcode) -> Bool {
        bytes.isEqual(to: other.bytes)
    }
}

/// A stretched passcode with the record that says how it was stretched. Stretching takes a fraction
/// of a second and up to 256 MiB.
package struct StretchedRecord: ~Copyable, Sendable {
    let stretched: StretchedPasscode
    let argon2: Argon2Record

    /// Stretches a new passcode with a new salt, for a new keybag.
    ///
    /// - Throws: ``KeychainFailure/Code/outOfMemory``.
    package init(_ passcode: borrowing Passcode, cost: Argon2Cost) throws(KeychainFailure) {
        try self.init(passcode, argon2: Argon2Record(salt: .random(), cost: cost))
    }

    /// Stretches a passcode with the salt and cost of `keybag`, for the TPM that verifies it.
    ///
    /// - Throws: ``KeychainFailure``: `locked` if no TPM verifies a passcode of the keybag;
    ///   `keychainDamaged`; `outOfMemory`.
    package init(
        _ passcode: borrowing Passcode, opening keybag: LockedKeybag
    ) throws(KeychainFailure) {
        guard keybag.protector == .tpmAndPasscode else {
            throw KeychainFailure(.needsProtector)
        }
        try self.init(passcode, argon2: Argon2Record(parsing: keybag.body(.argon2)))
    }

    init(_ passcode: borrowing Passcode, argon2: Argon2Record) throws(KeychainFailure) {
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
