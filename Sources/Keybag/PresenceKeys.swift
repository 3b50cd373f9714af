// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
package import ValetSealing
package import ValetSecretMemory

/// The opened presence pairs of one epoch; they lie in guarded memory and are wiped with the last
/// owner.
package final class PresenceKeys: Sendable {
    /// The keychain that the pairs belong to.
    package let keychainID: KeychainID
    /// The generation of keys.
    package let epoch: Epoch
    /// The pair that takes the passcode; nil if it is not open.
    package let passcode: KeyAgreementPair?
    /// The pair that takes a person; nil if it is not open.
    package let person: KeyAgreementPair?
    /// Agreeing on a key costs twenty times what opening a value does, and a program reads the same
    /// few values again and again.
    private let agreed = Mutex<[Agreement: AgreedKey]>([:])

    private static let agreedCapacity = 1024

    /// Puts together what was opened.
    package init(
        keychainID: KeychainID, epoch: Epoch, passcode: consuming KeyAgreementPair?,
        person: consuming KeyAgreementPair?
    ) {
        self.keychainID = keychainID
        self.epoch = epoch
        self.passcode = passcode
        self.person = person
    }

    /// Whether `pair` is open and the one whose public half `recipient` is.
    package func has(_ pair: PresencePair, of recipient: Recipient) -> Bool {
        guard keychainID == recipient.keychainID, epoch == recipient.epoch else { return false }
        let publicKey =
            switch pair {
            case .passcode: Self.publicKey(of: passcode)
            case .person: Self.publicKey(of: person)
            }
        return publicKey == recipient.publicKey
    }

    private static func publicKey(of pair: borrowing KeyAgreementPair?) -> PublicKey? {
        switch pair {
        case .none: nil
        case .some(let pair): pair.publicKey
        }
    }

    /// Opens what was sealed to the public half of a pair.
    ///
    /// - Returns: nil if the pair is not open.
    /// - Throws: ``Sealing/SealingError``: as ``Sealing/PublicKeySealing``.
    package func open(
        _ sealed: Span<UInt8>, to pair: PresencePair, associatedData: Span<UInt8>
    ) throws(SealingError) -> SecretBytes? {
        switch pair {
        case .passcode: try open(sealed, passcode, pair, associatedData)
        case .person: try open(sealed, person, pair, associatedData)
        }
    }

    private func open(
        _ sealed: Span<UInt8>, _ pair: borrowing KeyAgreementPair?, _ name: PresencePair,
        _ associatedData: Span<UInt8>
    ) throws(SealingError) -> SecretBytes? {
        switch pair {
        case .none: return nil
        case .some(let pair):
            let ephemeral = try PublicKeySealing.ephemeralKey(of: sealed)
            let agreement = Agreement(pair: name, ephemeral: ephemeral)
            if let known = agreed.withLock({ $0[agreement] }) {
                return try PublicKeySealing.open(
                    sealed, associatedData: associatedData, under: known.key)
            }
            let key = try PublicKeySealing.valueKey(
                ephemeral, with: pair, keychainID: keychainID, epoch: epoch)
            let value = try PublicKeySealing.open(
                sealed, associatedData: associatedData, under: key)
            let new = AgreedKey(key)
            agreed.withLock { agreed in
                if agreed.count < Self.agreedCapacity { agreed[agreement] = new }
            }
            return value
        }
    }

    /// Who has agreed on a key.
    private struct Agreement: Hashable {
        let pair: PresencePair
        let ephemeral: PublicKey
    }

    /// A key of one value, which several threads may use.
    private final class AgreedKey: Sendable {
        let key: PresenceValueKey

        init(_ key: consuming PresenceValueKey) { self.key = key }
    }
}
