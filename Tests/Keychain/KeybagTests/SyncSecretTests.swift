// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetKeys

extension UnlockedKeybag {
    /// The sync secrets that are open, in the order of the scopes.
    fileprivate var syncSecrets: [[UInt8]] {
        KeyScope.allCases.compactMap { scope in
            switch syncSecret(scope) {
            case .some(let secret): secret.array
            case .none: nil
            }
        }
    }
}

/// docs/SYNC.md §2, and docs/FORMAT.md §4.2, records 0x0501 and 0x0502.
@Suite struct `The sync secrets of a keybag` {
    /// The bytes of a secret, in the order of the scopes.
    private typealias Secrets = [[UInt8]]

    private static let tags = KeyScope.allCases.map(KeybagTag.syncSecret)
    private let secrets: Secrets = KeyScope.allCases.map { _ in Randomness.bytes(32) }
    private let sample: PasscodeSample
    private let seed = Randomness.bytes(20)

    init() throws {
        var sample = try PasscodeSample(epoch: Epoch(4))
        sample.locked = try Self.setting(secrets, in: sample.locked, with: sample.protector())
            .addingRecoveryKey(
                RecoveryKey(seed).publicKey, with: sample.protector(),
                settings: PasscodeSample.settings)
        self.sample = sample
    }

    private static func setting(
        _ secrets: Secrets, in keybag: LockedKeybag, with protector: borrowing Protector
    ) throws -> LockedKeybag {
        let (u, f) = (secrets[0], secrets[1])
        return try keybag.settingSyncSecrets(
            SyncSecret(copying: f.span), SyncSecret(copying: u.span), with: protector,
            settings: TestKeybag.settings)
    }

    @Test func `The sync secrets of a keybag open with it`() throws {
        #expect(KeyScope.allCases == [.whileUnlocked, .afterFirstUnlock])
        #expect(try sample.unlock().syncSecrets == secrets)
        #expect(sample.locked.hasSyncSecrets)
        let keybag = try PasscodeSample()
        #expect(try keybag.unlock().syncSecrets == [])
        #expect(!keybag.locked.hasSyncSecrets)
        // Without a passcode.
        let device = try TestKeybag()
        let locked = try Self.setting(
            secrets, in: device.locked, with: TestKeybag.protector(device.deviceSecret))
        #expect(try device.unlock(LockedKeybag(parsing: locked.encoded)).syncSecrets == secrets)
    }

    @Test func `New sync secrets replace those of a keybag, and leave its keys as they are`() throws
    {
        let others = KeyScope.allCases.map { _ in Randomness.bytes(32) }
        let keybag = try Self.setting(others, in: sample.locked, with: sample.protector())
        let (before, after) = (try sample.unlock(), try sample.unlock(keybag))
        #expect(after.syncSecrets == others)
        #expect(after.ids == before.ids)
        for (tag, body) in sample.locked.records where !Self.tags.contains(tag) {
            #expect(keybag.records[tag] == body)
        }
    }

