// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
package import ValetSealing

extension LockedKeybag {
    /// Opens the keybag: every class that it has a key of.
    ///
    /// - Parameter settings: The bytes beside the keybag that its MAC covers: docs/FORMAT.md §4.3.
    /// - Throws: ``KeybagError/Code/needsProtector`` for a protector of another kind,
    ///   ``KeybagError/Code/wrongDeviceSecret``, ``KeybagError/Code/wrongPasscode``,
    ///   ``KeybagError/Code/tampered``; ``KeybagError/Code/malformed`` and
    ///   ``KeybagError/Code/newer`` for a wrapped key that is none, or of a later version.
    package func unlock(
        with protector: borrowing some Protector & ~Copyable, settings: [UInt8]
    ) throws(KeybagError) -> UnlockedKeybag {
        let root = try authenticatedRootKey(protector, settings: settings)
        return try open(with: WrappingKeys(root: root, protector, keychainID: keychainID))
    }

    /// The root key, if the MAC is right.
    func authenticatedRootKey(
        _ protector: borrowing some Protector & ~Copyable, settings: [UInt8]
    ) throws(KeybagError) -> RootKey {
        guard protector.kind == self.protector else {
            throw KeybagError(.needsProtector, during: "open the keybag")
        }
        let root = try protector.rootKey(of: self)
        try checkMAC(root: root, settings: settings)
        return root
    }

    /// - Throws: ``KeybagError/Code/tampered``.
    func checkMAC(root: borrowing RootKey, settings: [UInt8]) throws(KeybagError) {
        guard mac == authenticationCode(root: root, settings: settings) else {
            throw KeybagError(.tampered, during: "open the keybag")
        }
    }

    /// Opens the index key and each class that `keys` suffice for.
    func open(with keys: borrowing WrappingKeys) throws(KeybagError) -> UnlockedKeybag {
        var classes: [ClassKeys] = []
        for protectionClass in ProtectionClass.allCases {
            switch keys.kek(of: protectionClass) {
            case .none: continue
            case .some(let kek):
                let key: ClassKey = try unwrap(.classKey(protectionClass), under: kek)
                classes.append(ClassKeys(protectionClass, key: key))
            }
        }
        let index: IndexKey = try unwrap(.indexKey, under: keys.indexKEK)
        // To see whether it was changed: it is not kept.
        _ = try open(.passcode, with: keys)
        let person = try open(.person, with: keys)
        return UnlockedKeybag(
            keychainID: keychainID, epoch: epoch, index: index, classes: classes,
            person: person?.intoSecret())
    }

    func unwrap<P, K: WrapsKeys>(
        _ tag: KeybagTag, under kek: borrowing SymmetricKey<K>
    ) throws(KeybagError) -> SymmetricKey<P> {
        let wrapped = try wrappedKey(tag)
        do throws(SealingError) {
            return try KeyWrap.unwrap(wrapped, under: kek, binding: binding(tag))
        } catch {
            throw KeybagError(error)
        }
    }
}

/// docs/FORMAT.md §4.3.
extension LockedKeybag {
    func authenticationCode(root: borrowing RootKey, settings: [UInt8]) -> Digest {
        let bytes = authenticatedBytes
        return KeyedHash.digest(root, .keybagMAC) { hash in
            hash.append(bytes)
            hash.append(settings)
        }
    }

    /// What names this keybag and the settings beside it to code that has seen them authenticated.
    /// It proves nothing: anybody can compute it.
    package func digest(settings: [UInt8]) -> Digest {
        let bytes = authenticatedBytes
        var parts = LengthPrefixed(reservingByteCount: 8 + bytes.count + settings.count)
        parts.append(bytes)
        parts.append(settings)
        return parts.withBytes { parts in Digest(of: parts) }
    }
}
