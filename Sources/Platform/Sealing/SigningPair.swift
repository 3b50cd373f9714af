// SPDX-License-Identifier: Apache-2.0

/// An Ed25519 pair of keys (RFC 8032): the devices of a circle sign messages and rosters with it.
package struct SigningPair: ~Copyable, Sendable {
    package let publicKey: SigningKey
    /// The seed, then the public half, as libsodium wants it.
    private let secret: SecretBytes

    /// Derives the pair from its seed.
    package init(seed: borrowing SymmetricKey<Purpose.SigningSeed>) {
        var publicKey = SigningKey(InlineArray(repeating: 0))
        secret = SecretBytes(byteCount: Sodium.signingSecretByteCount, for: .keys) {
            (secret: inout MutableSpan<UInt8>) in
            publicKey = SigningKey { (publicKey: inout MutableSpan<UInt8>) in
                seed.withBytes { seed in
                    Sodium.signingPair(seed: seed, publicKey: &publicKey, secret: &secret)
                }
            }
        }
        self.publicKey = publicKey
    }

    /// `SIG(key; context, message)`: signs `LP(context) LP(message)`, which is not secret.
    package borrowing func signature(
        _ context: DerivationContext, of message: Span<UInt8>
    ) -> Signature {
        let parts = Self.parts(context, message)
        return parts.withBytes { parts in
            secret.withBytes { secret in
                Signature { (signature: inout MutableSpan<UInt8>) in
                    Sodium.sign(parts, secret: secret, into: &signature)
                }
            }
        }
    }

    fileprivate static func parts(
        _ context: DerivationContext, _ message: Span<UInt8>
    ) -> LengthPrefixed {
        var parts = LengthPrefixed()
        parts.append(context.rawValue)
        parts.append(message)
        return parts
    }
}

extension Signature {
    /// Whether the owner of `publicKey` signed `message` for `context`.
    ///
    /// False for every signature if `publicKey` is not valid, such as a point of small order.
    package func isValid(
        _ context: DerivationContext, of message: Span<UInt8>, by publicKey: SigningKey
    ) -> Bool {
        SigningPair.parts(context, message).withBytes { parts in
            publicKey.withBytes { publicKey in
                withBytes { Sodium.isSignature($0, of: parts, by: publicKey) }
            }
        }
    }
}