    @Test func `The sync secrets of a keybag are changed only by what opens it`() throws {
        let wrong = try sample.protector(passcode: Array("another".utf8))
        #expect(
            code { _ = try Self.setting(secrets, in: sample.locked, with: wrong) }
                == .wrongPasscode)
    }

    // Promise: 8.10
    /// Changed by a holder of the root key, so that the MAC is right.
    @Test func `A sync secret opens only under its own tag, keychain, epoch and device`() throws {
        let swapped = try sample.resealed { records in
            (records[Self.tags[0]], records[Self.tags[1]]) =
                (records[Self.tags[1]], records[Self.tags[0]])
        }
        #expect(code { _ = try sample.unlock(swapped) } == .tampered)
        let stranger = try PasscodeSample(deviceSecret: sample.deviceSecret)
        let foreign = try Self.setting(
            secrets, in: stranger.locked, with: stranger.protector())
        let mixed = try sample.resealed { records in
            for tag in Self.tags { records[tag] = foreign.records[tag] }
        }
        #expect(code { _ = try sample.unlock(mixed) } == .tampered)
        // Under the same root key and device secret, and of another epoch.
        let keys = try sample.protector().wrappingKeys(of: sample.locked)
        guard let kek = keys.syncKEK(.whileUnlocked) else {
            Issue.record("the device secret is there")
            return
        }
        let wrapped = KeyWrap.wrap(
            SyncSecret.random(), under: kek,
            binding: WrapBinding(
                .sync, keychainID: sample.locked.keychainID, epoch: Epoch(5),
                parameters: [KeyScope.whileUnlocked.rawValue]))
        let older = try sample.resealed { $0[.syncSecret(.whileUnlocked)] = wrapped.bytes }
        #expect(code { _ = try sample.unlock(older) } == .tampered)
    }

    @Test(arguments: KeyScope.allCases)
    func `A keybag with one of the two sync secrets, or a cut one, is malformed`(
        _ scope: KeyScope
    ) throws {
        let device = try TestKeybag()
        var keybag = try Self.setting(
            secrets, in: device.locked, with: TestKeybag.protector(device.deviceSecret))
        #expect(device.code(opening: keybag.encoded) == nil)
        let tag = KeybagTag.syncSecret(scope)
        keybag.records[tag]?.removeLast()
        #expect(code { _ = try keybag.wrappedKey(tag) } == .malformed)
        keybag.records[tag] = nil
        #expect(device.code(opening: keybag.encoded) == .malformed)
    }

    // docs/FORMAT.md §4.4.

    @Test(arguments: [true, false])
    func `The next epoch has the sync secrets of the last, with or without a passcode`(
        _ hasPasscode: Bool
    ) throws {
        let secret = Randomness.bytes(32)
        let place = KeybagPlace(deviceSource: .ownFile, recovery: nil)
        let next = try PasscodeSample(deviceSecret: secret)
        let protector = hasPasscode ? try next.protector() : try TestKeybag.protector(secret)
        let keybag = try LockedKeybag(
            succeeding: sample.locked, openedBy: sample.protector(), as: place,
            protector: protector, settings: TestKeybag.settings)
        let parsed = hasPasscode ? keybag : try LockedKeybag(parsing: keybag.encoded)
        let keys = try parsed.unlock(with: protector, settings: TestKeybag.settings)
        #expect(keys.syncSecrets == secrets)
        for tag in Self.tags { #expect(keybag.records[tag] != sample.locked.records[tag]) }
    }

    @Test(arguments: [true, false])
    func `A recovery keeps the sync secrets if it has the device secret`(
        _ hasDeviceSecret: Bool
    ) throws {
        let opened = try sample.recover(
            RecoveryKey(seed), secret: hasDeviceSecret ? sample.deviceSecret : nil)
        #expect(opened.syncSecrets == (hasDeviceSecret ? secrets : []))
        let secret: DeviceSecret? =
            hasDeviceSecret ? try DeviceSecret(copying: sample.deviceSecret.span) : nil
        let next = try PasscodeSample()
        let keybag = try LockedKeybag(
            succeeding: sample.locked,
            recoveredBy: RecoveryProtector(RecoveryKey(seed), deviceSecret: secret),
            as: KeybagPlace(deviceSource: .ownFile, recovery: nil), protector: next.protector(),
            settings: PasscodeSample.settings)
        #expect(keybag.hasSyncSecrets == hasDeviceSecret)
        #expect(try next.unlock(keybag).syncSecrets == (hasDeviceSecret ? secrets : []))
    }

    @Test func `The sync secrets of a circle's recovery member follow from the paper key`() throws {
        let vector = try #require(Vector.all("sync", "identity").first { $0.has("seed") })
        let key = RecoveryKey(try vector.bytes("seed"))
        #expect(try key.syncSecret(.afterFirstUnlock).array == vector.bytes("secret_f"))
        #expect(try key.syncSecret(.whileUnlocked).array == vector.bytes("secret_u"))
    }
}
