// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// Which records there have to be: docs/FORMAT.md §4.2, the column "present".
extension LockedKeybag {
    /// Checks the presence of every record, and the content of those that hold no wrapped key.
    ///
    /// - Throws: ``KeybagError/Code/malformed``.
    func checkRecords() throws(KeybagError) {
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

    /// Whether the record has to be there, or must not be; nil if it may.
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
        case .syncCircle: nil
        }
    }
}
