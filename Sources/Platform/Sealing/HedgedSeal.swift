// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

/// Seals data for other devices: XChaCha20-Poly1305 under a key for one context, with a nonce that
/// depends on everything that is sealed.
///
/// Two clones of a machine may draw the same random numbers. Even then, their nonces are equal only
/// if associated data and plaintext are equal, and in that case the sealed bytes are equal too.
/// Sealed bytes are nonce 24 ‖ ciphertext ‖ tag 16. Format: docs/SYNC.md, notation.
package enum HedgedSeal {
    /// How much longer sealed bytes are than the plaintext.
    package static let overhead = AEAD.overhead

    /// Seals `plaintext`, and binds it to `associatedData`, which is not part of the result.
    package static func seal<P: DerivesKeys>(
        _ plaintext: Span<UInt8>, _ context: DerivationContext, associatedData: Span<UInt8>,
        under key: borrowing SymmetricKey<P>, random: HedgeBytes
    ) -> [UInt8] {
        let digest = KeyedHash.digest(key, .syncNonce) { hash in
            hash.append(context.rawValue)
            hash.append(associatedData)
            hash.append(random)
            hash.append(plaintext)
        }
        let sealing = sealingKey(context, from: key)
        return AEAD.seal(
            plaintext, associatedData: associatedData, under: sealing, nonce: Nonce(digest))
    }

    /// Opens sealed bytes.
    ///
    /// - Throws: `malformed` below 40 bytes; `tampered` if
    ///   these bytes were not sealed under this key, for this context, with this associated data.
    package static func open<P: DerivesKeys>(
        _ sealed: Span<UInt8>, _ context: DerivationContext, associatedData: Span<UInt8>,
        under key: borrowing SymmetricKey<P>
    ) throws(SystemError) -> SecretBytes {
        let sealing = sealingKey(context, from: key)
        return try AEAD.open(sealed, associatedData: associatedData, under: sealing)
    }

    private static func sealingKey<P: DerivesKeys>(
        _ context: DerivationContext, from key: borrowing SymmetricKey<P>
    ) -> SymmetricKey<Purpose.SyncSeal> {
        KeyedHash.derive(from: key, context)
    }
}

extension Nonce {
    /// The first 24 bytes of `digest`.
    fileprivate init(_ digest: Digest) {
        self.init(InlineArray { digest.storage[$0] })
    }
}
