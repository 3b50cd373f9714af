// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// The opened keys of one epoch, in guarded memory; wiped with the last owner.
///
/// Some classes may be missing: while the keychain is locked, after a recovery, without a passcode.
package final class UnlockedKeybag: Sendable {
    package let keychainID: KeychainID
    package let epoch: Epoch
    /// Hashes searchable attributes.
    package let index: IndexKey
    /// The secret half of the presence pair `person`, open while the keychain is unlocked; nil if
    /// it is not open or does not exist.
    package let person: AgreementSecret?
    private let firstUnlockSync: SyncSecret?
    private let unlockedSync: SyncSecret?
    private let classes: [ClassKeys?]

    /// Collects the opened keys: the index key, the keys of each open class, and other opened
    /// secrets.
    package init(
        keychainID: KeychainID, epoch: Epoch, index: consuming IndexKey, classes: [ClassKeys],
        _ secrets: consuming OpenedSecrets = OpenedSecrets()
    ) {
        self.keychainID = keychainID
        self.epoch = epoch
        self.index = index
        person = secrets.person
        firstUnlockSync = secrets.firstUnlockSync
        unlockedSync = secrets.unlockedSync
        var table = [ClassKeys?](repeating: nil, count: 1 + ProtectionClass.allCases.count)
        for keys in classes { table[Int(keys.protectionClass.rawValue)] = keys }
        self.classes = table
    }

    /// The keys of a protection class; nil for a class whose key is not open or does not exist.
    package func keys(of protectionClass: ProtectionClass) -> ClassKeys? {
        classes[Int(protectionClass.rawValue)]
    }

    /// The open keys of a scope, in the order of the classes' numbers.
    package func keys(in scope: KeyScope) -> [ClassKeys] {
        classes.compactMap { $0 }.filter { $0.protectionClass.scope == scope }
    }

    /// A copy of the sync secret of a scope; nil if it is not open or does not exist.
    package func syncSecret(_ scope: KeyScope) -> SyncSecret? {
        switch scope {
        case .afterFirstUnlock: SyncSecret.copy(of: firstUnlockSync)
        case .whileUnlocked: SyncSecret.copy(of: unlockedSync)
        }
    }
}

/// The opened secrets of one epoch that are not keys of classes; nil for those that are not open or
/// do not exist.
package struct OpenedSecrets: ~Copyable {
    /// The secret half of the presence pair `person`.
    package var person: AgreementSecret?
    /// The sync secret of the scope `afterFirstUnlock`.
    package var firstUnlockSync: SyncSecret?
    /// The sync secret of the scope `whileUnlocked`.
    package var unlockedSync: SyncSecret?

    package init(
        person: consuming AgreementSecret? = nil, firstUnlockSync: consuming SyncSecret? = nil,
        unlockedSync: consuming SyncSecret? = nil
    ) {
        self.person = person
        self.firstUnlockSync = firstUnlockSync
        self.unlockedSync = unlockedSync
    }
}

/// The keys that seal and open the items of one protection class in one epoch.
package final class ClassKeys: Sendable {
    package let protectionClass: ProtectionClass
    /// The class key's id: rows name their key by it.
    package let keyID: KeyID
    /// Seals names and details.
    package let attributes: AttributesSubkey
    package let value: ValueSubkey

    init(_ protectionClass: ProtectionClass, key: borrowing ClassKey) {
        self.protectionClass = protectionClass
        keyID = key.id
        attributes = KeyedHash.derive(from: key, .sealAttributes)
        value = KeyedHash.derive(from: key, .sealValue)
    }

    /// Takes over subkeys that were stored apart from their keybag: docs/FORMAT.md §4.7.
    package init(
        protectionClass: ProtectionClass, keyID: KeyID, attributes: consuming AttributesSubkey,
        value: consuming ValueSubkey
    ) {
        self.protectionClass = protectionClass
        self.keyID = keyID
        self.attributes = attributes
        self.value = value
    }
}
