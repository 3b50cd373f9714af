// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

/// Sealing to a public key: sealing needs no secret, and does not allow opening.
///
/// An ephemeral pair agrees on a secret S with the public key. The data is sealed under
/// `H(S; context, ephemeral public key, public key, keychain id, epoch)` and follows the ephemeral
/// public key. Format: docs/FORMAT.md §5.2.
package enum PublicKeySealing {
    /// How much longer sealed data is than the plaintext.
    package static let overhead = PublicKey.byteCount + AEAD.overhead

    /// Seals a presence item's value: ephemeral public key 32 ‖ nonce 24 ‖ ciphertext ‖ tag 16.
    ///
    /// - Throws: `malformed` if `publicKey` is not fit to seal to.
    package static func seal(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8>, to recipient: Recipient
    ) throws(SystemError) -> [UInt8] {
        let ephemeral = KeyAgreementPair.random()
        return try seal(
            plaintext, associatedData: associatedData, to: recipient, ephemeral: ephemeral,
            nonce: .random())
    }

    /// Seals with a given ephemeral pair and nonce, to reproduce a test vector.
    package static func seal(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8>, to recipient: Recipient,
        ephemeral: borrowing KeyAgreementPair, nonce: Nonce
    ) throws(SystemError) -> [UInt8] {
        let transcript = AgreementTranscript(ephemeral: ephemeral.publicKey, recipient: recipient)
        let shared = try ephemeral.sharedSecret(with: recipient.publicKey)
        let key = transcript.key(Purpose.PresenceValue.self, .presenceValue, from: shared)
        return ephemeral.publicKey.bytes
            + AEAD.seal(plaintext, associatedData: associatedData, under: key, nonce: nonce)
    }

    /// Opens sealed data with the pair it was sealed to.
    ///
    /// - Throws: `malformed` below 72 bytes or for an unfit ephemeral key;
    ///   `tampered` if these bytes were not sealed to this pair in this
    ///   keychain and epoch.
    package static func open(
        _ sealed: Span<UInt8>, associatedData: Span<UInt8>, with pair: borrowing KeyAgreementPair,
        keychainID: KeychainID, epoch: Epoch
    ) throws(SystemError) -> SecretBytes {
        let key = try valueKey(
            ephemeralKey(of: sealed), with: pair, keychainID: keychainID, epoch: epoch)
        return try open(sealed, associatedData: associatedData, under: key)
    }

    /// The public half of the pair that was made to seal `sealed`: its first 32 bytes.
    ///
    /// - Throws: `malformed` below 72 bytes.
    package static func ephemeralKey(
        of sealed: Span<UInt8>
    ) throws(SystemError) -> PublicKey {
        guard sealed.count >= overhead else {
            throw SystemError.sealing(.malformed, during: .open, of: "data sealed to a public key")
        }
        return try PublicKey(copying: sealed.extracting(first: PublicKey.byteCount))
    }

    /// The key of the data that was sealed with this ephemeral pair. It is as secret as the data.
    ///
    /// - Throws: `malformed` if `ephemeral` is not fit.
    package static func valueKey(
        _ ephemeral: PublicKey, with pair: borrowing KeyAgreementPair, keychainID: KeychainID,
        epoch: Epoch
    ) throws(SystemError) -> PresenceValueKey {
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
    ) throws(SystemError) -> SecretBytes {
        guard sealed.count >= overhead else {
            throw SystemError.sealing(.malformed, during: .open, of: "data sealed to a public key")
        }
        return try AEAD.open(
            sealed.extracting(droppingFirst: PublicKey.byteCount), associatedData: associatedData,
            under: key)
    }
}

