// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

/// Opening a keybag, with a protector or a recovery key.
extension LockedKeybag {
    /// Opens the keybag: every class that has a key in it.
    ///
    /// - Parameter settings: The bytes beside the keybag that its MAC covers: docs/FORMAT.md §4.3.
    /// - Throws: ``KeychainFailure``: `locked` for a protector of another kind; `keyUnavailable`
    ///   for another device secret; `authenticationFailed` for a wrong passcode; `keychainDamaged`;
    ///   `newerFormat` for a wrapped key of a later version.
    package func unlock(
        with protector: borrowing Protector, settings: [UInt8]
    ) throws(KeychainFailure) -> UnlockedKeybag {
        let root = try authenticatedRootKey(protector, settings: settings)
        return try open(with: WrappingKeys(root: root, protector, keychainID: keychainID))
    }

    /// The root key, if the MAC is right.
    func authenticatedRootKey(
        _ protector: borrowing Protector, settings: [UInt8]
    ) throws(KeychainFailure) -> RootKey {
        guard protector.kind == self.protector else {
            throw KeychainFailure(.needsProtector)
        }
        let root = try protector.rootKey(of: self)
        try checkMAC(root: root, settings: settings)
        return root
    }

    /// - Throws: ``KeychainFailure/Code/keychainDamaged``.
    func checkMAC(root: borrowing RootKey, settings: [UInt8]) throws(KeychainFailure) {
        guard mac == authenticationCode(root: root, settings: settings) else {
            throw KeychainFailure(.tampered)
        }
    }

    /// Opens the index key and each class that `keys` suffice for.
    func open(with keys: borrowing WrappingKeys) throws(KeychainFailure) -> UnlockedKeybag {
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
        // Opened only to find out whether it was changed.
        _ = try open(.passcode, with: keys)
        let person = try open(.person, with: keys)
        let secrets = OpenedSecrets(
            person: person?.intoSecret(),
            firstUnlockSync: try openSyncSecret(.afterFirstUnlock, with: keys),
            unlockedSync: try openSyncSecret(.whileUnlocked, with: keys))
        return UnlockedKeybag(
            keychainID: keychainID, epoch: epoch, index: index, classes: classes, secrets)
    }

    func unwrap<P, K: WrapsKeys>(
        _ tag: KeybagTag, under kek: borrowing SymmetricKey<K>
    ) throws(KeychainFailure) -> SymmetricKey<P> {
        let wrapped = try wrappedKey(tag)
        do {
            return try KeyWrap.unwrap(wrapped, under: kek, binding: binding(tag))
        } catch {
            throw KeychainFailure(error)
        }
    }
}

/// MAC and digest: docs/FORMAT.md §4.3.
extension LockedKeybag {
    func authenticationCode(root: borrowing RootKey, settings: [UInt8]) -> Digest {
        let bytes = authenticatedBytes
        return KeyedHash.digest(root, .keybagMAC) { hash in
            hash.append(bytes)
            hash.append(settings)
        }
    }

    /// The digest of this keybag and the settings beside it, by which code that has authenticated
    /// them recognizes them. The digest itself proves nothing: anyone can compute it.
    package func digest(settings: [UInt8]) -> Digest {
        let bytes = authenticatedBytes
        var parts = LengthPrefixed(reservingByteCount: 8 + bytes.count + settings.count)
        parts.append(bytes)
        parts.append(settings)
        return parts.withBytes { parts in Digest(of: parts) }
    }
}

/// The recovery key: docs/FORMAT.md §4.6.
extension LockedKeybag {
    /// The public half of the recovery key; nil if none was made.
    ///
    /// Trust it only if the keybag was unlocked, or has the digest of one that was: a writer of the
    /// database could have put another one here.
    /// - Throws: ``KeychainFailure/Code/keychainDamaged`` unless the record has 32 bytes.
    package var recoveryPublicKey: PublicKey? {
        get throws(KeychainFailure) {
            guard let body = records[.recoveryPublicKey] else { return nil }
            do {
                return try PublicKey(body)
            } catch {
                throw KeychainFailure(error)
            }
        }
    }

    /// The same keybag, opened also by the recovery key with this public half.
    ///
    /// An earlier recovery key does not open the new keybag, but still opens earlier copies: only a
    /// new epoch revokes that key.
    /// - Throws: As ``unlock(with:settings:)``; ``KeychainFailure/Code/keychainDamaged`` for a
    ///   public key that nothing can be sealed to.
    package func addingRecoveryKey(
        _ publicKey: PublicKey, with protector: borrowing Protector,
        settings: [UInt8]
    ) throws(KeychainFailure) -> LockedKeybag {
        let root = try authenticatedRootKey(protector, settings: settings)
        var keybag = self
        try keybag.seal(root, to: publicKey)
        keybag.mac = keybag.authenticationCode(root: root, settings: settings)
        return keybag
    }

