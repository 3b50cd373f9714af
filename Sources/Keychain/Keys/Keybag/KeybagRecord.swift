// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

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
    case syncSecret(KeyScope)

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
        case .syncSecret(.afterFirstUnlock): 0x0501
        case .syncSecret(.whileUnlocked): 0x0502
        }
    }

    /// The tags that this version knows.
    package static let allCases: [KeybagTag] =
        [
            .rootByDevice, .rootByPasscode, .rootByTPM, .rootByRecoveryKey, .argon2,
            .tpmDeviceObject, .tpmPasscodeObject, .recoveryPublicKey, .indexKey, .presencePasscode,
            .presencePerson, .syncSecret(.afterFirstUnlock), .syncSecret(.whileUnlocked),
        ] + ProtectionClass.allCases.map(KeybagTag.classKey)

    private static let byNumber = Dictionary(
        uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

    /// The tag with this number; nil for a number that this version does not know.
    package init?(rawValue: UInt16) {
        guard let tag = Self.byNumber[rawValue] else { return nil }
        self = tag
    }

    package static func < (left: KeybagTag, right: KeybagTag) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// Which secrets open the root key: stored in the keybag, docs/FORMAT.md §4.1.
package enum ProtectorKind: UInt8, CaseIterable, Hashable, Sendable {
    case device = 1
    case passcode = 2
    case tpmAndPasscode = 3
}

/// How a passcode or a password is stretched: the body of record 0x0110 (docs/FORMAT.md §4.2), 25
/// bytes.
package struct Argon2Record: Hashable, Sendable {
    package static let byteCount = 25

    /// Random bytes that make the keys of equal passcodes differ.
    package let salt: Salt
    package let cost: Argon2Cost

    package init(salt: Salt, cost: Argon2Cost) {
        self.salt = salt
        self.cost = cost
    }

    /// Parses a record.
    ///
    /// - Throws: ``KeychainFailure/Code/keychainDamaged`` for another length, a cost out of bounds
    ///   (which could stop the machine, or make guessing cheap), more than one lane.
    package init(parsing body: [UInt8]) throws(KeychainFailure) {
        var reader = ByteReader(body, malformed: KeychainFailure.malformedKeybag)
        salt = try reader.fixedBytes()
        let (memoryKiB, passes): (UInt32, UInt32) = (try reader.integer(), try reader.integer())
        do {
            cost = try Argon2Cost(memoryKiB: memoryKiB, passes: passes)
        } catch {
            throw KeychainFailure(error)
        }
        guard try reader.integer(UInt8.self) == 1, reader.isAtEnd else { throw .malformedKeybag }
    }

    package var bytes: [UInt8] {
        var bytes = salt.bytes
        bytes.append(bigEndian: cost.memoryKiB)
        bytes.append(bigEndian: cost.passes)
        bytes.append(1)
        return bytes
    }
}

/// A sealed object of a TPM, in records 0x0120 and 0x0121 (docs/FORMAT.md §4.8). Only a TPM can
/// check the content of its areas; this checks the outer form.
enum TPMObjectRecord {
    /// Checks that there are four parts, that the name has 34 bytes, and that the registers have
    /// none or ten.
    ///
    /// - Throws: ``KeychainFailure/Code/keychainDamaged``.
    static func check(_ body: [UInt8]) throws(KeychainFailure) {
        var reader = ByteReader(body, malformed: KeychainFailure.malformedKeybag)
        for _ in 0..<2 {
            let area = try part(&reader)
            guard area.count > 2, area.count <= 1026,
                Int(area[0]) << 8 | Int(area[1]) == area.count - 2
            else { throw .malformedKeybag }
        }
        let name = try part(&reader)
        let registers = try part(&reader)
        guard name.count == 34, name.starts(with: [0, 0x0b]), reader.isAtEnd else {
            throw .malformedKeybag
        }
        guard registers.isEmpty || isOneBank(registers) else { throw .malformedKeybag }
    }

    /// Whether the registers are of one bank, SHA-256, with a bitmap of three bytes that is not
    /// zero.
    private static func isOneBank(_ registers: [UInt8]) -> Bool {
        registers.count == 10 && registers.starts(with: [0, 0, 0, 1, 0, 0x0b, 3])
            && registers.suffix(3).contains { $0 != 0 }
    }

    private static func part(
        _ reader: inout ByteReader<KeychainFailure>
    ) throws(KeychainFailure) -> [UInt8] {
        let count = try reader.integer(UInt32.self)
        guard count <= UInt32(Int32.max) else { throw reader.malformed }
        return try reader.bytes(Int(count))
    }
}