/// The root key, wrapped so that only the owner of a recovery key can unwrap it: 153 bytes.
///
/// Ephemeral public key 32 ‖ ``WrappedKey`` 121, under
/// `H(X25519; "valet/1/root-recovery", ephemeral public key, public key, keychain id, epoch)`.
/// Format: docs/FORMAT.md §4.2.
package struct SealedToPublicKey: Equatable, Sendable {
    /// 153.
    package static let byteCount = PublicKey.byteCount + WrappedKey.byteCount

    /// The public half of the pair that was made for this one wrap.
    package let ephemeral: PublicKey
    package let wrapped: WrappedKey

    package var bytes: [UInt8] { ephemeral.bytes + wrapped.bytes }

    /// Reads 153 bytes. Only unwrapping authenticates them.
    ///
    /// - Throws: `malformed` unless there are 153 bytes;
    ///   `unsupported` unless the version of the wrapped key is 1.
    package init(parsing bytes: Span<UInt8>) throws(SystemError) {
        guard bytes.count >= PublicKey.byteCount else {
            throw SystemError.sealing(.malformed, during: .parse, of: "key sealed to a public key")
        }
        ephemeral = try PublicKey(copying: bytes.extracting(first: PublicKey.byteCount))
        wrapped = try WrappedKey(parsing: bytes.extracting(droppingFirst: PublicKey.byteCount))
    }

    /// Wraps `key` for the owner of `publicKey`, in the place that `binding` names.
    ///
    /// - Throws: `malformed` if `publicKey` is not fit to seal to.
    package init<P>(
        wrapping key: borrowing SymmetricKey<P>, to publicKey: PublicKey, binding: WrapBinding
    ) throws(SystemError) {
        let pair = KeyAgreementPair.random()
        try self.init(
            wrapping: key, to: publicKey, binding: binding, ephemeral: pair, nonce: .random())
    }

    /// Wraps with a given ephemeral pair and nonce, to reproduce a test vector.
    package init<P>(
        wrapping key: borrowing SymmetricKey<P>, to publicKey: PublicKey, binding: WrapBinding,
        ephemeral pair: borrowing KeyAgreementPair, nonce: Nonce
    ) throws(SystemError) {
        ephemeral = pair.publicKey
        let kek = Self.kek(
            ephemeral: ephemeral, publicKey: publicKey, binding: binding,
            shared: try pair.sharedSecret(with: publicKey))
        wrapped = KeyWrap.wrap(key, under: kek, binding: binding, nonce: nonce)
    }

    /// Unwraps the key with the pair it was wrapped for.
    ///
    /// - Throws: `wrongKey` if it was not wrapped for this pair, keychain and
    ///   epoch, or the ephemeral key has changed; `tampered` if anything else
    ///   has; `malformed` if the ephemeral key is not fit.
    package func unwrap<P>(
        as purpose: P.Type = P.self, with pair: borrowing KeyAgreementPair, binding: WrapBinding
    ) throws(SystemError) -> SymmetricKey<P> {
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

/// An X25519 pair of keys (RFC 7748): the secret half opens bytes that were sealed to the public
/// half.
package struct KeyAgreementPair: ~Copyable, Sendable {
    /// The secret half: any 32 bytes, because X25519 sets the bits that it needs.
    package let secret: AgreementSecret
    package let publicKey: PublicKey

    package init(secret: consuming AgreementSecret) {
        self.secret = secret
        publicKey = self.secret.withBytes { secret in
            PublicKey { (publicKey: inout MutableSpan<UInt8>) in
                Sodium.publicKey(of: secret, into: &publicKey)
            }
        }
    }

    package static func random() -> KeyAgreementPair { KeyAgreementPair(secret: .random()) }

    /// Consumes the pair and returns its secret half.
    package consuming func intoSecret() -> AgreementSecret { secret }

    /// The secret that this pair shares with the owner of another.
    ///
    /// - Throws: `malformed` if `other` is one of the few points that make the
    ///   secret zero for every pair.
    package borrowing func sharedSecret(
        with other: PublicKey
    ) throws(SystemError) -> SymmetricKey<Purpose.SharedSecret> {
        try SymmetricKey { (shared: inout MutableSpan<UInt8>) throws(SystemError) in
            let isAgreed = secret.withBytes { secret in
                other.withBytes { other in Sodium.agree(secret, with: other, into: &shared) }
            }
            guard isAgreed else {
                throw SystemError.sealing(.malformed, during: .agree, of: "public key")
            }
        }
    }
}

extension KeyAgreementPair {
    /// Derives the pair from a secret seed of any length.
    ///
    /// The secret half is unkeyed BLAKE2b-256 of `LP(context) LP(seed)`: docs/FORMAT.md §4.6.
    package init(seed: borrowing SecretBytes, _ context: DerivationContext) {
        self.init(
            secret: UnkeyedHash.derive(context) { hash in
                seed.withBytes { seed in hash.append(seed) }
            })
    }
}

extension PublicKey {
    /// Whether agreement with this key gives a secret that is not zero. It does so for the public
    /// key of every pair.
    ///
    /// The few other keys give zero with every secret half, because X25519 multiplies by the
    /// cofactor (RFC 7748 §6.1), so one agreement with any secret half identifies them.
    package var isFit: Bool {
        let pair = KeyAgreementPair(secret: SymmetricKey { (_: inout MutableSpan<UInt8>) in })
        do {
            _ = try pair.sharedSecret(with: self)
            return true
        } catch {
            return false
        }
    }
}

/// A public key, with the keychain and the epoch that it belongs to.
package struct Recipient: Equatable, Sendable {
    package let publicKey: PublicKey
    package let keychainID: KeychainID
    package let epoch: Epoch

    package init(_ publicKey: PublicKey, keychainID: KeychainID, epoch: Epoch) {
        self.publicKey = publicKey
        self.keychainID = keychainID
        self.epoch = epoch
    }
}

/// The values that both sides of an agreement know. They go into every key made from the shared
/// secret.
struct AgreementTranscript {
    let ephemeral: PublicKey
    let recipient: Recipient

    /// `H(S; context, ephemeral public key, public key, keychain id, epoch)`.
    func key<Q>(
        _ purpose: Q.Type, _ context: DerivationContext,
        from shared: borrowing SymmetricKey<Purpose.SharedSecret>
    ) -> SymmetricKey<Q> {
        KeyedHash.derive(purpose, from: shared, context) { hash in
            hash.append(ephemeral)
            hash.append(recipient.publicKey)
            hash.append(recipient.keychainID)
            hash.append(recipient.epoch.rawValue)
        }
    }
}
