// SPDX-License-Identifier: Apache-2.0

package import ValetSecretMemory

/// Sealing of data: XChaCha20-Poly1305 with a random nonce of 192 bits.
///
/// Sealed bytes are nonce 24 ‖ ciphertext ‖ tag 16. The nonce is so long that random ones never
/// meet, also when a machine is cloned or a backup restored. Format: keys and states, 1.1.
package enum AEAD {
    /// How much longer sealed bytes are than the plaintext.
    package static let overhead = Sodium.nonceByteCount + Sodium.tagByteCount
    /// How many bytes at the end of sealed ones prove that they are what was sealed.
    package static let tagByteCount = Sodium.tagByteCount

    /// Seals `plaintext`, and binds it to `associatedData`, which is not part of the result.
    package static func seal<P: SealsData>(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8>, under key: borrowing SymmetricKey<P>
    ) -> [UInt8] {
        seal(plaintext, associatedData: associatedData, under: key, nonce: .random())
    }

    /// Seals with a given nonce, to reproduce a test vector. A nonce used twice undoes the sealing.
    package static func seal<P: SealsData>(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8>, under key: borrowing SymmetricKey<P>,
        nonce: Nonce
    ) -> [UInt8] {
        key.withBytes { key in
            nonce.withBytes { nonce in
                Sodium.seal(plaintext, associatedData: associatedData, key: key, nonce: nonce)
            }
        }
    }

    /// Seals attributes. Not generic, because the callers of a generic function in another module
    /// pay for what its compiler cannot see; this is done for every item that is written.
    package static func seal(
        _ plaintext: Span<UInt8>, associatedData: borrowing LengthPrefixed,
        under key: borrowing AttributesSubkey, _ nonces: inout NonceSupply
    ) -> [UInt8] {
        let nonce = nonces.next()
        return associatedData.withBytes { data in
            seal(plaintext, associatedData: data, under: key, nonce: nonce)
        }
    }

    /// Seals a value; not generic, for the same reason.
    package static func seal(
        _ plaintext: Span<UInt8>, associatedData: borrowing LengthPrefixed,
        under key: borrowing ValueSubkey, _ nonces: inout NonceSupply
    ) -> [UInt8] {
        let nonce = nonces.next()
        return associatedData.withBytes { data in
            seal(plaintext, associatedData: data, under: key, nonce: nonce)
        }
    }

    /// Opens sealed bytes.
    ///
    /// - Throws: ``SealingError/Code/malformed`` below 40 bytes; ``SealingError/Code/tampered`` if
    ///   these bytes were not sealed under this key with this associated data.
    package static func open<P: SealsData>(
        _ sealed: Span<UInt8>, associatedData: Span<UInt8>, under key: borrowing SymmetricKey<P>
    ) throws(SealingError) -> SecretBytes {
        let byteCount = try plaintextByteCount(of: sealed)
        return try SecretBytes(byteCount: byteCount) {
            (plaintext: inout MutableSpan<UInt8>) throws(SealingError) in
            try open(sealed, associatedData: associatedData, key: key, into: &plaintext)
        }
    }

    /// Opens a value, as every read of an item does; not generic, for the same reason.
    ///
    /// - Throws: As the general form.
    package static func open(
        _ sealed: Span<UInt8>, associatedData: borrowing LengthPrefixed,
        under key: borrowing ValueSubkey
    ) throws(SealingError) -> SecretBytes {
        var plaintext = SecretBytes(byteCount: try plaintextByteCount(of: sealed))
        let isOpen = plaintext.withMutableBytes { plaintext in
            associatedData.withBytes { data in
                key.withBytes { key in
                    Sodium.open(sealed, associatedData: data, key: key, into: &plaintext)
                }
            }
        }
        guard isOpen else { throw SealingError(.tampered, during: .open, of: "sealed data") }
        return plaintext
    }

    /// Opens sealed bytes into ordinary memory, which nobody wipes: for attributes, not for values.
    ///
    /// - Throws: As ``open(_:associatedData:under:)``.
    package static func openIntoArray<P: SealsData>(
        _ sealed: Span<UInt8>, associatedData: Span<UInt8>, under key: borrowing SymmetricKey<P>
    ) throws(SealingError) -> [UInt8] {
        var plaintext = [UInt8](repeating: 0, count: try plaintextByteCount(of: sealed))
        var bytes = plaintext.mutableSpan
        try open(sealed, associatedData: associatedData, key: key, into: &bytes)
        return plaintext
    }

    /// Opens attributes; not generic, for the same reason.
    ///
    /// - Throws: As the general form.
    package static func openIntoArray(
        _ sealed: Span<UInt8>, associatedData: borrowing LengthPrefixed,
        under key: borrowing AttributesSubkey
    ) throws(SealingError) -> [UInt8] {
        try associatedData.withBytes { (data: Span<UInt8>) throws(SealingError) in
            try openIntoArray(sealed, associatedData: data, under: key)
        }
    }

    private static func plaintextByteCount(of sealed: Span<UInt8>) throws(SealingError) -> Int {
        guard sealed.count >= overhead else {
            throw SealingError(.malformed, during: .open, of: "sealed data")
        }
        return sealed.count - overhead
    }

    private static func open<P>(
        _ sealed: Span<UInt8>, associatedData: Span<UInt8>, key: borrowing SymmetricKey<P>,
        into plaintext: inout MutableSpan<UInt8>
    ) throws(SealingError) {
        let isOpen = key.withBytes { key in
            Sodium.open(sealed, associatedData: associatedData, key: key, into: &plaintext)
        }
        guard isOpen else { throw SealingError(.tampered, during: .open, of: "sealed data") }
    }
}
