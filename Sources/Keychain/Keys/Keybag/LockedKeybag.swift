// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

/// The wrapped keys of one epoch, as they are stored.
///
/// A value was parsed or made here, so it has a legal form. Nothing is authenticated before
/// ``unlock(with:settings:)``. Encoding: docs/FORMAT.md §4.1; which records: §4.2.
package struct LockedKeybag: Sendable {
    package let keychainID: KeychainID
    /// The generation of keys, counted from 1.
    package let epoch: Epoch
    /// The kind of secrets that open the root key.
    package let protector: ProtectorKind
    /// Where the device secret comes from.
    package let deviceSource: DeviceKeySource
    /// The id of the device secret that the keybag was made with.
    package let deviceKeyID: KeyID
    /// The body of each record by its tag: wrapped keys and their parameters.
    package internal(set) var records: [KeybagTag: [UInt8]]
    /// The MAC over the keybag and the settings that are stored with it.
    package internal(set) var mac: Digest

    /// Checks that the keybag was made with `secret`, by comparing the ids of the device secrets.
    ///
    /// - Throws: ``KeychainFailure/Code/keyUnavailable``.
    func check(_ secret: borrowing DeviceSecret) throws(KeychainFailure) {
        guard deviceKeyID == secret.id else {
            throw KeychainFailure(.wrongDeviceSecret)
        }
    }

    /// The body of a required record.
    func body(_ tag: KeybagTag) throws(KeychainFailure) -> [UInt8] {
        guard let body = records[tag] else {
            throw KeychainFailure(.malformed)
        }
        return body
    }

    /// The wrapped key in record `tag`.
    func wrappedKey(_ tag: KeybagTag) throws(KeychainFailure) -> WrappedKey {
        let body = try body(tag)
        do {
            return try WrappedKey(parsing: body.span)
        } catch {
            throw KeychainFailure(error)
        }
    }
}

extension LockedKeybag {
    /// The stored TPM object of the device secret; nil if the secret comes from elsewhere.
    package var tpmDeviceObject: [UInt8]? { records[.tpmDeviceObject] }

    /// The stored TPM object of the passcode's secret; nil if none is needed.
    package var tpmPasscodeObject: [UInt8]? { records[.tpmPasscodeObject] }

    /// The protection level of the keychain, as the keybag records it; the environment has no
    /// influence.
    package var level: ProtectionLevel {
        switch (protector, deviceSource) {
        case (.device, .ownFile): .file
        case (.device, .credential), (.device, .keyFile): .credential
        case (.device, .tpm): .tpm
        case (.passcode, _): .passcode
        case (.tpmAndPasscode, _): .tpmAndPasscode
        }
    }
}

/// The stored bytes: docs/FORMAT.md §4.1.
extension LockedKeybag {
    private static let magic = Array("VALETBAG".utf8)
    private static let version: UInt16 = 1
    private static let maximalRecordCount = 64
    private static let maximalBodyByteCount = 4096

    /// Parses the bytes of a keybag.
    ///
    /// - Throws: ``KeychainFailure/Code/newerFormat`` for a version, protector, source or tag that
    ///   this version does not know, ``KeychainFailure/Code/keychainDamaged`` for anything else
    ///   that is wrong: a record that is missing or out of place, a cost out of bounds.
    package init(parsing bytes: [UInt8]) throws(KeychainFailure) {
        var reader = ByteReader(bytes, malformed: KeychainFailure.malformedKeybag)
        guard try reader.bytes(8) == Self.magic else { throw .malformedKeybag }
        guard try reader.integer(UInt16.self) == Self.version else { throw .newerKeybag }
        keychainID = try reader.fixedBytes()
        epoch = Epoch(try reader.integer())
        guard epoch.rawValue > 0 else { throw .malformedKeybag }
        guard let protector = ProtectorKind(rawValue: try reader.integer()),
            let deviceSource = DeviceKeySource(rawValue: try reader.integer())
        else { throw .newerKeybag }
        self.protector = protector
        self.deviceSource = deviceSource
        deviceKeyID = try reader.fixedBytes()
        records = try Self.records(from: &reader)
        mac = try reader.fixedBytes()
        guard reader.isAtEnd else { throw .malformedKeybag }
        try checkRecords()
    }