    /// Writes the two records of recovery.
    mutating func seal(
        _ root: borrowing RootKey, to publicKey: PublicKey
    ) throws(KeychainFailure) {
        do {
            let sealed = try SealedToPublicKey(
                wrapping: root, to: publicKey, binding: binding(.rootByRecoveryKey))
            records[.rootByRecoveryKey] = sealed.bytes
            records[.recoveryPublicKey] = publicKey.bytes
        } catch {
            throw KeychainFailure(error)
        }
    }

    /// Opens the keybag with a recovery key: the classes that may migrate, and the index key. With
    /// the device secret, it also opens the classes of this device only, except the one that needs
    /// the passcode.
    ///
    /// Use the keys only to reseal items in a new epoch, never to write. Without the device secret,
    /// the MAC proves only that the keybag is whole: a writer of the database can make another
    /// keybag for the same public key.
    /// - Parameter settings: The bytes beside the keybag that its MAC covers: docs/FORMAT.md §4.3.
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a wrong recovery key, or if there
    ///   is none; `keyUnavailable` for the device secret of another keychain; `keychainDamaged`;
    ///   `newerFormat`.
    package func unlock(
        with protector: borrowing RecoveryProtector, settings: [UInt8]
    ) throws(KeychainFailure) -> UnlockedKeybag {
        let keys = try protector.wrappingKeys(of: self)
        try checkMAC(root: keys.root, settings: settings)
        return try open(with: keys)
    }
}

/// The data to which wrapped keys are bound: docs/FORMAT.md §4.2.
extension LockedKeybag {
    /// The data to which the key in record `tag` is bound. ``Protector`` binds the root key itself.
    func binding(_ tag: KeybagTag) -> WrapBinding {
        switch tag {
        case .classKey(let protectionClass):
            WrapBinding(
                .classKey, keychainID: keychainID, epoch: epoch,
                parameters: Array(protectionClass.code.utf8))
        case .indexKey: WrapBinding(.index, keychainID: keychainID, epoch: epoch)
        case .presencePasscode: presenceBinding(.passcode)
        case .presencePerson: presenceBinding(.person)
        case .rootByRecoveryKey:
            WrapBinding(.rootRecovery, keychainID: keychainID, epoch: epoch)
        case .syncSecret(let scope):
            WrapBinding(
                .sync, keychainID: keychainID, epoch: epoch, parameters: [scope.rawValue])
        default: WrapBinding(.root, keychainID: keychainID, epoch: epoch)
        }
    }

    private func presenceBinding(_ pair: PresencePair) -> WrapBinding {
        WrapBinding(
            .presence, keychainID: keychainID, epoch: epoch, parameters: Array(pair.rawValue.utf8))
    }
}

/// The keys from which the wrapping keys of one epoch are derived: docs/FORMAT.md §4.2.
struct WrappingKeys: ~Copyable {
    let root: RootKey
    let device: DeviceKEK?
    let passcode: PasscodeKEK?

    init(root: consuming RootKey, device: consuming DeviceKEK?, passcode: consuming PasscodeKEK?) {
        self.root = root
        self.device = device
        self.passcode = passcode
    }

    /// A root key, and the keys of `protector`.
    init(
        root: consuming RootKey, _ protector: borrowing Protector,
        keychainID: KeychainID
    ) {
        self.root = root
        device = protector.deviceKEK(for: keychainID)
        passcode = protector.passcodeKEK(for: keychainID)
    }

    /// The key that wraps the key of `protectionClass`; nil if it cannot be derived because the
    /// device's or the passcode's key is missing.
    func kek(of protectionClass: ProtectionClass) -> ClassKEK? {
        guard protectionClass.isThisDeviceOnly else {
            return KeyedHash.derive(from: root, .classKEK) { $0.append(protectionClass.code) }
        }
        let needsPasscode = protectionClass == .whenPasscodeSetThisDeviceOnly
        var hash = KeyedHash(root, needsPasscode ? .classKEKPasscode : .classKEKDevice)
        hash.append(protectionClass.code)
        switch device {
        case .some(let device): hash.append(device)
        case .none: return nil
        }
        guard needsPasscode else { return hash.derive() }
        switch passcode {
        case .some(let passcode): hash.append(passcode)
        case .none: return nil
        }
        return hash.derive()
    }

    /// The key that wraps the secret half of a presence pair; nil if it cannot be derived because
    /// the device's or the passcode's key is missing.
    func kek(of pair: PresencePair) -> PresenceKEK? {
        var hash = KeyedHash(root, pair == .passcode ? .presencePasscode : .presencePerson)
        switch device {
        case .some(let device): hash.append(device)
        case .none: return nil
        }
        guard pair == .passcode else { return hash.derive() }
        switch passcode {
        case .some(let passcode): hash.append(passcode)
        case .none: return nil
        }
        return hash.derive()
    }

    /// The key that wraps the index key.
    var indexKEK: IndexKEK { KeyedHash.derive(from: root, .indexKEK) }
}
