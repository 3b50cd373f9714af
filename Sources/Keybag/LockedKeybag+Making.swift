// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// New keybags: of a new keychain, of the next epoch, and of the last epoch behind a new protector.
extension LockedKeybag {
    /// Makes the keybag of a new keychain or epoch, with random keys throughout. It has the key
    /// of items that need a passcode if `protector` has a passcode.
    ///
    /// - Parameter settings: The bytes beside the keybag that its MAC covers.
    package init(
        keychainID: KeychainID, epoch: Epoch, deviceSource: DeviceKeySource,
        protector: borrowing Protector, settings: [UInt8]
    ) {
        let keys = WrappingKeys(root: .random(), protector, keychainID: keychainID)
        self.init(keychainID, epoch, deviceSource, protector, keys)
        mac = authenticationCode(root: keys.root, settings: settings)
    }

    /// Makes the keybag of the epoch after that of `old`, with random keys, and with the sync
    /// secrets of `old`.
    ///
    /// Does not check the MAC of `old`: an epoch change also rewraps `old`, which does.
    /// - Parameters:
    ///   - new: Where the device secret comes from, and which recovery key will open the keybag. To
    ///     keep the recovery key of `old`, pass the one of a keybag that was unlocked. Nil revokes
    ///     the recovery key.
    ///   - settings: The bytes beside the new keybag that its MAC covers.
    /// - Throws: As ``unlock(with:settings:)``; ``KeybagError/Code/malformed`` for a recovery key
    ///   that nothing can be sealed to, or after the last possible epoch.
    package init(
        succeeding old: LockedKeybag, openedBy opener: borrowing Protector,
        as new: KeybagPlace, protector: borrowing Protector, settings: [UInt8]
    ) throws(KeybagError) {
        let oldKeys = try opener.wrappingKeys(of: old)
        try self.init(succeeding: old, oldKeys, as: new, protector, settings)
    }

    /// As ``init(succeeding:openedBy:as:protector:settings:)``, with a recovery key. Without the
    /// device secret of `old`, its sync secrets are lost.
    package init(
        succeeding old: LockedKeybag, recoveredBy opener: borrowing RecoveryProtector,
        as new: KeybagPlace, protector: borrowing Protector, settings: [UInt8]
    ) throws(KeybagError) {
        let oldKeys = try opener.wrappingKeys(of: old)
        try self.init(succeeding: old, oldKeys, as: new, protector, settings)
    }

    private init(
        succeeding old: LockedKeybag, _ oldKeys: borrowing WrappingKeys, as new: KeybagPlace,
        _ protector: borrowing Protector, _ settings: [UInt8]
    ) throws(KeybagError) {
        // The database counts in 63 bits, and a keybag that a recovery key opens may be forged.
        guard old.epoch.rawValue < UInt64(Int64.max) else {
            throw KeybagError(.malformed, during: "make a keybag")
        }
        let keys = WrappingKeys(root: .random(), protector, keychainID: old.keychainID)
        self.init(
            old.keychainID, Epoch(old.epoch.rawValue + 1), new.deviceSource, protector, keys)
        try takeOverSyncSecrets(from: old, oldKeys, keys)
        if let recovery = new.recovery { try seal(keys.root, to: recovery) }
        mac = authenticationCode(root: keys.root, settings: settings)
    }

    /// All but the MAC.
    init(
        _ keychainID: KeychainID, _ epoch: Epoch, _ deviceSource: DeviceKeySource,
        _ protector: borrowing Protector, _ keys: borrowing WrappingKeys
    ) {
        let noBytes: [UInt8] = []
        self.init(
            keychainID: keychainID, epoch: epoch, protector: protector.kind,
            deviceSource: deviceSource, deviceKeyID: protector.deviceKeyID,
            records: protector.wrap(keys.root, keychainID: keychainID, epoch: epoch),
            mac: Digest(of: noBytes.span))
        addNewKeys(under: keys)
    }

    private mutating func addNewKeys(under keys: borrowing WrappingKeys) {
        for protectionClass in ProtectionClass.allCases {
            let tag = KeybagTag.classKey(protectionClass)
            switch keys.kek(of: protectionClass) {
            case .none: continue
            case .some(let kek):
                let wrapped = KeyWrap.wrap(ClassKey.random(), under: kek, binding: binding(tag))
                records[tag] = wrapped.bytes
            }
        }
        let index = KeyWrap.wrap(
            IndexKey.random(), under: keys.indexKEK, binding: binding(.indexKey))
        records[.indexKey] = index.bytes
        addNewPresencePairs(under: keys)
    }
}

/// The keybag of an epoch while the next one takes over: docs/FORMAT.md §4.4.
extension LockedKeybag {
    /// The class keys and the index key of `old`, under a new root key and behind `protector`.
    ///
    /// Keys that `opener` does not open are replaced by new ones. Without a passcode the keybag has
    /// no presence pairs and no key of ``ProtectionClass/whenPasscodeSetThisDeviceOnly``. The sync
    /// secrets go to the keybag of the next epoch alone.
    /// - Parameters:
    ///   - new: Where the new device secret comes from, and which recovery key opens the keybag.
    ///   - settings: The bytes beside the keybag that the MACs of both keybags cover.
    /// - Throws: As ``unlock(with:settings:)``.
    package init(
        rewrapping old: LockedKeybag, openedBy opener: borrowing Protector,
        as new: KeybagPlace, protector: borrowing Protector, settings: [UInt8]
    ) throws(KeybagError) {
        let root = try old.authenticatedRootKey(opener, settings: settings)
        let keys = WrappingKeys(root: root, opener, keychainID: old.keychainID)
        try self.init(rewrapping: old, keys, as: new, protector, settings)
    }

    /// The keys of `old` that a recovery key opens, under a new root key and behind `protector`.
    ///
    /// - Throws: As ``unlock(with:settings:)-(RecoveryProtector,_)``.
    package init(
        rewrapping old: LockedKeybag, recoveredBy opener: borrowing RecoveryProtector,
        as new: KeybagPlace, protector: borrowing Protector, settings: [UInt8]
    ) throws(KeybagError) {
        let keys = try opener.wrappingKeys(of: old)
        try old.checkMAC(root: keys.root, settings: settings)
        try self.init(rewrapping: old, keys, as: new, protector, settings)
    }

    private init(
        rewrapping old: LockedKeybag, _ oldKeys: borrowing WrappingKeys, as new: KeybagPlace,
        _ protector: borrowing Protector, _ settings: [UInt8]
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

    /// Replaces the new class key by that of `old`, if it can be opened.
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

    /// The id of the key of `protectionClass`, by which rows name it; nil if the keybag lacks it.
    ///
    /// Trust it only if the keybag was unlocked, or has the digest of one that was.
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
    package let deviceSource: DeviceKeySource
    /// The public half of the recovery key; nil for none.
    package let recovery: PublicKey?

    /// Names both.
    package init(deviceSource: DeviceKeySource, recovery: PublicKey?) {
        self.deviceSource = deviceSource
        self.recovery = recovery
    }
}
