// SPDX-License-Identifier: Apache-2.0

package import ValetSealing
internal import ValetSecretMemory

/// What a person keeps on paper, to open a keychain whose device secret or passcode is lost.
///
/// A seed of 20 random bytes, from which an X25519 pair is made: docs/FORMAT.md §4.6. Keybags hold
/// the public half.
package struct RecoveryKey: ~Copyable, Sendable {
    static let seedByteCount = 20

    let seed: SecretBytes
    let pair: KeyAgreementPair

    /// Takes over a seed of 20 bytes.
    init(seed: consuming SecretBytes) {
        precondition(seed.byteCount == Self.seedByteCount, "not the seed of a recovery key")
        pair = KeyAgreementPair(seed: seed, .recovery)
        self.seed = seed
    }

    /// Makes a new one.
    package static func random() -> RecoveryKey {
        RecoveryKey(seed: SecretBytes(randomByteCount: seedByteCount, for: .keys))
    }

    /// The half that keybags hold; not secret.
    package var publicKey: PublicKey { pair.publicKey }
}
