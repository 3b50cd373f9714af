// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// A passcode as the user typed it, 1 to 1,024 bytes, in guarded memory. Dropping the last
/// reference wipes it. The calls on passcodes and unlocking take one.
///
/// The bytes are taken as they were typed, in UTF-8. They are not normalised, trimmed or folded, so
/// that every program derives the same key from them (docs/FORMAT.md §4.5).
package final class Passcode: Sendable {
    /// The most bytes of a passcode.
    package static let maximalByteCount = 1024
    /// A passcode of fewer characters is short.
    package static let shortCharacterCount = 8

    package let bytes: SecretBytes
    /// Whether a TPM tries the passcode even if few tries are left.
    package let isInsisting: Bool

    /// Takes ownership of the typed bytes, without the end of the line.
    ///
    /// - Parameter insisting: Whether a TPM tries the passcode even if few tries are left. After
    ///   too many wrong tries the TPM refuses all tries for a long time.
    /// - Throws: ``KeychainFailure/Code/invalidRequest`` for an empty or too long passcode.
    package init(
        _ typed: consuming SecretBytes, insisting: Bool = false
    ) throws(KeychainFailure) {
        let count = typed.byteCount
        guard count > 0, count <= Self.maximalByteCount else {
            throw KeychainFailure(
                .invalidRequest, during: "take the passcode",
                message: count == 0
                    ? "a passcode cannot be empty"
                    : "a passcode has at most \(Self.maximalByteCount) bytes")
        }
        isInsisting = insisting
        bytes = typed.asKeys()
    }

    /// The number of Unicode scalars in text that need not be a valid passcode: it may be empty or
    /// too long. Bytes that are not UTF-8 count unless they have the form of a continuation byte.
    package static func characterCount(of bytes: borrowing SecretBytes) -> Int {
        bytes.withBytes { bytes in
            bytes.indices.reduce(0) { bytes[$1] & 0xc0 == 0x80 ? $0 : $0 + 1 }
        }
    }

    /// Whether it has fewer than eight characters: a thief of the disk soon guesses such a
    /// passcode.
    package var isShort: Bool { Self.characterCount(of: bytes) < Self.shortCharacterCount }
}
