// SPDX-License-Identifier: Apache-2.0

internal import ValetSecretMemory

/// An X25519 pair of keys (RFC 7748): what is sealed to the public half, the secret half opens.
package struct KeyAgreementPair: ~Copyable, Sendable {
    /// The secret half; any 32 bytes will do, X25519 sets the bits that it needs.
    package let secret: AgreementSecret
    /// The public half.
    package let publicKey: PublicKey

    /// The pair of a secret half.
    package init(secret: consuming AgreementSecret) {
        self.secret = secret
        publicKey = self.secret.withBytes { secret in
            PublicKey { (publicKey: inout MutableSpan<UInt8>) in
                Sodium.publicKey(of: secret, into: &publicKey)
            }
        }
    }

    /// Makes a random pair.
    package static func random() -> KeyAgreementPair { KeyAgreementPair(secret: .random()) }

    /// Gives up the pair for its secret half.
    package consuming func intoSecret() -> AgreementSecret { secret }

    /// The secret that this pair shares with the owner of another.
    ///
    /// - Throws: ``SealingError/Code/malformed`` if `other` is one of the few points that would
    ///   make the secret zero whatever the pair.
    borrowing func sharedSecret(
        with other: PublicKey
    ) throws(SealingError) -> SymmetricKey<Purpose.SharedSecret> {
        try SymmetricKey { (shared: inout MutableSpan<UInt8>) throws(SealingError) in
            let isAgreed = secret.withBytes { secret in
                other.withBytes { other in Sodium.agree(secret, with: other, into: &shared) }
            }
            guard isAgreed else {
                throw SealingError(.malformed, during: .agree, of: "public key")
            }
        }
    }
}