    private static func records(
        from reader: inout ByteReader<KeychainFailure>
    ) throws(KeychainFailure) -> [KeybagTag: [UInt8]] {
        let count = try reader.integer(UInt16.self)
        guard count <= maximalRecordCount else { throw .malformedKeybag }
        var records: [KeybagTag: [UInt8]] = [:]
        var last: UInt16 = 0
        for _ in 0..<count {
            let number = try reader.integer(UInt16.self)
            guard number > last else { throw .malformedKeybag }
            last = number
            let byteCount = Int(try reader.integer(UInt32.self))
            guard byteCount <= maximalBodyByteCount else { throw .malformedKeybag }
            let body = try reader.bytes(byteCount)
            guard let tag = KeybagTag(rawValue: number) else { throw .newerKeybag }
            records[tag] = body
        }
        return records
    }

    /// The bytes that ``init(parsing:)`` takes.
    package var encoded: [UInt8] { authenticatedBytes + mac.bytes }

    /// Everything but the MAC.
    var authenticatedBytes: [UInt8] {
        var bytes = Self.magic
        bytes.append(bigEndian: Self.version)
        bytes += keychainID.bytes
        bytes.append(bigEndian: epoch.rawValue)
        bytes.append(protector.rawValue)
        bytes.append(deviceSource.rawValue)
        bytes += deviceKeyID.bytes
        bytes.append(bigEndian: UInt16(records.count))
        for (tag, body) in records.sorted(by: { $0.key < $1.key }) {
            bytes.append(bigEndian: tag.rawValue)
            bytes.append(bigEndian: UInt32(body.count))
            bytes += body
        }
        return bytes
    }
}

extension KeychainFailure {
    static var malformedKeybag: KeychainFailure { KeychainFailure(.malformed) }
    static var newerKeybag: KeychainFailure { KeychainFailure(.newer) }
}

/// Which records a keybag has: docs/FORMAT.md §4.2, the column "present".
extension LockedKeybag {
    /// Checks the presence of every record, and the content of those that hold no wrapped key.
    ///
    /// - Throws: ``KeychainFailure/Code/keychainDamaged``.
    func checkRecords() throws(KeychainFailure) {
        for tag in KeybagTag.allCases {
            guard let isExpected = isExpected(tag) else { continue }
            guard isExpected == (records[tag] != nil) else { throw .malformedKeybag }
        }
        if let body = records[.argon2] { _ = try Argon2Record(parsing: body) }
        for tag in [KeybagTag.tpmDeviceObject, .tpmPasscodeObject] {
            if let body = records[tag] { try TPMObjectRecord.check(body) }
        }
        _ = try recoveryPublicKey
        for pair in PresencePair.allCases { _ = try publicKey(of: pair) }
    }

    /// True if the record is required, false if it is forbidden, nil if it is optional.
    private func isExpected(_ tag: KeybagTag) -> Bool? {
        switch tag {
        case .rootByDevice: protector == .device
        case .rootByPasscode: protector == .passcode
        case .rootByTPM: protector == .tpmAndPasscode
        case .argon2, .classKey(.whenPasscodeSetThisDeviceOnly): protector != .device
        case .tpmDeviceObject: deviceSource == .tpm
        case .tpmPasscodeObject: protector == .tpmAndPasscode
        case .classKey, .indexKey: true
        case .rootByRecoveryKey: records[.recoveryPublicKey] != nil
        case .recoveryPublicKey: records[.rootByRecoveryKey] != nil
        case .presencePasscode: protector != .device && records[.presencePerson] != nil
        case .presencePerson: protector != .device && records[.presencePasscode] != nil
        // Both or neither: a device makes them together when it joins a circle.
        case .syncSecret(let scope):
            records[.syncSecret(scope == .whileUnlocked ? .afterFirstUnlock : .whileUnlocked)]
                != nil
        }
    }
}
