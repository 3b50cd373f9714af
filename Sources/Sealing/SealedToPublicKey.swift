// SPDX-License-Identifier: Apache-2.0

/// The root key, wrapped so that only the owner of a recovery key can unwrap it: 153 bytes.
///
/// Ephemeral public key 32 ‖ ``WrappedKey`` 121, under
/// `H(X25519; "valet/1/root-recovery", ephemeral public key, public key, keychain id, epoch)`.
/// Format: keys and states, 1.2.
package struct SealedToPublicKey: Equatable, Sendable {
    /// 153.
    package static let byteCount = PublicKey.byteCount + WrappedKey.byteCount

    /// The public half of the pair that was made for this one wrap.
    package let ephemeral: PublicKey
    /// The wrapped key.
    package let wrapped: WrappedKey

    /// The 153 bytes.
    package var bytes: [UInt8] { ephemeral.bytes + wrapped.bytes }

    /// Reads 153 bytes. Nothing is proved by this: unwrapping does.
    ///
    /// - Throws: ``SealingError/Code/malformed`` unless there are 153 bytes;
    ///   ``SealingError/Code/unsupported`` unless the version of the wrapped key is 1.
    package init(parsing bytes: Span<UInt8>) throws(SealingError) {
        guard bytes.count >= PublicKey.byteCount else {
            throw SealingError(.malformed, during: .parse, of: "key sealed to a public key")
        }
        ephemeral = try PublicKey(copying: bytes.extracting(first: PublicKey.byteCount))
        wrapped = try WrappedKey(parsing: bytes.extracting(droppingFirst: PublicKey.byteCount))
    }

    /// Wraps `key` for the owner of `publicKey`, in the place that `binding` names.
    ///
    /// - Throws: ``SealingError/Code/malformed`` if `publicKey` is not fit to seal to.
    package init<P>(
        wrapping key: borrowing SymmetricKey<P>, to publicKey: PublicKey, binding: WrapBinding
    ) throws(SealingError) {
        let pair = KeyAgreementPair.random()
        try self.init(
            wrapping: key, to: publicKey, binding: binding, ephemeral: pair, nonce: .random())
    }

    /// Wraps with a given ephemeral pair and nonce, to reproduce a test vector.
    package init<P>(
        wrapping key: borrowing SymmetricKey<P>, to publicKey: PublicKey, binding: WrapBinding,
        ephemeral pair: borrowing KeyAgreementPair, nonce: Nonce
    ) throws(SealingError) {
        ephemeral = pair.publicKey
        let kek = Self.kek(
            ephemeral: ephemeral, publicKey: publicKey, binding: binding,
            shared: try pair.sharedSecret(with: publicKey))
        wrapped = KeyWrap.wrap(key, under: kek, binding: binding, nonce: nonce)
    }

    /// Unwraps the key with the pair it was wrapped for.
    ///
    /// - Throws: ``SealingError/Code/wrongKey`` if it was not wrapped for this pair, keychain and
    ///   epoch, or the ephemeral key has changed; ``SealingError/Code/tampered`` if anything else
    ///   has; ``SealingError/Code/malformed`` if the ephemeral key is not fit.
    package func unwrap<P>(
        as purpose: P.Type = P.self, with pair: borrowing KeyAgreementPair, binding: WrapBinding
    ) throws(SealingError) -> SymmetricKey<P> {
        let kek = Self.kek(
            ephemeral: ephemeral, publicKey: pair.publicKey, binding: binding,
            shared: try pair.sharedSecret(with: ephemeral))
        return try KeyWrap.unwrap(wrapped, as: purpose, under: kek, binding: binding)
    }

    private static func kek(
        ephemeral: PublicKey, publicKey: PublicKey, binding: WrapBinding,
        shared: borrowing SymmetricKey<Purpose.SharedSecret>
    ) -> SymmetricKey<Purpose.RecoveryKEK> {
        let recipient = Recipient(
            publicKey, keychainID: binding.keychainID, epoch: binding.epoch)
        let transcript = AgreementTranscript(ephemeral: ephemeral, recipient: recipient)
        return transcript.key(Purpose.RecoveryKEK.self, .rootRecovery, from: shared)
    }
}
