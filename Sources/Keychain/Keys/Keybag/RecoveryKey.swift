// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// The key on paper that opens a keychain whose device secret or passcode is lost.
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

    package static func random() -> RecoveryKey {
        RecoveryKey(seed: SecretBytes(randomByteCount: seedByteCount, for: .keys))
    }

    /// The half that keybags store; not secret.
    package var publicKey: PublicKey { pair.publicKey }
}

/// The text on paper: docs/FORMAT.md §4.6.
extension RecoveryKey {
    static let characterCount = CheckedText.recoveryKey.characterCount

    /// The text, 49 bytes of ASCII: ten groups of four characters, with hyphens between them.
    package var text: SecretBytes {
        let values = SecretBytes(byteCount: CheckedText.recoveryKey.payloadCount, for: .keys) {
            values in
            seed.withBytes { seed in
                for bit in 0..<(8 * Self.seedByteCount) {
                    let value = seed[bit / 8] >> UInt8(7 - bit % 8) & 1
                    values[bit / 5] |= value << UInt8(4 - bit % 5)
                }
            }
        }
        return values.withBytes { values in CheckedText.recoveryKey.text(of: values) }
    }

    /// Reads a typed text.
    ///
    /// Lower-case letters count as capitals, `O` as 0, `I` and `L` as 1. Spaces, tabs, ends of
    /// lines and hyphens are ignored.
    /// - Throws: ``KeychainFailure``: `authenticationFailed`; `newerFormat` for the text of a later
    ///   version.
    package init(parsing text: Span<UInt8>) throws(KeychainFailure) {
        let values = try CheckedText.recoveryKey.payload(of: text)
        self.init(
            seed: SecretBytes(byteCount: Self.seedByteCount, for: .keys) { seed in
                values.withBytes { values in
                    for bit in 0..<(8 * Self.seedByteCount) {
                        let value = values[bit / 5] >> UInt8(4 - bit % 5) & 1
                        seed[bit / 8] |= value << UInt8(7 - bit % 8)
                    }
                }
            })
    }
}

/// The keys in a circle: docs/SYNC.md §2.
extension RecoveryKey {
    /// The secret from which the recovery member of a circle makes its keys of `scope`.
    package func syncSecret(_ scope: KeyScope) -> SyncSecret {
        let context: DerivationContext =
            switch scope {
            case .afterFirstUnlock: .syncRecoveryF
            case .whileUnlocked: .syncRecoveryU
            }
        return UnkeyedHash.derive(context) { hash in
            seed.withBytes { seed in hash.append(seed) }
        }
    }
}
