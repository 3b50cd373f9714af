// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetSecretMemory

@testable import ValetKeybag

/// docs/FORMAT.md §4.4.
@Suite struct `A keybag that gives way` {
    let old: PasscodeSample
    /// What opens the next epoch: another device secret and another passcode.
    let next: PasscodeSample
    let seed = Randomness.bytes(20)
    static let place = KeybagPlace(deviceSource: .ownFile, recovery: nil)

    init() throws {
        old = try PasscodeSample(epoch: Epoch(4))
        next = try PasscodeSample()
    }

    private func rewrapped(_ place: KeybagPlace = place) throws -> LockedKeybag {
        try LockedKeybag(
            rewrapping: old.locked, openedBy: old.protector(), as: place,
            protector: next.protector(), settings: PasscodeSample.settings)
    }

    @Test func `The keybag of an ending epoch has the same keys behind what opens the next epoch`()
        throws
    {
        let keybag = try rewrapped()
        #expect(keybag.epoch == Epoch(4) && keybag.keychainID == old.locked.keychainID)
        let (before, after) = (try old.unlock(), try next.unlock(keybag))
        #expect(after.openClasses == ProtectionClass.allCases)
        #expect(after.ids == before.ids)
        #expect(after.index.id == before.index.id)
    }

    @Test func `The keybag of an ending epoch is not opened by what opened it before`() throws {
        let keybag = try rewrapped()
        #expect(code { _ = try old.unlock(keybag) } == .wrongDeviceSecret)
        #expect(
            code { _ = try old.unlock(keybag, secret: next.deviceSecret) } == .needsProtector)
        #expect(
            code { _ = try next.unlock(keybag, passcode: Array("another".utf8)) }
                == .wrongPasscode)
    }

    @Test func `The keybag of an ending epoch shares no wrap with what it was`() throws {
        let keybag = try rewrapped()
        for (tag, body) in old.locked.records {
            #expect(keybag.records[tag] != body, "record \(tag)")
        }
        #expect(keybag.mac != old.locked.mac)
    }

    @Test func `The keybag of an ending epoch is taken over by nobody who cannot open it`() throws {
        let wrong = try old.protector(passcode: Array("another".utf8))
        #expect(
            code {
                _ = try LockedKeybag(
                    rewrapping: old.locked, openedBy: wrong, as: Self.place,
                    protector: next.protector(), settings: PasscodeSample.settings)
            } == .wrongPasscode)
        var settings = PasscodeSample.settings
        settings[3] ^= 1
        #expect(
            code {
                _ = try LockedKeybag(
                    rewrapping: old.locked, openedBy: old.protector(), as: Self.place,
                    protector: next.protector(), settings: settings)
            } == .tampered)
    }

    @Test func `A rewrapped keybag has no key of a passcode that was removed`() throws {
        let secret = Randomness.bytes(32)
        let device = try TestKeybag.protector(secret)
        let keybag = try LockedKeybag(
            rewrapping: old.locked, openedBy: old.protector(), as: Self.place, protector: device,
            settings: PasscodeSample.settings)
        let parsed = try LockedKeybag(parsing: keybag.encoded)
        let keys = try parsed.unlock(with: device, settings: PasscodeSample.settings)
        #expect(keys.openClasses == Array(ProtectionClass.allCases.dropLast()))
        #expect(try keys.classIDs == Array(old.unlock().classIDs.dropLast()))
        #expect(try keybag.keyID(of: .whenPasscodeSetThisDeviceOnly) == nil)
    }

    @Test func `Setting a passcode gives the ending epoch a new key that needs it`() throws {
        let device = try TestKeybag(epoch: Epoch(4))
        let keybag = try LockedKeybag(
            rewrapping: device.locked, openedBy: TestKeybag.protector(device.deviceSecret),
            as: Self.place, protector: next.protector(), settings: TestKeybag.settings)
        let (before, after) = (try device.unlock(device.locked), try next.unlock(keybag))
        #expect(after.openClasses == ProtectionClass.allCases)
        #expect(Array(after.classIDs.dropLast()) == before.classIDs)
    }

    @Test(arguments: [false, true])
    func `A recovery replaces the keys that it cannot open by new ones`(
        _ hasDeviceSecret: Bool
    ) throws {
        let publicKey = RecoveryKey(seed).publicKey
        let sealed = try old.locked.addingRecoveryKey(
            publicKey, with: old.protector(), settings: PasscodeSample.settings)
        let secret: DeviceSecret? =
            hasDeviceSecret ? try DeviceSecret(copying: old.deviceSecret.span) : nil
        let keybag = try LockedKeybag(
            rewrapping: sealed,
            recoveredBy: RecoveryProtector(RecoveryKey(seed), deviceSecret: secret),
            as: KeybagPlace(deviceSource: .keyFile, recovery: publicKey),
            protector: next.protector(),
            settings: PasscodeSample.settings)
        let (before, after) = (try old.unlock().classIDs, try next.unlock(keybag).classIDs)
        let kept = hasDeviceSecret ? 6 : 3
        #expect(Array(after.prefix(kept)) == Array(before.prefix(kept)))
        #expect(Set(after.dropFirst(kept)).isDisjoint(with: before))
        #expect(keybag.deviceSource == .keyFile)
    }

    @Test(arguments: [false, true])
    func `A rewrapped keybag opens with its new recovery key only`(
        _ isGiven: Bool
    ) throws {
        let place = KeybagPlace(
            deviceSource: .ownFile, recovery: isGiven ? RecoveryKey(seed).publicKey : nil)
        var sample = next
        sample.locked = try rewrapped(place)
        if isGiven {
            let keys = try sample.recover(RecoveryKey(seed))
            #expect(try Set(keys.ids).isSubset(of: old.unlock().ids))
        }
        #expect(
            code { _ = try sample.recover(.random()) }
                == (isGiven ? .wrongRecoveryKey : .noRecoveryKey))
    }

    @Test func `The keybag of an ending epoch names its keys as rows do`() throws {
        let keys = try old.unlock()
        for protectionClass in ProtectionClass.allCases {
            #expect(
                try old.locked.keyID(of: protectionClass)
                    == keys.keys(of: protectionClass)?.keyID)
        }
    }
}

extension UnlockedKeybag {
    /// The ids of the class keys, in the order of the classes.
    fileprivate var classIDs: [KeyID] {
        ProtectionClass.allCases.compactMap { keys(of: $0)?.keyID }
    }
}
