// SPDX-License-Identifier: Apache-2.0

package import ValetSecretMemory

/// What a person typed to open a keychain, from 1 to 1,024 bytes.
///
/// The bytes are taken as they were typed, in UTF-8: nothing is normalised, trimmed or folded, so
/// that every program derives the same key from them (docs/FORMAT.md §4.5).
package struct Passcode: ~Copyable, Sendable {
    /// The most bytes of a passcode.
    package static let maximalByteCount = 1024
    /// How many characters a passcode has that is not short.
    package static let shortCharacterCount = 8

    let bytes: SecretBytes

    /// Takes over what was typed, without the end of the line.
    ///
    /// - Throws: ``KeybagError``: `emptyPasscode`, or `passcodeTooLong` above 1,024 bytes.
    package init(_ bytes: consuming SecretBytes) throws(KeybagError) {
        guard bytes.byteCount > 0 else {
            throw KeybagError(.emptyPasscode, during: "take the passcode")
        }
        guard bytes.byteCount <= Self.maximalByteCount else {
            throw KeybagError(.passcodeTooLong, during: "take the passcode")
        }
        self.bytes = bytes.asKeys()
    }

    /// The number of Unicode scalars; of bytes that are not UTF-8, those that do not continue one.
    package var characterCount: Int { Self.characterCount(of: bytes) }

    /// As ``characterCount``, for what somebody typed that is no passcode.
    package static func characterCount(of bytes: borrowing SecretBytes) -> Int {
        bytes.withBytes { bytes in
            bytes.indices.reduce(0) { bytes[$1] & 0xc0 == 0x80 ? $0 : $0 + 1 }
        }
    }

    /// Whether it has fewer than eight characters: a thief of the disk soon guesses them.
    package var isShort: Bool { characterCount < Self.shortCharacterCount }

    /// Tells whether the same was typed twice, in a time that depends on its length alone.
    package borrowing func isEqual(to other: borrowing Passcode) -> Bool {
        bytes.isEqual(to: other.bytes)
    }
}
