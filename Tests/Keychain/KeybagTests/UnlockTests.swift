// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetKeys

@Suite struct `Unlocking a keybag` {
    let sample: TestKeybag

    init() throws {
        sample = try TestKeybag()
    }

    private static let withoutPasscode = ProtectionClass.allCases.filter {
        $0 != .whenPasscodeSetThisDeviceOnly
    }

    @Test func `Unlocking a keybag gives the keys under their ids`() throws {
        let parsed = try LockedKeybag(parsing: sample.locked.encoded)
        let keys = try sample.unlock(parsed)
        #expect(keys.keychainID == sample.locked.keychainID)
        #expect(keys.epoch == sample.locked.epoch)
        for protectionClass in Self.withoutPasscode {
            let wrapped = try sample.locked.wrappedKey(.classKey(protectionClass))
            #expect(keys.keys(of: protectionClass)?.keyID == wrapped.keyID)
            #expect(keys.keys(of: protectionClass)?.protectionClass == protectionClass)
        }
    }

    @Test func `Unlocking a keybag gives the same keys every time`() throws {
        let (one, two) = (try sample.unlock(sample.locked), try sample.unlock(sample.locked))
        #expect(one.ids == two.ids)
    }

    // Promise: 3.4
    @Test func `Unlocking a keybag has no key of the class that needs a passcode`() throws {
        #expect(sample.locked.records[.classKey(.whenPasscodeSetThisDeviceOnly)] == nil)
        let keys = try sample.unlock(sample.locked)
        #expect(keys.keys(of: .whenPasscodeSetThisDeviceOnly) == nil)
    }

    @Test func `Unlocking a keybag gives keys that all differ`() throws {
        let all = try sample.unlock(sample.locked).ids + [sample.locked.deviceKeyID]
        #expect(all.count == 2 + 3 * 6)
        #expect(Set(all).count == all.count)
    }

    @Test func `Unlocking a keybag gives other keys in every keychain`() throws {
        let other = try TestKeybag(deviceSecret: sample.deviceSecret)
        let (one, two) = (try sample.unlock(sample.locked), try other.unlock(other.locked))
        #expect(Set(one.ids).isDisjoint(with: two.ids))
    }

    @Test func `Unlocking a keybag refuses another device secret`() throws {
        let secret = Randomness.bytes(32)
        #expect(code { _ = try sample.unlock(sample.locked, secret: secret) } == .wrongDeviceSecret)
    }

    /// An attacker who writes another secret's id into the keybag still needs the right one.
    @Test func `Unlocking a keybag refuses another device secret under the right name`() throws {
        let secret = Randomness.bytes(32)
        var bytes = sample.locked.encoded
        let id = try DeviceSecret(copying: secret.span).id
        bytes.replaceSubrange(36..<52, with: id.bytes)
        let changed = try LockedKeybag(parsing: bytes)
        #expect(code { _ = try sample.unlock(changed, secret: secret) } == .tampered)
    }

    @Test(arguments: TestKeybag.settings.indices)
    func `Unlocking a keybag refuses settings that were changed`(_ offset: Int) {
        var settings = TestKeybag.settings
        settings[offset] ^= 1
        #expect(code { _ = try sample.unlock(sample.locked, settings: settings) } == .tampered)
    }

    @Test func `Unlocking a keybag refuses settings that were cut or grew`() {
        for settings in [[], Array(TestKeybag.settings.dropLast()), TestKeybag.settings + [0]] {
            #expect(code { _ = try sample.unlock(sample.locked, settings: settings) } == .tampered)
        }
    }

    @Test func `Unlocking a keybag asks for the protector that the keybag names`() throws {
        let passcode = try PasscodeSample()
        #expect(code { _ = try sample.unlock(passcode.locked) } == .needsProtector)
        #expect(code { _ = try passcode.unlock(sample.locked) } == .needsProtector)
    }

