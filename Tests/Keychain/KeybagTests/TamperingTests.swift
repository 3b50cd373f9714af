// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetKeys

/// A writer of the database changes keybags, or combines one from others.
@Suite struct `A keybag with a passcode and a recovery key` {
    /// Stretched once, at a cost that can be parsed.
    private static func sample() throws -> (PasscodeSample, [UInt8]) {
        var sample = try PasscodeSample(cost: .lowest)
        let seed = Randomness.bytes(20)
        sample.locked = try sample.locked.addingRecoveryKey(
            RecoveryKey(seed).publicKey, with: sample.protector(),
            settings: PasscodeSample.settings)
        return (sample, seed)
    }

    // Promise: 1.10
    @Test func `A keybag does not open with any byte changed`() throws {
        let (sample, seed) = try Self.sample()
        let protector = try sample.protector()
        let bytes = sample.locked.encoded
        for offset in bytes.indices {
            var changed = bytes
            changed[offset] ^= 1 << UInt8(offset % 8)
            let byPasscode = code {
                _ = try LockedKeybag(parsing: changed).unlock(
                    with: protector, settings: PasscodeSample.settings)
            }
            #expect(byPasscode != nil, "\(offset)")
            let byRecoveryKey = code {
                _ = try LockedKeybag(parsing: changed).unlock(
                    with: RecoveryProtector(RecoveryKey(seed)), settings: PasscodeSample.settings)
            }
            #expect(byRecoveryKey != nil, "\(offset)")
        }
    }

    /// Each byte of each record by itself, even where the MAC was made for the change.
    @Test func `A keybag does not open with any record changed under a right MAC`() throws {
        let sample = try PasscodeSample()
        for tag in sample.locked.records.keys where tag != .rootByPasscode {
            for offset in sample.locked.records[tag, default: []].indices {
                let changed = try sample.resealed { $0[tag]?[offset] ^= 1 }
                let code = code { _ = try sample.unlock(changed) }
                let allowed: [KeybagFault] =
                    switch (tag, offset) {
                    case (.argon2, _): [.needsProtector]
                    case (.presencePasscode, 32), (.presencePerson, 32): [.newer]
                    case (.presencePasscode, _), (.presencePerson, _): [.tampered]
                    case (_, 0): [.newer]
                    default: [.tampered]
                    }
                #expect(allowed.contains(where: { $0 == code }), "\(tag) \(offset)")
            }
        }
    }

    /// The root key's wrap: version, key id, commitment, and the rest.
    @Test func `A keybag tells a wrong passcode from a changed wrap where that can be told`() throws
    {
        let sample = try PasscodeSample()
        for offset in 0..<121 {
            var changed = sample.locked
            changed.records[.rootByPasscode]?[offset] ^= 1
            let expected: KeybagFault =
                switch offset {
                case 0: .newer
                case 17..<49: .wrongPasscode
                default: .tampered
                }
            #expect(code { _ = try sample.unlock(changed) } == expected, "\(offset)")
        }
    }

    @Test func `A keybag does not take records of another keychain or epoch`() throws {
        let sample = try PasscodeSample()
        let protector = try sample.protector()
        let stranger = try PasscodeSample(deviceSecret: sample.deviceSecret)
        let next = try LockedKeybag(
            succeeding: sample.locked, openedBy: protector,
            as: KeybagPlace(deviceSource: .ownFile, recovery: nil), protector: protector,
            settings: PasscodeSample.settings)
        for (tag, body) in sample.locked.records {
            for other in [stranger.locked, next] where other.records[tag] != body {
                let changed = try sample.resealed { $0[tag] = other.records[tag] }
                let code = code {
                    _ = try changed.unlock(with: protector, settings: PasscodeSample.settings)
                }
                let expected: [KeybagFault] =
                    switch tag {
                    case .argon2: [.needsProtector]
                    case .rootByPasscode: [.wrongPasscode, .tampered]
                    default: [.tampered]
                    }
                #expect(expected.contains(where: { $0 == code }), "\(tag)")
            }
        }
    }

    @Test func `A keybag does not take its records in each other's places`() throws {
        let sample = try PasscodeSample()
        let wraps = sample.locked.records.filter { $0.value.count == 121 }
        for (tag, body) in wraps {
            for (other, otherBody) in wraps where other > tag {
                let changed = try sample.resealed { records in
                    (records[tag], records[other]) = (otherBody, body)
                }
                let code = code { _ = try sample.unlock(changed) }
                #expect(code == .tampered || code == .wrongPasscode, "\(tag) \(other)")
            }
        }
    }

    @Test func `A keybag does not open under another keychain's id`() throws {
        let (sample, seed) = try Self.sample()
        var bytes = sample.locked.encoded
        bytes.replaceSubrange(10..<26, with: KeychainID.random().bytes)
        let changed = try LockedKeybag(parsing: bytes)
        #expect(code { _ = try sample.unlock(changed) } == .wrongPasscode)
        #expect(
            code {
                _ = try changed.unlock(
                    with: RecoveryProtector(RecoveryKey(seed)), settings: PasscodeSample.settings)
            } == .tampered)
    }

    @Test(arguments: [0, 22, 43])
    func `A keybag does not open beside other settings`(_ offset: Int) throws {
        let sample = try PasscodeSample()
        var settings = PasscodeSample.settings
        settings[offset] ^= 1
        let protector = try sample.protector()
        #expect(
            code { _ = try sample.locked.unlock(with: protector, settings: settings) }
                == .tampered)
        #expect(
            code {
                _ = try sample.locked.addingRecoveryKey(
                    RecoveryKey.random().publicKey, with: protector, settings: settings)
            } == .tampered)
    }
}

@Suite struct `The digest of a keybag` {
    @Test func `The digest of a keybag changes with every byte but those of the MAC`() throws {
        let keybag = try TestKeybag().locked
        let digest = keybag.digest(settings: TestKeybag.settings)
        #expect(keybag.digest(settings: TestKeybag.settings) == digest)
        for tag in keybag.records.keys {
            var changed = keybag
            changed.records[tag]?[3] ^= 1
            #expect(changed.digest(settings: TestKeybag.settings) != digest)
        }
        for offset in TestKeybag.settings.indices {
            var settings = TestKeybag.settings
            settings[offset] ^= 1
            #expect(keybag.digest(settings: settings) != digest)
        }
    }
}
