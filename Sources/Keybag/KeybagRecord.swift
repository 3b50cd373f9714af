// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel

/// What a record of a keybag holds (docs/FORMAT.md §4.2).
package enum KeybagTag: Hashable, Sendable, Comparable, CaseIterable {
    case rootByDevice
    case rootByPasscode
    case rootByTPM
    case rootByRecoveryKey
    case argon2
    case tpmDeviceObject
    case tpmPasscodeObject
    case recoveryPublicKey
    case classKey(ProtectionClass)
    case indexKey
    case presencePasscode
    case presencePerson
    case syncCircle

    /// The tag's number.
    package var rawValue: UInt16 {
        switch self {
        case .rootByDevice: 0x0101
        case .rootByPasscode: 0x0102
        case .rootByTPM: 0x0103
        case .rootByRecoveryKey: 0x0104
        case .argon2: 0x0110
        case .tpmDeviceObject: 0x0120
        case .tpmPasscodeObject: 0x0121
        case .recoveryPublicKey: 0x0130
        case .classKey(let protectionClass): 0x0200 + UInt16(protectionClass.rawValue)
        case .indexKey: 0x0301
        case .presencePasscode: 0x0401
        case .presencePerson: 0x0402
        case .syncCircle: 0x0501
        }
    }

    /// All that this version knows.
    package static let allCases: [KeybagTag] =
        [
            .rootByDevice, .rootByPasscode, .rootByTPM, .rootByRecoveryKey, .argon2,
            .tpmDeviceObject, .tpmPasscodeObject, .recoveryPublicKey, .indexKey, .presencePasscode,
            .presencePerson, .syncCircle,
        ] + ProtectionClass.allCases.map(KeybagTag.classKey)

    private static let byNumber = Dictionary(
        uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

    /// The tag of that number; nil for one that this version does not know.
    package init?(rawValue: UInt16) {
        guard let tag = Self.byNumber[rawValue] else { return nil }
        self = tag
    }

    /// Tags order by their numbers.
    package static func < (left: KeybagTag, right: KeybagTag) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// Which secrets open the root key.
package enum ProtectorKind: UInt8, CaseIterable, Hashable, Sendable {
    case device = 1
    case passcode = 2
    case tpmAndPasscode = 3
}

/// Where the device secret comes from.
package enum DeviceSource: UInt8, CaseIterable, Hashable, Sendable {
    /// `device.key`, which this library made.
    case file = 1
    case tpm = 2
    /// A systemd credential.
    case credential = 3
    /// A file that `$VALET_DEVICE_KEY_FILE` names.
    case path = 4
}
