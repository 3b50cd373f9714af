// SPDX-License-Identifier: Apache-2.0

package import ValetSecretMemory

/// Sealing to a public key: sealing needs no secret, and cannot open what was sealed.
///
/// An ephemeral pair agrees on a secret S with the public key. What is sealed is sealed under
/// `H(S; context, ephemeral public key, public key, keychain id, epoch)`, and the ephemeral public
/// key goes before it. Format: keys and states, 1.2.
package enum PublicKeySealing {
    /// How much longer sealed data is than the plaintext.
    package static let overhead = PublicKey.byteCount + AEAD.overhead

    /// Seals a presence item's value: ephemeral public key 32 ‖ nonce 24 ‖ ciphertext ‖ tag 16.
    ///
    /// - Throws: ``SealingError/Code/malformed`` if `publicKey` is not fit to seal to.
    package static func seal(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8>, to recipient: Recipient
    ) throws(SealingError) -> [UInt8] {
        let ephemeral = KeyAgreementPair.random()
        return try seal(
            plaintext, associatedData: associatedData, to: recipient, ephemeral: ephemeral,
            nonce: .random())
    }

    /// Seals with a given ephemeral pair and nonce, to reproduce a test vector.
    package static func seal(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8>, to recipient: Recipient,
        ephemeral: borrowing KeyAgreementPair, nonce: Nonce
    ) throws(SealingError) -> [UInt8] {
        let transcript = AgreementTranscript(ephemeral: ephemeral.publicKey, recipient: recipient)
        let shared = try ephemeral.sharedSecret(with: recipient.publicKey)
        let key = transcript.key(Purpose.PresenceValue.self, .presenceValue, from: shared)
        return ephemeral.publicKey.bytes
            + AEAD.seal(plaintext, associatedData: associatedData, under: key, nonce: nonce)
    }

    /// Opens sealed data with the pair it was sealed to.
    ///
    /// - Throws: ``SealingError/Code/malformed`` below 72 bytes or if the ephemeral key is not fit;
    ///   ``SealingError/Code/tampered`` if these bytes were not sealed to this pair in this
    ///   keychain and epoch.
    package static func open(
        _ sealed: Span<UInt8>, associatedData: Span<UInt8>, with pair: borrowing KeyAgreementPair,
        keychainID: KeychainID, epoch: Epoch
    ) throws(SealingError) -> SecretBytes {
        let key = try valueKey(
            ephemeralKey(of: sealed), with: pair, keychainID: keychainID, epoch: epoch)
        return try open(sealed, associatedData: associatedData, under: key)
    }

    /// The public half of the pair that was made to seal `sealed`: its first 32 bytes.
    ///
    /// - Throws: ``SealingError/Code/malformed`` below 72 bytes.
    package static func ephemeralKey(
        of sealed: Span<UInt8>
    ) throws(SealingError) -> PublicKey {
        guard sealed.count >= overhead else {
            throw SealingError(.malformed, during: .open, of: "data sealed to a public key")
        }
        return try PublicKey(copying: sealed.extracting(first: PublicKey.byteCount))
    }

    /// The key of what was sealed with the ephemeral pair of that public half. It is as secret as
    /// what was sealed.
    ///
    /// - Throws: ``SealingError/Code/malformed`` if `ephemeral` is not fit.
    package static func valueKey(
        _ ephemeral: PublicKey, with pair: borrowing KeyAgreementPair, keychainID: KeychainID,
        epoch: Epoch
    ) throws(SealingError) -> PresenceValueKey {
        let recipient = Recipient(pair.publicKey, keychainID: keychainID, epoch: epoch)
        let transcript = AgreementTranscript(ephemeral: ephemeral, recipient: recipient)
        let shared = try pair.sharedSecret(with: ephemeral)
        return transcript.key(Purpose.PresenceValue.self, .presenceValue, from: shared)
    }

    /// Opens sealed data under its own key.
    ///
    /// - Throws: As ``open(_:associatedData:with:keychainID:epoch:)``.
    package static func open(
        _ sealed: Span<UInt8>, associatedData: Span<UInt8>, under key: borrowing PresenceValueKey
    ) throws(SealingError) -> SecretBytes {
        guard sealed.count >= overhead else {
            throw SealingError(.malformed, during: .open, of: "data sealed to a public key")
        }
        return try AEAD.open(
            sealed.extracting(droppingFirst: PublicKey.byteCount), associatedData: associatedData,
            under: key)
    }
}
