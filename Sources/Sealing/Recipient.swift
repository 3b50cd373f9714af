// SPDX-License-Identifier: Apache-2.0

/// A public key, and where it belongs.
package struct Recipient: Equatable, Sendable {
    /// The public key to seal to.
    package let publicKey: PublicKey
    /// The keychain the pair belongs to.
    package let keychainID: KeychainID
    /// The generation the pair belongs to.
    package let epoch: Epoch

    /// Names a public key and its place.
    package init(_ publicKey: PublicKey, keychainID: KeychainID, epoch: Epoch) {
        self.publicKey = publicKey
        self.keychainID = keychainID
        self.epoch = epoch
    }
}

/// What both sides of an agreement know, which goes into every key made from their secret.
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
