// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// Presence pairs: docs/FORMAT.md §4.2, records 0x0401 and 0x0402.
extension LockedKeybag {
    /// The public half of a pair, to which items are sealed; nil if there is none.
    ///
    /// To be believed only of a keybag that was unlocked, or whose digest is that of one: a
    /// writer of the database could have put another one here.
    /// - Throws: ``KeybagError/Code/malformed`` unless the record has 153 bytes;
    ///   ``KeybagError/Code/newer`` for a wrap of a later version.
    package func publicKey(of pair: PresencePair) throws(KeybagError) -> PublicKey? {
        try presenceRecord(pair)?.publicKey
    }

    /// Opens the pairs that `protector` suffices for.
    ///
    /// - Throws: As ``unlock(with:settings:)``.
    package func presenceKeys(
        with protector: borrowing some Protector & ~Copyable, settings: [UInt8]
    ) throws(KeybagError) -> PresenceKeys {
        let root = try authenticatedRootKey(protector, settings: settings)
        let keys = WrappingKeys(root: root, protector, keychainID: keychainID)
        return PresenceKeys(
            keychainID: keychainID, epoch: epoch, passcode: try open(.passcode, with: keys),
            person: try open(.person, with: keys))
    }

    /// The pair `person`, which is open while the keychain is unlocked; nil if `opened`, the keys
    /// of this keybag, do not have it.
    ///
    /// - Throws: ``KeybagError/Code/tampered`` if the secret is not that of the public half.
    package func personKeys(of opened: UnlockedKeybag) throws(KeybagError) -> PresenceKeys? {
        guard let record = try presenceRecord(.person) else { return nil }
        switch opened.person {
        case .none: return nil
        case .some(let secret):
            let pair = KeyAgreementPair(secret: try copy(of: secret))
            guard pair.publicKey == record.publicKey else {
                throw KeybagError(.tampered, during: "open the keybag")
            }
            return PresenceKeys(
                keychainID: keychainID, epoch: epoch, passcode: nil, person: pair)
        }
    }

    private func copy(
        of secret: borrowing AgreementSecret
    ) throws(KeybagError) -> AgreementSecret {
        do throws(SealingError) {
            return try secret.withBytes { bytes throws(SealingError) in
                try AgreementSecret(copying: bytes)
            }
        } catch {
            throw KeybagError(error)
        }
    }

    /// Opens a pair; nil if it is not there, or `keys` do not suffice.
    func open(
        _ pair: PresencePair, with keys: borrowing WrappingKeys
    ) throws(KeybagError) -> KeyAgreementPair? {
        guard let record = try presenceRecord(pair) else { return nil }
        switch keys.kek(of: pair) {
        case .none: return nil
        case .some(let kek):
            let secret: AgreementSecret
            do throws(SealingError) {
                secret = try KeyWrap.unwrap(
                    record.secret, under: kek, binding: binding(pair.tag))
            } catch {
                throw KeybagError(error)
            }
            let opened = KeyAgreementPair(secret: secret)
            guard opened.publicKey == record.publicKey else {
                throw KeybagError(.tampered, during: "open the keybag")
            }
            return opened
        }
    }

    /// Makes both pairs, where there is a passcode.
    mutating func addNewPresencePairs(under keys: borrowing WrappingKeys) {
        guard protector != .device else { return }
        for pair in PresencePair.allCases { put(.random(), as: pair, under: keys) }
    }

    /// Puts the pair that `old` has in the place of the new one, if it can be opened.
    mutating func takeOver(
        _ pair: PresencePair, from old: LockedKeybag, _ oldKeys: borrowing WrappingKeys,
        _ keys: borrowing WrappingKeys
    ) throws(KeybagError) {
        guard records[pair.tag] != nil else { return }
        switch try old.open(pair, with: oldKeys) {
        case .none: return
        case .some(let opened): put(opened, as: pair, under: keys)
        }
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
    ) throws(KeybagError) -> (publicKey: PublicKey, secret: WrappedKey)? {
        guard let body = records[pair.tag] else { return nil }
        guard body.count == PublicKey.byteCount + WrappedKey.byteCount else {
            throw .malformedKeybag
        }
        let bytes = body.span
        do throws(SealingError) {
            return (
                try PublicKey(copying: bytes.extracting(first: PublicKey.byteCount)),
                try WrappedKey(parsing: bytes.extracting(droppingFirst: PublicKey.byteCount))
            )
        } catch {
            throw KeybagError(error, during: "read the keybag")
        }
    }
}
