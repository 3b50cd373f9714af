// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
package import ValetSystem

/// A key pair. Items that require the user's presence are sealed to its public half: docs/FORMAT.md
/// §4.2.
///
/// A keychain with a passcode has both pairs. The raw values name them in their wraps.
package enum PresencePair: String, CaseIterable, Hashable, Sendable {
    /// Only the passcode opens its secret half.
    case passcode
    /// Its secret half is open while the keychain is unlocked: the program checks that a person was
    /// present.
    case person

    /// The record that holds it.
    var tag: KeybagTag {
        switch self {
        case .passcode: .presencePasscode
        case .person: .presencePerson
        }
    }
}

/// The opened presence pairs of one epoch, in guarded memory; wiped with the last owner.
package final class PresenceKeys: Sendable {
    package let keychainID: KeychainID
    package let epoch: Epoch
    /// The pair `passcode`; nil if it is not open.
    package let passcode: KeyAgreementPair?
    /// The pair `person`; nil if it is not open.
    package let person: KeyAgreementPair?
    /// A cache of agreed keys: a key agreement costs twenty times as much as opening a value, and
    /// programs read the same few values repeatedly.
    private let agreed = Lock<[Agreement: AgreedKey]>([:])

    private static let agreedCapacity = 1024

    package init(
        keychainID: KeychainID, epoch: Epoch, passcode: consuming KeyAgreementPair?,
        person: consuming KeyAgreementPair?
    ) {
        self.keychainID = keychainID
        self.epoch = epoch
        self.passcode = passcode
        self.person = person
    }

    /// Whether `pair` is open and `recipient` is its public half.
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

    /// Opens bytes that were sealed to the public half of a pair.
    ///
    /// - Returns: nil if the pair is not open.
    /// - Throws: ``ValetSystem/SystemError``: as ``ValetSealing/PublicKeySealing``.
    package func open(
        _ sealed: Span<UInt8>, to pair: PresencePair, associatedData: Span<UInt8>
    ) throws(SystemError) -> SecretBytes? {
        switch pair {
        case .passcode: try open(sealed, passcode, pair, associatedData)
        case .person: try open(sealed, person, pair, associatedData)
        }
    }

    private func open(
        _ sealed: Span<UInt8>, _ pair: borrowing KeyAgreementPair?, _ name: PresencePair,
        _ associatedData: Span<UInt8>
    ) throws(SystemError) -> SecretBytes? {
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

    /// The two sides of an agreed key.
    private struct Agreement: Hashable {
        let pair: PresencePair
        let ephemeral: PublicKey
    }

    /// The key of one value; several threads may use it.
    private final class AgreedKey: Sendable {
        let key: PresenceValueKey

        init(_ key: consuming PresenceValueKey) { self.key = key }
    }
}

/// Presence pairs: docs/FORMAT.md §4.2, records 0x0401 and 0x0402.
extension LockedKeybag {
    /// The public half of a pair, to which items are sealed; nil if the keybag lacks the pair.
    ///
    /// Trust it only if the keybag was unlocked, or has the digest of one that was: a program that
    /// writes the database could have put another key here.
    /// - Throws: ``KeychainFailure/Code/keychainDamaged`` unless the record has 153 bytes;
    ///   ``KeychainFailure/Code/newerFormat`` for a wrap of a later version.
    package func publicKey(of pair: PresencePair) throws(KeychainFailure) -> PublicKey? {
        try presenceRecord(pair)?.publicKey
    }

    /// Opens the pairs that `protector` can open.
    ///
    /// - Throws: As ``unlock(with:settings:)``.
    package func presenceKeys(
        with protector: borrowing Protector, settings: [UInt8]
    ) throws(KeychainFailure) -> PresenceKeys {
        let root = try authenticatedRootKey(protector, settings: settings)
        return try presenceKeys(
            with: WrappingKeys(root: root, protector, keychainID: keychainID))
    }

    /// Opens the pairs that a recovery key can open: `person`, if the device secret is available.
    ///
    /// - Throws: As ``unlock(with:settings:)-(RecoveryProtector,_)``.
    package func presenceKeys(
        with protector: borrowing RecoveryProtector, settings: [UInt8]
    ) throws(KeychainFailure) -> PresenceKeys {
        let keys = try protector.wrappingKeys(of: self)
        try checkMAC(root: keys.root, settings: settings)
        return try presenceKeys(with: keys)
    }

    private func presenceKeys(
        with keys: borrowing WrappingKeys
    ) throws(KeychainFailure) -> PresenceKeys {
        PresenceKeys(
            keychainID: keychainID, epoch: epoch, passcode: try open(.passcode, with: keys),
            person: try open(.person, with: keys))
    }

    /// The pair `person`, which is open while the keychain is unlocked.
    ///
    /// - Parameter opened: The opened keys of this keybag.
    /// - Returns: nil if the keybag or `opened` lacks the pair.
    /// - Throws: ``KeychainFailure/Code/keychainDamaged`` if the secret half does not belong to the
    ///   public half.
    package func personKeys(of opened: UnlockedKeybag) throws(KeychainFailure) -> PresenceKeys? {
        guard let record = try presenceRecord(.person) else { return nil }
        switch opened.person {
        case .none: return nil
        case .some(let secret):
            let pair = KeyAgreementPair(secret: secret.copied())
            guard pair.publicKey == record.publicKey else {
                throw KeychainFailure(.tampered)
            }
            return PresenceKeys(
                keychainID: keychainID, epoch: epoch, passcode: nil, person: pair)
        }
    }

    /// Opens a pair; nil if the keybag lacks it, or `keys` cannot open it.
    func open(
        _ pair: PresencePair, with keys: borrowing WrappingKeys
    ) throws(KeychainFailure) -> KeyAgreementPair? {
        guard let record = try presenceRecord(pair) else { return nil }
        switch keys.kek(of: pair) {
        case .none: return nil
        case .some(let kek):
            let secret: AgreementSecret
            do {
                secret = try KeyWrap.unwrap(
                    record.secret, under: kek, binding: binding(pair.tag))
            } catch {
                throw KeychainFailure(error)
            }
            let opened = KeyAgreementPair(secret: secret)
            guard opened.publicKey == record.publicKey else {
                throw KeychainFailure(.tampered)
            }
            return opened
        }
    }

    /// Makes both pairs if there is a passcode.
    mutating func addNewPresencePairs(under keys: borrowing WrappingKeys) {
        guard protector != .device else { return }
        for pair in PresencePair.allCases { put(.random(), as: pair, under: keys) }
    }

    private mutating func put(
        _ new: consuming KeyAgreementPair, as pair: PresencePair,
        under keys: borrowing WrappingKeys
    ) {
        switch keys.kek(of: pair) {
        case .none: return
        case .some(let kek):
            let wrapped = KeyWrap.wrap(new.secret, under: kek, binding: binding(pair.tag))
            records[pair.tag] = new.publicKey.bytes + wrapped.bytes
        }
    }

    /// public key 32 ‖ wrap of the secret 121.
    private func presenceRecord(
        _ pair: PresencePair
    ) throws(KeychainFailure) -> (publicKey: PublicKey, secret: WrappedKey)? {
        guard let body = records[pair.tag] else { return nil }
        guard body.count == PublicKey.byteCount + WrappedKey.byteCount else {
            throw .malformedKeybag
        }
        let bytes = body.span
        do {
            return (
                try PublicKey(copying: bytes.extracting(first: PublicKey.byteCount)),
                try WrappedKey(parsing: bytes.extracting(droppingFirst: PublicKey.byteCount))
            )
        } catch {
            throw KeychainFailure(error)
        }
    }
}
