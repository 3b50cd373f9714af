// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

/// The secrets that open a keybag: the device secret, and the other secrets that the keybag
/// demands. It also makes new keybags that it will open. docs/FORMAT.md §4.2, §4.5, §4.8.
///
/// A protector holds the stretched passcode: release it as soon as the keybag is open.
package struct Protector: ~Copyable, Sendable {
    /// The secrets beside the device secret.
    enum Share: ~Copyable, Sendable {
        case none
        case passcode(StretchedRecord)
        case tpm(TPMShare)
    }

    /// A passcode that only a TPM can verify. Nothing is wrapped under the passcode alone, so a
    /// thief of the disk without the TPM cannot try passcodes.
    struct TPMShare: ~Copyable, Sendable {
        let passcode: StretchedRecord
        let unsealed: TPMPasscodeSecret
        let object: [UInt8]
    }

    let secret: DeviceSecret
    let share: Share
    /// The TPM's object of the device secret, as keybags store it; nil if the secret comes from
    /// elsewhere, or if this only opens keybags.
    private let deviceObject: [UInt8]?

    private init(
        _ secret: consuming DeviceSecret, _ share: consuming Share, deviceObject: [UInt8]?
    ) throws(KeychainFailure) {
        if let deviceObject { try TPMObjectRecord.check(deviceObject) }
        self.secret = secret
        self.share = share
        self.deviceObject = deviceObject
    }

    package init(_ secret: consuming DeviceSecret) {
        self.secret = secret
        share = .none
        deviceObject = nil
    }

    /// A protector for new keybags, made of only the device secret, which a TPM releases.
    ///
    /// - Parameter object: The TPM's object, as it is stored: docs/FORMAT.md §4.8.
    /// - Throws: ``KeychainFailure/Code/keychainDamaged`` for an object of another form.
    package init(_ secret: consuming DeviceSecret, object: [UInt8]) throws(KeychainFailure) {
        try self.init(secret, .none, deviceObject: object)
    }

    /// A protector for new keybags, made of the device secret and a new passcode, which it
    /// stretches with a new salt.
    ///
    /// - Throws: ``KeychainFailure/Code/outOfMemory``.
    package init(
        _ secret: consuming DeviceSecret, passcode: Passcode, cost: Argon2Cost
    ) throws(KeychainFailure) {
        try self.init(secret, passcode: StretchedRecord(passcode, cost: cost))
    }

    /// A protector that opens `keybag`, made of the device secret and a passcode, which it
    /// stretches with the salt and cost of `keybag`.
    ///
    /// Throws before stretching if opening would fail anyway.
    /// - Throws: ``KeychainFailure``: `locked` if the keybag has no passcode, or a TPM verifies
    ///   it; `keyUnavailable`; `keychainDamaged`; `outOfMemory`. Only opening the keybag detects a
    ///   wrong passcode.
    package init(
        _ secret: consuming DeviceSecret, passcode: Passcode,
        opening keybag: LockedKeybag
    ) throws(KeychainFailure) {
        guard keybag.protector == .passcode else {
            throw KeychainFailure(.needsProtector)
        }
        try keybag.check(secret)
        let argon2 = try Argon2Record(parsing: keybag.body(.argon2))
        try self.init(secret, passcode: StretchedRecord(passcode, argon2: argon2))
    }

    /// A protector made of the device secret and a stretched passcode.
    init(_ secret: consuming DeviceSecret, passcode: consuming StretchedRecord) {
        self.secret = secret
        share = .passcode(passcode)
        deviceObject = nil
    }

    /// A protector made of the device secret, a passcode, and the secret that a TPM releases for
    /// it.
    ///
    /// - Parameters:
    ///   - unsealed: The secret that the TPM released for ``StretchedRecord/authorization``; for a
    ///     new keybag, the secret that was sealed under it.
    ///   - object: The TPM's object of that secret, as keybags store it.
    ///   - deviceObject: The TPM's object of the device secret, to make keybags of source `tpm`.
    /// - Throws: ``KeychainFailure/Code/keychainDamaged`` for an object of another form.
    package init(
        _ secret: consuming DeviceSecret, passcode: consuming StretchedRecord,
        unsealed: consuming TPMPasscodeSecret, object: [UInt8], deviceObject: [UInt8]? = nil
    ) throws(KeychainFailure) {
        try TPMObjectRecord.check(object)
        let share = TPMShare(passcode: passcode, unsealed: unsealed, object: object)
        try self.init(secret, .tpm(share), deviceObject: deviceObject)
    }

    /// The kind of keybags that it opens and makes.
    package var kind: ProtectorKind {
        switch share {
        case .none: .device
        case .passcode: .passcode
        case .tpm: .tpmAndPasscode
        }
    }

    package var deviceKeyID: KeyID { secret.id }

    /// The keys under which the keys of `keybag` are wrapped.
    ///
    /// - Throws: As ``rootKey(of:)``.
    func wrappingKeys(of keybag: LockedKeybag) throws(KeychainFailure) -> WrappingKeys {
        WrappingKeys(root: try rootKey(of: keybag), self, keychainID: keybag.keychainID)
    }

    /// The key that binds other keys to this device, such as `ThisDeviceOnly` class keys.
    func deviceKEK(for keychainID: KeychainID) -> DeviceKEK { secret.kek(for: keychainID) }

    /// The key that binds other keys to the passcode, such as the key of the class
    /// `whenPasscodeSetThisDeviceOnly`; nil without a passcode.
    func passcodeKEK(for keychainID: KeychainID) -> PasscodeKEK? {
        switch share {
        case .none: nil
        case .passcode(let passcode): kek(for: keychainID, passcode)
        case .tpm(let share): kek(for: keychainID, share)
        }
    }

    func kek(
        for keychainID: KeychainID, _ passcode: borrowing StretchedRecord
    ) -> PasscodeKEK {
        KeyedHash.derive(from: secret, .passcodeKEK) { hash in
            hash.append(keychainID)
            hash.append(passcode.stretched)
        }
    }

    func kek(for keychainID: KeychainID, _ share: borrowing TPMShare) -> PasscodeKEK {
        KeyedHash.derive(from: secret, .passcodeKEKTPM) { hash in
            hash.append(keychainID)
            hash.append(share.unsealed)
            hash.append(share.passcode.stretched)
        }
    }

    /// The data to which the wrap of the root key is bound, beside keychain and epoch.
    var rootParameters: [UInt8] {
        switch share {
        case .none: []
        case .passcode(let passcode): passcode.argon2.bytes
        case .tpm(let share): share.passcode.argon2.bytes + share.object
        }
    }

    /// The records of a keybag that this protector opens: the wrapped root key, the Argon2 record
    /// and the TPM's objects, as far as its kind has them.
    func wrap(
        _ root: borrowing RootKey, keychainID: KeychainID, epoch: Epoch
    ) -> [KeybagTag: [UInt8]] {
        let binding = WrapBinding(
            .root, keychainID: keychainID, epoch: epoch, parameters: rootParameters)
        var records: [KeybagTag: [UInt8]] = [:]
        switch share {
        case .none:
            records[.rootByDevice] =
                KeyWrap.wrap(root, under: deviceKEK(for: keychainID), binding: binding).bytes
        case .passcode(let passcode):
            records[.rootByPasscode] =
                KeyWrap.wrap(root, under: kek(for: keychainID, passcode), binding: binding).bytes
            records[.argon2] = passcode.argon2.bytes
        case .tpm(let share):
            records[.rootByTPM] =
                KeyWrap.wrap(root, under: kek(for: keychainID, share), binding: binding).bytes
            records[.argon2] = share.passcode.argon2.bytes
            records[.tpmPasscodeObject] = share.object
        }
        records[.tpmDeviceObject] = deviceObject
        return records
    }
}

