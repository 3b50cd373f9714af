// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import Sealing

extension LockedKeybag {
    /// Opens the keybag.
    ///
    /// - Parameter settings: The bytes beside the keybag that its MAC covers: docs/FORMAT.md §4.3.
    /// - Throws: ``KeybagError/Code/needsProtector`` for a protector of another kind,
    ///   ``KeybagError/Code/wrongDeviceSecret``, ``KeybagError/Code/tampered``.
    package func unlock(
        with protector: borrowing some Protector & ~Copyable, settings: [UInt8]
    ) throws(KeybagError) -> UnlockedKeybag {
        guard protector.kind == self.protector else {
            throw KeybagError(.needsProtector, during: "open the keybag")
        }
        let root = try protector.rootKey(of: self)
        guard mac == authenticationCode(root: root, settings: settings) else {
            throw KeybagError(.tampered, during: "open the keybag")
        }
        let device = protector.deviceKEK(for: keychainID)
        var classes: [ClassKeys] = []
        for protectionClass in ProtectionClass.allCases where protectionClass.needsNoPasscode {
            let key: ClassKey = try unwrap(
                .classKey(protectionClass), under: Self.kek(protectionClass, root, device))
            classes.append(ClassKeys(protectionClass, key: key))
        }
        let index: IndexKey = try unwrap(.indexKey, under: Self.indexKEK(root))
        return UnlockedKeybag(
            keychainID: keychainID, epoch: epoch, index: index, classes: classes)
    }

    private func unwrap<P, K: WrapsKeys>(
        _ tag: KeybagTag, under kek: borrowing SymmetricKey<K>
    ) throws(KeybagError) -> SymmetricKey<P> {
        let wrapped = try wrappedKey(tag)
        do throws(SealingError) {
            return try KeyWrap.unwrap(wrapped, under: kek, binding: binding(tag))
        } catch {
            throw KeybagError(error)
        }
    }

    func authenticationCode(root: borrowing RootKey, settings: [UInt8]) -> Digest {
        let bytes = authenticatedBytes
        return KeyedHash.digest(root, .keybagMAC) { hash in
            hash.append(bytes)
            hash.append(settings)
        }
    }
}
