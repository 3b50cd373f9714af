// SPDX-License-Identifier: Apache-2.0

/// A key sealed under another: 121 bytes.
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 1 | version, 1 |
/// | 1 | 16 | id of the key |
/// | 17 | 32 | commitment of the key that wraps it |
/// | 49 | 24 | nonce |
/// | 73 | 32 | ciphertext |
/// | 105 | 16 | tag |
///
/// Format: keys and states, 1.1.
package struct WrappedKey: Equatable, Sendable {
    /// 121.
    package static let byteCount = 121
    static let version: UInt8 = 1

    /// The 121 bytes.
    package let bytes: [UInt8]
    /// The name of the key inside.
    package let keyID: KeyID
    /// The commitment of the key that wraps it.
    package let commitment: Digest

    /// Reads a wrapped key. Nothing is proved by this: unwrapping it does.
    ///
    /// - Throws: ``SealingError/Code/malformed`` unless there are 121 bytes;
    ///   ``SealingError/Code/unsupported`` unless the version is 1.
    package init(parsing bytes: Span<UInt8>) throws(SealingError) {
        guard let version = bytes.isEmpty ? nil : bytes[0] else {
            throw SealingError(.malformed, during: .parse, of: "wrapped key")
        }
        guard version == Self.version else {
            throw SealingError(.unsupported, during: .parse, of: "wrapped key")
        }
        guard bytes.count == Self.byteCount else {
            throw SealingError(.malformed, during: .parse, of: "wrapped key")
        }
        keyID = try KeyID(copying: bytes.extracting(1..<17))
        commitment = try Digest(copying: bytes.extracting(17..<49))
        self.bytes = [UInt8](copying: bytes)
    }

    /// Puts together what `KeyWrap` made; `sealed` is nonce ‖ ciphertext ‖ tag.
    init(keyID: KeyID, commitment: Digest, sealed: [UInt8]) {
        self.keyID = keyID
        self.commitment = commitment
        bytes = [Self.version] + keyID.bytes + commitment.bytes + sealed
    }

    /// Nonce ‖ ciphertext ‖ tag.
    var sealed: ArraySlice<UInt8> { bytes[49...] }
}