extension SymmetricKey<Purpose.Device> {
    /// Kdev of a keychain: docs/FORMAT.md §4.2.
    fileprivate func kek(for keychainID: KeychainID) -> DeviceKEK {
        KeyedHash.derive(from: self, .deviceKEK) { hash in hash.append(keychainID) }
    }
}

/// The secrets that open a keybag whose device secret or passcode is lost: the recovery key and, if
/// it is still available, the device secret.
///
/// It is not a ``Protector``: no keybag is made with it, and it does not open all classes.
package struct RecoveryProtector: ~Copyable, Sendable {
    private let key: RecoveryKey
    private let secret: DeviceSecret?

    package init(_ key: consuming RecoveryKey, deviceSecret: consuming DeviceSecret? = nil) {
        self.key = key
        secret = deviceSecret
    }

    /// The keys that open the recoverable classes of `keybag`.
    ///
    /// - Throws: As ``LockedKeybag/unlock(with:settings:)-(RecoveryProtector,_)``, without the
    ///   check of the MAC.
    func wrappingKeys(of keybag: LockedKeybag) throws(KeychainFailure) -> WrappingKeys {
        let root = try rootKey(of: keybag)
        switch secret {
        case .none: return WrappingKeys(root: root, device: nil, passcode: nil)
        case .some(let secret):
            try keybag.check(secret)
            let device = secret.kek(for: keybag.keychainID)
            return WrappingKeys(root: root, device: device, passcode: nil)
        }
    }

    private func rootKey(of keybag: LockedKeybag) throws(KeychainFailure) -> RootKey {
        guard let publicKey = try keybag.recoveryPublicKey else {
            throw KeychainFailure(.noRecoveryKey)
        }
        guard publicKey == key.publicKey else {
            throw KeychainFailure(.wrongRecoveryKey)
        }
        let body = try keybag.body(.rootByRecoveryKey)
        do {
            return try SealedToPublicKey(parsing: body.span)
                .unwrap(with: key.pair, binding: keybag.binding(.rootByRecoveryKey))
        } catch {
            throw KeychainFailure(error)
        }
    }
}
