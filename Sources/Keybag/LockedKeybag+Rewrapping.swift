// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// An epoch that gives way to the next: docs/FORMAT.md §4.4.
extension LockedKeybag {
    private static let rewrapping = "wrap the keys of an epoch anew"

    /// The class keys and the index key of `old`, under a new root key and behind `protector`.
    ///
    /// Keys that `opener` does not open are replaced by new ones; without a passcode there is none
    /// of ``ProtectionClass/whenPasscodeSetThisDeviceOnly``, and there are no presence pairs.
    /// - Parameters:
    ///   - recovery: The public half of the recovery key that is to open it, if any.
    ///   - settings: The bytes beside the keybag that its MAC covers, the old one's and the new's.
    /// - Throws: As ``unlock(with:settings:)``.
    package init(
        rewrapping old: LockedKeybag, openedBy opener: borrowing some Protector & ~Copyable,
        as new: KeybagPlace, protector: borrowing some Protector & ~Copyable, settings: [UInt8]
    ) throws(KeybagError) {
        let root = try old.authenticatedRootKey(opener, settings: settings)
        let keys = WrappingKeys(root: root, opener, keychainID: old.keychainID)
        try self.init(rewrapping: old, keys, as: new, protector, settings)
    }

    /// As the other, with what a recovery key opens.
    ///
    /// - Throws: As ``unlock(with:settings:)-(RecoveryProtector,_)``.
    package init(
        rewrapping old: LockedKeybag, recoveredBy opener: borrowing RecoveryProtector,
        as new: KeybagPlace, protector: borrowing some Protector & ~Copyable, settings: [UInt8]
    ) throws(KeybagError) {
        let keys = try opener.wrappingKeys(of: old)
        try old.checkMAC(root: keys.root, settings: settings)
        try self.init(rewrapping: old, keys, as: new, protector, settings)
    }

    private init(
        rewrapping old: LockedKeybag, _ oldKeys: borrowing WrappingKeys, as new: KeybagPlace,
        _ protector: borrowing some Protector & ~Copyable, _ settings: [UInt8]
    ) throws(KeybagError) {
        let keys = WrappingKeys(root: .random(), protector, keychainID: old.keychainID)
        self.init(old.keychainID, old.epoch, new.deviceSource, protector, keys)
        for protectionClass in ProtectionClass.allCases {
            try takeOver(protectionClass, from: old, oldKeys, keys)
        }
        for pair in PresencePair.allCases { try takeOver(pair, from: old, oldKeys, keys) }
        let index: IndexKey = try old.unwrap(.indexKey, under: oldKeys.indexKEK)
        records[.indexKey] =
            KeyWrap.wrap(index, under: keys.indexKEK, binding: binding(.indexKey)).bytes
        if let recovery = new.recovery { try seal(keys.root, to: recovery) }
        mac = authenticationCode(root: keys.root, settings: settings)
    }

    /// Puts the key that `old` has in the place of the new one, if it can be opened.
    private mutating func takeOver(
        _ protectionClass: ProtectionClass, from old: LockedKeybag,
        _ oldKeys: borrowing WrappingKeys, _ keys: borrowing WrappingKeys
    ) throws(KeybagError) {
        let tag = KeybagTag.classKey(protectionClass)
        guard old.records[tag] != nil, records[tag] != nil else { return }
        switch oldKeys.kek(of: protectionClass) {
        case .none: return
        case .some(let oldKEK):
            let key: ClassKey = try old.unwrap(tag, under: oldKEK)
            switch keys.kek(of: protectionClass) {
            case .none: return
            case .some(let kek):
                records[tag] = KeyWrap.wrap(key, under: kek, binding: binding(tag)).bytes
            }
        }
    }

    /// The id of the key of `protectionClass`, which rows name it by; nil if there is none.
    ///
    /// To be believed only of a keybag that was unlocked, or whose digest is that of one.
    /// - Throws: ``KeybagError/Code/malformed``, ``KeybagError/Code/newer``.
    package func keyID(of protectionClass: ProtectionClass) throws(KeybagError) -> KeyID? {
        let tag = KeybagTag.classKey(protectionClass)
        guard records[tag] != nil else { return nil }
        return try wrappedKey(tag).keyID
    }
}

/// Where a keybag's device secret comes from, and which recovery key opens it.
package struct KeybagPlace: Sendable {
    /// Where the device secret comes from.
    package let deviceSource: DeviceSource
    /// The public half of the recovery key; nil for none.
    package let recovery: PublicKey?

    /// Names both.
    package init(deviceSource: DeviceSource, recovery: PublicKey?) {
        self.deviceSource = deviceSource
        self.recovery = recovery
    }
}
