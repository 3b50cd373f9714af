// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeys
package import ValetSealing
package import ValetSystem

/// The keys that open and seal the rows of a keychain.
///
/// Valid while the stamp of the database and the open keys stay the same.
package final class RowKeys: Sendable {
    /// The keychain that every sealed part is bound to.
    package let keychainID: KeychainID
    /// The current epoch.
    package let epoch: KeychainEpoch
    /// Runs at each use of a key that a lock removes.
    private let onUse: (@Sendable () -> Void)?

    /// The opened keys of the current epoch.
    package init(
        _ keychainID: KeychainID, _ epoch: KeychainEpoch, onUse: (@Sendable () -> Void)? = nil
    ) {
        self.keychainID = keychainID
        self.epoch = epoch
        self.onUse = onUse
    }

    /// The same keys for calls that are no use of the keychain: a watcher's, and those that store
    /// items of other devices.
    package var withoutUse: RowKeys { RowKeys(keychainID, epoch) }

    /// Hashes the names by which rows are found.
    package var hasher: IndexHasher { epoch.hasher }

    /// The cipher that seals rows of `protectionClass`.
    ///
    /// - Throws: ``SystemError``: `lockedRow`; `needsPasscode` for the class that needs a passcode.
    package func cipher(
        _ protectionClass: ProtectionClass
    ) throws(SystemError) -> ItemCipher {
        guard let keys = epoch.keys.keys(of: protectionClass) else {
            throw epoch.hasKey(of: protectionClass) ? .row(.lockedRow) : .row(.needsPasscode)
        }
        noteUse(of: protectionClass)
        return ItemCipher(keychainID: keychainID, keys: keys, recipients: epoch.recipients)
    }

    /// The cipher that opens the row of `header`.
    ///
    /// - Throws: ``SystemError``: `damagedSeal` for a row that names no key of this keychain,
    ///   `lockedRow` for one whose key is not open.
    package func cipher(opening header: RowHeader) throws(SystemError) -> ItemCipher {
        let cipher = try cipher(examining: header)
        noteUse(of: header.protectionClass)
        return cipher
    }

    /// Like ``cipher(opening:)``, for maintenance of the keychain, which does not count as its use.
    package func cipher(examining header: RowHeader) throws(SystemError) -> ItemCipher {
        guard epoch.isNamed(by: header) else { throw .row(.damagedSeal) }
        guard let keys = epoch.keys.keys(of: header.protectionClass) else { throw .row(.lockedRow) }
        return ItemCipher(keychainID: keychainID, keys: keys, recipients: epoch.recipients)
    }

    /// Whether the key that opens the row of `header` is not open.
    package func isLocked(_ header: RowHeader) -> Bool {
        epoch.isNamed(by: header) && epoch.keys.keys(of: header.protectionClass) == nil
    }

    /// A copy of the sync secret of a scope; nil if it is not open, or if the keychain has none.
    /// Reading it does not count as use of the keychain, so that an agent does not keep the
    /// keychain from locking itself.
    package func syncSecret(_ scope: KeyScope) -> SyncSecret? { epoch.keys.syncSecret(scope) }

    /// Keeps an unlocked keychain from locking itself: docs/decisions/0020-auto-lock.md.
    private func noteUse(of protectionClass: ProtectionClass) {
        if protectionClass.scope == .whileUnlocked { onUse?() }
    }
}

/// The opened keys of one epoch, and the classes that have keys.
package struct KeychainEpoch: Sendable {
    /// The opened class keys.
    package let keys: UnlockedKeybag
    /// Hashes names under this epoch's index key.
    package let hasher: IndexHasher
    /// The public keys of the presence pairs; empty without pairs.
    package let recipients: [PresencePair: Recipient]
    /// The classes that have a key.
    private let classes: Set<ProtectionClass>

    /// - Throws: ``KeychainFailure``: `keychainDamaged`, `newerFormat`.
    package init(_ locked: LockedKeybag, _ keys: UnlockedKeybag) throws(KeychainFailure) {
        self.keys = keys
        hasher = IndexHasher(keys)
        var classes: Set<ProtectionClass> = []
        for protectionClass in ProtectionClass.allCases
        where try locked.keyID(of: protectionClass) != nil {
            classes.insert(protectionClass)
        }
        self.classes = classes
        var recipients: [PresencePair: Recipient] = [:]
        for pair in PresencePair.allCases {
            guard let publicKey = try locked.publicKey(of: pair) else { continue }
            recipients[pair] = Recipient(
                publicKey, keychainID: locked.keychainID, epoch: locked.epoch)
        }
        self.recipients = recipients
    }

    /// Whether there is a key of that class, open or not.
    package func hasKey(of protectionClass: ProtectionClass) -> Bool {
        classes.contains(protectionClass)
    }

    /// Whether all keys of the keychain are open.
    package var isComplete: Bool {
        ProtectionClass.allCases.allSatisfy { !hasKey(of: $0) || keys.keys(of: $0) != nil }
    }

    /// Whether `header` names the key of its class in this epoch.
    func isNamed(by header: RowHeader) -> Bool {
        header.epoch == keys.epoch && hasKey(of: header.protectionClass)
    }
}

extension RowKeys {
    /// Opens everything in a row, except a value that needs more than `proof`.
    package func open(_ row: SealedRow, _ proof: PresenceProof?) throws(SystemError) -> OpenedRow {
        let cipher = try cipher(opening: row.header)
        let content = try cipher.openContent(row)
        guard let secret = row.secret else { return OpenedRow(row: row, content: content) }
        do {
            let value = try cipher.openValue(ValueParts(row), secret.span, proof)
            try cipher.check(value, row.header, content)
            return OpenedRow(row: row, content: content, value: value)
        } catch {
            guard error.code == .needsPerson else { throw error }
            return OpenedRow(row: row, content: content, isClosed: true)
        }
    }

    /// Opens everything in a row whose columns are sound.
    package func open(
        _ found: FoundRow, _ proof: PresenceProof?
    ) throws(SystemError) -> OpenedRow {
        guard case .row(let row) = found else { throw .row(.damagedColumn) }
        return try open(row, proof)
    }
}
