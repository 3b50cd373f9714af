// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// New keybags: of a new keychain, and of the next epoch.
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
    /// Does not check the MAC of `old`. A key change also unlocks `old`, which checks the MAC.
    /// - Parameters:
    ///   - new: Where the device secret comes from, and which recovery key will open the keybag. To
    ///     keep the recovery key of `old`, pass the one of a keybag that was unlocked. Nil revokes
    ///     the recovery key.
    ///   - settings: The bytes beside the new keybag that its MAC covers.
    /// - Throws: As ``unlock(with:settings:)``; ``KeychainFailure/Code/keychainDamaged`` for a
    ///   recovery key that nothing can be sealed to, or after the last possible epoch.
    package init(
        succeeding old: LockedKeybag, openedBy opener: borrowing Protector,
        as new: KeybagPlace, protector: borrowing Protector, settings: [UInt8]
    ) throws(KeychainFailure) {
        let oldKeys = try opener.wrappingKeys(of: old)
        try self.init(succeeding: old, oldKeys, as: new, protector, settings)
    }

    /// As ``init(succeeding:openedBy:as:protector:settings:)``, with a recovery key. If `opener`
    /// lacks the device secret of `old`, the sync secrets of `old` are lost.
    package init(
        succeeding old: LockedKeybag, recoveredBy opener: borrowing RecoveryProtector,
        as new: KeybagPlace, protector: borrowing Protector, settings: [UInt8]
    ) throws(KeychainFailure) {
        let oldKeys = try opener.wrappingKeys(of: old)
        try self.init(succeeding: old, oldKeys, as: new, protector, settings)
    }

    private init(
        succeeding old: LockedKeybag, _ oldKeys: borrowing WrappingKeys, as new: KeybagPlace,
        _ protector: borrowing Protector, _ settings: [UInt8]
    ) throws(KeychainFailure) {
        // The database stores epochs in 63 bits. A keybag that a recovery key opens may be forged,
        // and have any epoch.
        guard old.epoch.rawValue < UInt64(Int64.max) else {
            throw KeychainFailure(.malformed)
        }
        let keys = WrappingKeys(root: .random(), protector, keychainID: old.keychainID)
        self.init(
            old.keychainID, Epoch(old.epoch.rawValue + 1), new.deviceSource, protector, keys)
        try takeOverSyncSecrets(from: old, oldKeys, keys)
        if let recovery = new.recovery { try seal(keys.root, to: recovery) }
        mac = authenticationCode(root: keys.root, settings: settings)
    }

    /// Everything except the MAC.
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

/// Names of keys.
extension LockedKeybag {
    /// The id of the key of `protectionClass`, by which rows name it; nil if the keybag lacks it.
    ///
    /// Trust it only if the keybag was unlocked, or has the digest of one that was.
    /// - Throws: ``KeychainFailure/Code/keychainDamaged``, ``KeychainFailure/Code/newerFormat``.
    package func keyID(of protectionClass: ProtectionClass) throws(KeychainFailure) -> KeyID? {
        let tag = KeybagTag.classKey(protectionClass)
        guard records[tag] != nil else { return nil }
        return try wrappedKey(tag).keyID
    }
}

/// Where a keybag's device secret comes from, and which recovery key opens it.
package struct KeybagPlace: Sendable {
    package let deviceSource: DeviceKeySource
    /// The public half of the recovery key; nil for none.
    package let recovery: PublicKey?

    package init(deviceSource: DeviceKeySource, recovery: PublicKey?) {
        self.deviceSource = deviceSource
        self.recovery = recovery
    }
}
