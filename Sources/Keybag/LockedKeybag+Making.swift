// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
package import ValetSealing

extension LockedKeybag {
    /// Makes the keybag of a new keychain or epoch, with random keys throughout. The key of items
    /// that need a passcode is there if `protector` has one.
    ///
    /// - Parameter settings: The bytes beside the keybag that its MAC covers.
    package init(
        keychainID: KeychainID, epoch: Epoch, deviceSource: DeviceSource,
        protector: borrowing some Protector & ~Copyable, settings: [UInt8]
    ) {
        let keys = WrappingKeys(root: .random(), protector, keychainID: keychainID)
        self.init(keychainID, epoch, deviceSource, protector, keys)
        mac = authenticationCode(root: keys.root, settings: settings)
    }

    /// Makes the keybag of the epoch after that of `old`, with random keys throughout.
    ///
    /// - Parameters:
    ///   - recovery: The public half of the recovery key that is to open it. The one of `old`, for
    ///     a recovery key to live on: it has to come from a keybag that was unlocked. Nil revokes.
    ///   - settings: The bytes beside the new keybag that its MAC covers.
    /// - Throws: ``KeybagError/Code/malformed`` for a recovery key that nothing can be sealed to,
    ///   or after the last epoch that there is.
    package init(
        succeeding old: LockedKeybag, recovery: PublicKey?, deviceSource: DeviceSource,
        protector: borrowing some Protector & ~Copyable, settings: [UInt8]
    ) throws(KeybagError) {
        // The database counts in 63 bits, and a keybag that a recovery key opens may be made up.
        guard old.epoch.rawValue < UInt64(Int64.max) else {
            throw KeybagError(.malformed, during: "make a keybag")
        }
        let keys = WrappingKeys(root: .random(), protector, keychainID: old.keychainID)
        self.init(
            old.keychainID, Epoch(old.epoch.rawValue + 1), deviceSource, protector, keys)
        if let recovery { try seal(keys.root, to: recovery) }
        mac = authenticationCode(root: keys.root, settings: settings)
    }

    /// All but the MAC.
    init(
        _ keychainID: KeychainID, _ epoch: Epoch, _ deviceSource: DeviceSource,
        _ protector: borrowing some Protector & ~Copyable, _ keys: borrowing WrappingKeys
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
