// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetKeys

@Suite struct `Recovering a keybag` {
    static let migratable: [ProtectionClass] = [.whenUnlocked, .afterFirstUnlock, .always]
    let seed = Randomness.bytes(20)
    let sample: PasscodeSample

    init() throws {
        var sample = try PasscodeSample()
        sample.locked = try sample.locked.addingRecoveryKey(
            RecoveryKey(seed).publicKey, with: sample.protector(),
            settings: PasscodeSample.settings)
        self.sample = sample
    }

    @Test func `Recovering a keybag gives the classes that may migrate`() throws {
        let keys = try sample.recover(RecoveryKey(seed))
        #expect(keys.openClasses == Self.migratable)
        let all = try sample.unlock()
        #expect(Set(keys.ids).isSubset(of: all.ids))
        #expect(keys.index.id == all.index.id)
    }

    @Test func `Recovery with the device secret opens all classes but that of the passcode`() throws
    {
        let keys = try sample.recover(RecoveryKey(seed), secret: sample.deviceSecret)
        #expect(keys.openClasses == Array(ProtectionClass.allCases.dropLast()))
        #expect(try Set(keys.ids).isSubset(of: sample.unlock().ids))
    }

    @Test func `Recovering a keybag needs no passcode to have been set`() throws {
        let device = try TestKeybag()
        let locked = try device.locked.addingRecoveryKey(
            RecoveryKey(seed).publicKey, with: TestKeybag.protector(device.deviceSecret),
            settings: TestKeybag.settings)
        let keys = try locked.unlock(
            with: RecoveryProtector(RecoveryKey(seed)), settings: TestKeybag.settings)
        #expect(keys.openClasses == Self.migratable)
        #expect(try device.unlock(locked).ids == device.unlock(device.locked).ids)
    }

    @Test func `Recovering a keybag refuses another recovery key`() {
        #expect(code { _ = try sample.recover(.random()) } == .wrongRecoveryKey)
        #expect(
            code { _ = try sample.recover(.random(), secret: sample.deviceSecret) }
                == .wrongRecoveryKey)
    }

    @Test func `Recovering a keybag refuses another device secret`() {
        let secret = Randomness.bytes(32)
        #expect(
            code { _ = try sample.recover(RecoveryKey(seed), secret: secret) }
                == .wrongDeviceSecret)
    }

    @Test func `Recovering a keybag says that there is no recovery key`() throws {
        let sample = try PasscodeSample()
        #expect(code { _ = try sample.recover(.random()) } == .noRecoveryKey)
        #expect(try sample.locked.recoveryPublicKey == nil)
    }

    @Test(arguments: [0, 43])
    func `Recovering a keybag refuses other settings`(_ offset: Int) {
        var settings = PasscodeSample.settings
        settings[offset] ^= 1
        #expect(
            code { _ = try sample.recover(RecoveryKey(seed), settings: settings) } == .tampered)
    }

    /// A writer of the database puts a recovery key of their own beside the root key.
    @Test func `Recovering a keybag is not open to a key that was put in without the root key`()
        throws
    {
        var planted = sample
        let root = RootKey.random()
        let mine = Randomness.bytes(20)
        try planted.locked.seal(root, to: RecoveryKey(mine).publicKey)
        #expect(code { _ = try planted.recover(RecoveryKey(mine)) } == .tampered)
        #expect(code { _ = try planted.unlock() } == .tampered)
    }

    @Test func `Recovering a keybag goes by the key that was added last`() throws {
        var sample = sample
        sample.locked = try sample.locked.addingRecoveryKey(
            RecoveryKey([UInt8](repeating: 1, count: 20)).publicKey, with: sample.protector(),
            settings: PasscodeSample.settings)
        #expect(code { _ = try sample.recover(RecoveryKey(seed)) } == .wrongRecoveryKey)
        let keys = try sample.recover(RecoveryKey([UInt8](repeating: 1, count: 20)))
        #expect(keys.openClasses == Self.migratable)
    }

    @Test func `Recovering a keybag needs a protector to be made possible`() throws {
        let publicKey = RecoveryKey.random().publicKey
        let wrong = try sample.protector(passcode: [1])
        #expect(
            code {
                _ = try sample.locked.addingRecoveryKey(
                    publicKey, with: wrong, settings: PasscodeSample.settings)
            } == .wrongPasscode)
    }

    /// X25519 gives zero for it, with any secret key.
    @Test func `Recovering a keybag is not made possible for a public key of low order`() throws {
        let zero = try PublicKey([UInt8](repeating: 0, count: 32))
        let protector = try sample.protector()
        #expect(
            code {
                _ = try sample.locked.addingRecoveryKey(
                    zero, with: protector, settings: PasscodeSample.settings)
            } == .malformed)
        #expect(
            code {
                _ = try LockedKeybag(
                    succeeding: sample.locked, openedBy: protector,
                    as: KeybagPlace(deviceSource: .ownFile, recovery: zero),
                    protector: protector, settings: PasscodeSample.settings)
            } == .malformed)
    }
}

