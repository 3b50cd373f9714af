// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetKeys

@Suite struct `A passcode` {
    @Test func `A passcode cannot be empty`() {
        #expect(refusal("") == "a passcode cannot be empty")
    }

    @Test func `A passcode has at most 1,024 bytes`() throws {
        let longest = String(repeating: "a", count: 1024)
        #expect(refusal(longest) == nil)
        #expect(refusal(longest + "a") == "a passcode has at most 1024 bytes")
    }

    private func refusal(_ text: String) -> String? {
        do {
            _ = try Passcode(text)
            return nil
        } catch {
            #expect(error.code == .invalidRequest)
            return error.message
        }
    }

    @Test(arguments: [
        ("1234567", 7), ("12345678", 8), ("äöüß✓🗝", 6), ("e\u{301}", 2), ("        ", 8), ("\n", 1),
    ])
    func `A passcode is short below eight Unicode scalars`(_ text: String, _ count: Int) throws {
        let passcode = try Passcode(text)
        #expect(Passcode.characterCount(of: passcode.bytes) == count)
        #expect(passcode.isShort == (count < 8))
    }

    @Test func `A passcode may be bytes that are no text`() throws {
        let passcode = try Passcode([0xff, 0xfe, 0, 0x80])
        #expect(Passcode.characterCount(of: passcode.bytes) == 3)
    }

}

@Suite struct `A keybag with a passcode` {
    let sample: PasscodeSample

    init() throws {
        sample = try PasscodeSample()
    }

    @Test func `A keybag with a passcode gives the keys of every class`() throws {
        let keys = try sample.unlock()
        #expect(keys.openClasses == ProtectionClass.allCases)
        #expect(Set(keys.ids).count == 1 + 3 * 7)
        #expect(try keys.ids == sample.unlock().ids)
    }

    @Test func `A keybag with a passcode is opened anew from its bytes`() throws {
        let sample = try PasscodeSample(cost: .lowest)
        let parsed = try LockedKeybag(parsing: sample.locked.encoded)
        let secret = try DeviceSecret(copying: sample.deviceSecret.span)
        let protector = try Protector(
            secret, passcode: Passcode(PasscodeSample.typed), opening: parsed)
        let keys = try parsed.unlock(with: protector, settings: PasscodeSample.settings)
        #expect(keys.openClasses == ProtectionClass.allCases)
    }

    @Test func `A keybag with a passcode has a new salt each time`() throws {
        let secret = Randomness.bytes(32)
        let salts = try (0..<2).map { _ in
            let protector = try Protector(
                DeviceSecret(copying: secret.span), passcode: Passcode("x"), cost: .lowest)
            let root = RootKey.random()
            return protector.wrap(root, keychainID: .random(), epoch: Epoch(1))[.argon2]
        }
        #expect(salts[0]?.count == 25)
        #expect(salts[0] != salts[1])
    }

    @Test(arguments: [
        "corréct hors", "corréct horse ", "Corréct horse", "corre\u{301}ct horse", "x",
    ])
    func `A keybag refuses a passcode that differs in a byte`(_ typed: String) throws {
        #expect(
            code { _ = try sample.unlock(passcode: Array(typed.utf8)) } == .wrongPasscode)
    }

    @Test func `A keybag with a passcode refuses another device secret whatever the passcode`()
        throws
    {
        let secret = Randomness.bytes(32)
        #expect(code { _ = try sample.unlock(secret: secret) } == .wrongDeviceSecret)
        #expect(
            code { _ = try sample.unlock(secret: secret, passcode: [1]) } == .wrongDeviceSecret)
    }

    /// The device secret alone is what a thief of the disk has.
    @Test func `A keybag with a passcode does not open with the device secret alone`() throws {
        let device = try TestKeybag.protector(sample.deviceSecret)
        #expect(
            code { _ = try sample.locked.unlock(with: device, settings: PasscodeSample.settings) }
                == .needsProtector)
        #expect(code { _ = try device.rootKey(of: sample.locked) } == .malformed)
        #expect(sample.locked.records[.rootByDevice] == nil)
    }

    @Test func `A keybag with a passcode is not stretched for in vain`() throws {
        let device = try TestKeybag()
        #expect(
            code {
                _ = try Protector(
                    .random(), passcode: Passcode("x"), opening: device.locked)
            } == .needsProtector)
        #expect(
            code {
                _ = try Protector(
                    .random(), passcode: Passcode("x"), opening: sample.locked)
            } == .wrongDeviceSecret)
    }

    @Test func `A keybag with a passcode is not opened by what was stretched for another`() throws {
        let other = try PasscodeSample(deviceSecret: sample.deviceSecret)
        #expect(code { _ = try sample.unlock(other.locked) } == .needsProtector)
    }

    /// Not even the root key gives this class without the passcode.
    @Test func `A keybag with a passcode binds its own class to passcode and device`() throws {
        let wrapped = try sample.locked.wrappedKey(.classKey(.whenPasscodeSetThisDeviceOnly))
        #expect(try commitment(by: sample.protector()) == wrapped.commitment)
        let others = [
            try commitment(by: sample.protector(secret: Randomness.bytes(32))),
            try commitment(by: sample.protector(passcode: [1])),
            try commitment(by: TestKeybag.protector(sample.deviceSecret)),
        ]
        #expect(others[0] != wrapped.commitment)
        #expect(others[1] != wrapped.commitment)
        #expect(others[2] == nil)
    }

    /// What the right root key and `protector` would wrap the class akpu under.
    private func commitment(
        by protector: borrowing Protector
    ) throws -> Digest? {
        let root = try sample.protector().rootKey(of: sample.locked)
        let keys = WrappingKeys(root: root, protector, keychainID: sample.locked.keychainID)
        switch keys.kek(of: .whenPasscodeSetThisDeviceOnly) {
        case .none: return nil
        case .some(let kek): return kek.commitment
        }
    }
}
