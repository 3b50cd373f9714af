// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// The two secrets from which a device's keys in a circle are made: docs/SYNC.md §2, and
/// docs/FORMAT.md §4.2, records 0x0501 and 0x0502. A new epoch wraps the same secrets again.
extension LockedKeybag {
    package var hasSyncSecrets: Bool { records[.syncSecret(.afterFirstUnlock)] != nil }

    /// The same keybag with new sync secrets, in place of those that it has.
    ///
    /// - Parameters:
    ///   - first: The secret of the scope `afterFirstUnlock`.
    ///   - unlocked: The secret of the scope `whileUnlocked`.
    /// - Throws: As ``unlock(with:settings:)``.
    package func settingSyncSecrets(
        _ first: borrowing SyncSecret, _ unlocked: borrowing SyncSecret,
        with protector: borrowing Protector, settings: [UInt8]
    ) throws(KeychainFailure) -> LockedKeybag {
        let root = try authenticatedRootKey(protector, settings: settings)
        let keys = WrappingKeys(root: root, protector, keychainID: keychainID)
        var keybag = self
        keybag.put(first, .afterFirstUnlock, under: keys)
        keybag.put(unlocked, .whileUnlocked, under: keys)
        keybag.mac = keybag.authenticationCode(root: keys.root, settings: settings)
        return keybag
    }

    /// Opens the sync secret of a scope; nil if the keybag has none, or `keys` cannot open it.
    func openSyncSecret(
        _ scope: KeyScope, with keys: borrowing WrappingKeys
    ) throws(KeychainFailure) -> SyncSecret? {
        guard hasSyncSecrets else { return nil }
        switch keys.syncKEK(scope) {
        case .none: return nil
        case .some(let kek): return try unwrap(.syncSecret(scope), under: kek)
        }
    }

    /// Wraps the sync secrets of `old` again, if they can be opened.
    mutating func takeOverSyncSecrets(
        from old: LockedKeybag, _ oldKeys: borrowing WrappingKeys, _ keys: borrowing WrappingKeys
    ) throws(KeychainFailure) {
        for scope in KeyScope.allCases {
            switch try old.openSyncSecret(scope, with: oldKeys) {
            case .none: return
            case .some(let secret): put(secret, scope, under: keys)
            }
        }
    }

    private mutating func put(
        _ secret: borrowing SyncSecret, _ scope: KeyScope, under keys: borrowing WrappingKeys
    ) {
        let tag = KeybagTag.syncSecret(scope)
        switch keys.syncKEK(scope) {
        case .none: return
        case .some(let kek):
            records[tag] = KeyWrap.wrap(secret, under: kek, binding: binding(tag)).bytes
        }
    }
}

extension WrappingKeys {
    /// The key that wraps the sync secret of a scope; nil without the device secret.
    func syncKEK(_ scope: KeyScope) -> SyncKEK? {
        switch device {
        case .none: return nil
        case .some(let device):
            var hash = KeyedHash(root, .syncKEK)
            hash.append(scope.rawValue)
            hash.append(device)
            return hash.derive()
        }
    }
}