@Suite struct `The keybag of the next epoch` {
    let seed = Randomness.bytes(20)
    let old: PasscodeSample

    init() throws {
        var old = try PasscodeSample(epoch: Epoch(6))
        old.locked = try old.locked.addingRecoveryKey(
            RecoveryKey(seed).publicKey, with: old.protector(), settings: PasscodeSample.settings)
        self.old = old
    }

    @Test func `The keybag of the next epoch is opened by the recovery key of the last`() throws {
        var sample = try PasscodeSample()
        sample.locked = try LockedKeybag(
            succeeding: old.locked, openedBy: old.protector(),
            as: KeybagPlace(
                deviceSource: .credential, recovery: old.locked.recoveryPublicKey),
            protector: sample.protector(), settings: PasscodeSample.settings)
        #expect(sample.locked.epoch == Epoch(7))
        #expect(sample.locked.keychainID == old.locked.keychainID)
        #expect(sample.locked.deviceSource == .credential)
        let keys = try sample.recover(RecoveryKey(seed))
        #expect(keys.openClasses == Recovering.migratable)
        #expect(try Set(sample.unlock().ids).isDisjoint(with: old.unlock().ids))
        #expect(try Set(keys.ids).isSubset(of: sample.unlock().ids))
    }

    @Test func `The keybag of the next epoch is not opened by a recovery key that was revoked`()
        throws
    {
        var sample = try PasscodeSample()
        sample.locked = try LockedKeybag(
            succeeding: old.locked, openedBy: old.protector(),
            as: KeybagPlace(deviceSource: .ownFile, recovery: nil),
            protector: sample.protector(), settings: PasscodeSample.settings)
        #expect(code { _ = try sample.recover(RecoveryKey(seed)) } == .noRecoveryKey)
    }

    // Promise: 8.5
    @Test func `The next epoch has no key of a passcode that was removed`() throws {
        let secret = Randomness.bytes(32)
        let device = try TestKeybag.protector(secret)
        let next = try LockedKeybag(
            succeeding: old.locked, openedBy: old.protector(),
            as: KeybagPlace(deviceSource: .ownFile, recovery: old.locked.recoveryPublicKey),
            protector: device, settings: TestKeybag.settings)
        let parsed = try LockedKeybag(parsing: next.encoded)
        let keys = try parsed.unlock(with: device, settings: TestKeybag.settings)
        #expect(keys.openClasses == Array(ProtectionClass.allCases.dropLast()))
        #expect(parsed.records[.argon2] == nil)
    }

    @Test(arguments: [UInt64.max, UInt64(Int64.max)])
    func `The keybag of the next epoch does not come after the last one`(_ epoch: UInt64) throws {
        let last = try TestKeybag(epoch: Epoch(epoch))
        #expect(
            code {
                _ = try LockedKeybag(
                    succeeding: last.locked,
                    openedBy: TestKeybag.protector(last.deviceSecret),
                    as: KeybagPlace(deviceSource: .ownFile, recovery: nil),
                    protector: TestKeybag.protector(last.deviceSecret),
                    settings: TestKeybag.settings)
            } == .malformed)
    }

    private typealias Recovering = `Recovering a keybag`
}
