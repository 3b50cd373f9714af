// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetKeys

/// docs/FORMAT.md §4.2, the column "present".
@Suite struct `The records of a keybag` {
    /// By protector; without and with a recovery key.
    private static func samples() throws -> [LockedKeybag] {
        let publicKey = RecoveryKey.random().publicKey
        let device = try TestKeybag()
        let protector = try TestKeybag.protector(device.deviceSecret)
        let passcode = try PasscodeSample(cost: .lowest)
        return [
            device.locked,
            try device.locked.addingRecoveryKey(
                publicKey, with: protector, settings: TestKeybag.settings),
            passcode.locked, try TPMSample(cost: .lowest).locked,
            try TPMSample(cost: .lowest, source: .tpm).locked,
            try passcode.locked.addingRecoveryKey(
                publicKey, with: passcode.protector(), settings: PasscodeSample.settings),
        ]
    }

    private func code(_ keybag: LockedKeybag) -> KeybagFault? {
        ValetKeybagTests.code { _ = try LockedKeybag(parsing: keybag.encoded) }
    }

    @Test func `The records of a keybag are those of its protector`() throws {
        for sample in try Self.samples() { #expect(code(sample) == nil) }
    }

    @Test func `The records of a keybag are all needed`() throws {
        for sample in try Self.samples() {
            for tag in sample.records.keys {
                var changed = sample
                changed.records[tag] = nil
                #expect(code(changed) == .malformed, "\(sample.protector): \(tag)")
            }
        }
    }

    @Test func `The records of a keybag are no others`() throws {
        for sample in try Self.samples() {
            let missing = KeybagTag.allCases.filter { sample.records[$0] == nil }
            for tag in missing {
                var changed = sample
                changed.records[tag] = [UInt8](repeating: 1, count: 121)
                #expect(code(changed) == .malformed, "\(sample.protector): \(tag)")
            }
        }
    }

    @Test func `The records of a keybag may be those of a circle too, of both scopes`() throws {
        for sample in try Self.samples() {
            var changed = sample
            for scope in KeyScope.allCases {
                changed.records[.syncSecret(scope)] = [UInt8](repeating: 1, count: 121)
            }
            #expect(code(changed) == nil)
        }
    }

    @Test func `The records of a keybag are not those of another protector`() throws {
        for sample in try Self.samples() {
            for kind in ProtectorKind.allCases where kind != sample.protector {
                var bytes = sample.encoded
                bytes[34] = kind.rawValue
                #expect(
                    ValetKeybagTests.code { _ = try LockedKeybag(parsing: bytes) } == .malformed)
            }
        }
    }

    @Test func `The records of a keybag hold a TPM's objects if the device secret is in one`()
        throws
    {
        for sample in try Self.samples() where sample.deviceSource != .tpm {
            var bytes = sample.encoded
            bytes[35] = DeviceKeySource.tpm.rawValue
            #expect(ValetKeybagTests.code { _ = try LockedKeybag(parsing: bytes) } == .malformed)
            var changed = sample
            changed.records[.tpmDeviceObject] = TPMSample.object
            bytes = changed.encoded
            bytes[35] = DeviceKeySource.tpm.rawValue
            #expect(ValetKeybagTests.code { _ = try LockedKeybag(parsing: bytes) } == nil)
        }
    }

    /// Memory, passes and lanes of the lowest cost, one at a time.
    @Test(
        arguments: [
            (65_535, 3, 1), (1 << 20 + 1, 3, 1), (0, 3, 1), (.max, 3, 1), (65_536, 2, 1),
            (65_536, 65, 1), (65_536, .max, 1), (65_536, 3, 0), (65_536, 3, 2),
        ] as [(UInt32, UInt32, UInt8)])
    func `The records of a keybag hold no cost out of bounds`(
        _ memoryKiB: UInt32, _ passes: UInt32, _ lanes: UInt8
    ) throws {
        var keybag = try PasscodeSample().locked
        var body = [UInt8](repeating: 9, count: 16)
        body.append(bigEndian: memoryKiB)
        body.append(bigEndian: passes)
        keybag.records[.argon2] = body + [lanes]
        #expect(code(keybag) == .malformed)
        #expect(
            ValetKeybagTests.code { _ = try Argon2Record(parsing: body + [lanes]) } == .malformed)
    }

    @Test func `The records of a keybag hold a cost in 25 bytes`() throws {
        let record = Argon2Record(salt: .random(), cost: .lowest)
        #expect(record.bytes.count == 25)
        #expect(try Argon2Record(parsing: record.bytes) == record)
        for bytes in [record.bytes.dropLast(), record.bytes + [0]] {
            #expect(
                ValetKeybagTests.code { _ = try Argon2Record(parsing: Array(bytes)) } == .malformed)
        }
    }
}