    // Promise: 1.9
    /// Every bit of the keybag, by what it belongs to.
    @Test func `Unlocking a keybag refuses a keybag with any bit changed`() throws {
        let bytes = sample.locked.encoded
        for offset in bytes.indices {
            var changed = bytes
            changed[offset] ^= 1 << UInt8(offset % 8)
            let code = try #require(sample.code(opening: changed), "\(offset)")
            let allowed: Set<KeybagFault> =
                switch offset {
                case 0..<8: [.malformed]
                case 8..<10: [.newer]
                case 10..<26, 26..<34: [.tampered]
                case 34: [.newer, .malformed]
                case 35: [.newer, .tampered, .malformed]
                case 36..<52: [.wrongDeviceSecret]
                default: [.malformed, .newer, .tampered]
                }
            #expect(allowed.contains(code), "\(offset): \(code)")
        }
    }
}

@Suite struct `A record of a keybag` {
    static let wraps: [KeybagTag] =
        [.rootByDevice, .indexKey] + ProtectionClass.allCases.dropLast().map(KeybagTag.classKey)

    let sample: TestKeybag

    init() throws {
        sample = try TestKeybag()
    }

    private func code(_ keybag: LockedKeybag) -> KeybagFault? {
        ValetKeybagTests.code { _ = try sample.unlock(keybag) }
    }

    // Promise: 1.10
    @Test(arguments: wraps)
    func `A record of a keybag does not open in the place of another`(_ tag: KeybagTag) throws {
        for other in Self.wraps where other != tag {
            var swapped = sample.locked
            swapped.records[tag] = sample.locked.records[other]
            swapped.records[other] = sample.locked.records[tag]
            #expect(code(swapped) == .tampered, "\(other)")
            // Not even with a MAC that covers the change: each wrap names its place.
            let resealed = try sample.resealed { $0 = swapped.records }
            #expect(code(resealed) == .tampered, "\(other) with a MAC")
        }
    }

    @Test(arguments: wraps)
    func `A record of a keybag has to be there`(_ tag: KeybagTag) throws {
        #expect(code(try sample.resealed { $0[tag] = nil }) == .malformed)
    }

    @Test(arguments: wraps, [0, 1, 120, 122])
    func `A record of a keybag has the length of a wrapped key`(_ tag: KeybagTag, _ byteCount: Int)
        throws
    {
        let keybag = try sample.resealed { records in
            let body = (records[tag] ?? []) + [0]
            records[tag] = Array(body.prefix(byteCount))
        }
        #expect(code(keybag) == .malformed)
    }

    @Test(arguments: wraps)
    func `A record of a keybag of a later version is newer`(_ tag: KeybagTag) throws {
        #expect(code(try sample.resealed { $0[tag]?[0] = 2 }) == .newer)
    }

    @Test(arguments: wraps)
    func `A record of a keybag of another keychain does not open`(_ tag: KeybagTag) throws {
        let other = try TestKeybag(deviceSecret: sample.deviceSecret)
        #expect(code(try sample.resealed { $0[tag] = other.locked.records[tag] }) == .tampered)
    }

    /// The MAC would fail first in a keybag: this asks the wraps alone.
    @Test(arguments: ProtectionClass.allCases.dropLast())
    func `A key needs the device secret if and only if it stays on the device`(
        _ protectionClass: ProtectionClass
    ) throws {
        let root = try TestKeybag.protector(sample.deviceSecret).rootKey(of: sample.locked)
        let keys = WrappingKeys(root: root, device: .random(), passcode: .random())
        let wrapped = try sample.locked.wrappedKey(.classKey(protectionClass))
        switch keys.kek(of: protectionClass) {
        case .none: Issue.record("no key of \(protectionClass)")
        case .some(let kek):
            let isRight = kek.commitment == wrapped.commitment
            #expect(isRight == !protectionClass.isThisDeviceOnly)
        }
    }
}

@Suite struct `An error of the keybag` {
    @Test func `An error of the keybag says what was being done and not with what`() throws {
        let sample = try TestKeybag()
        let error = #expect(throws: KeychainFailure.self) {
            _ = try sample.unlock(sample.locked, secret: Randomness.bytes(32))
        }
        #expect(
            error?.description
                == "could not open the keybag: the device key is not the one that this "
                + "keychain was made with")
    }
}
