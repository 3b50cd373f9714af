// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetSystem

@testable import ValetKeys

/// docs/FORMAT.md §4.2, records 0x0401 and 0x0402.
@Suite struct `The presence pairs of a keybag` {
    let sample: PasscodeSample

    init() throws { sample = try PasscodeSample(epoch: Epoch(4)) }

    private func seal(_ pair: PresencePair, in keybag: LockedKeybag) throws -> [UInt8] {
        let publicKey = try #require(try keybag.publicKey(of: pair))
        let recipient = Recipient(
            publicKey, keychainID: keybag.keychainID, epoch: keybag.epoch)
        return try PublicKeySealing.seal(
            Array("value".utf8).span, associatedData: Self.data.span, to: recipient)
    }

    private func open(
        _ sealed: [UInt8], _ pair: PresencePair, _ keys: PresenceKeys
    ) throws -> [UInt8]? {
        let opened = try keys.open(sealed.span, to: pair, associatedData: Self.data.span)
        switch opened {
        case .none: return nil
        case .some(let bytes): return bytes.array
        }
    }

    private static let data = Array("place".utf8)

    private func keys(
        _ keybag: LockedKeybag, _ owner: PasscodeSample? = nil
    ) throws -> PresenceKeys {
        try keybag.presenceKeys(
            with: (owner ?? sample).protector(), settings: PasscodeSample.settings)
    }

    // Promise: 9.1
    @Test(arguments: PresencePair.allCases)
    func `Presence pairs open what was sealed to their public halves`(_ pair: PresencePair) throws {
        let sealed = try seal(pair, in: sample.locked)
        let keys = try keys(sample.locked)
        #expect(try open(sealed, pair, keys) == Array("value".utf8))
        let other: PresencePair = pair == .person ? .passcode : .person
        #expect(throws: SystemError.self) { try open(sealed, other, keys) }
    }

    @Test func `Presence pairs are not there without a passcode`() throws {
        let keybag = try TestKeybag().locked
        for pair in PresencePair.allCases {
            #expect(try keybag.publicKey(of: pair) == nil)
        }
    }

    @Test func `Presence pairs are new in every epoch`() throws {
        let next = try LockedKeybag(
            succeeding: sample.locked, openedBy: sample.protector(),
            as: KeybagPlace(deviceSource: .ownFile, recovery: nil),
            protector: sample.protector(), settings: PasscodeSample.settings)
        for pair in PresencePair.allCases {
            #expect(try next.publicKey(of: pair) != sample.locked.publicKey(of: pair))
        }
    }

    /// docs/FORMAT.md §4.7.
    @Test func `Presence pairs give the secret of person, and no other, to an unlocked keychain`()
        throws
    {
        let opened = try sample.unlock()
        let keys = try #require(try sample.locked.personKeys(of: opened))
        let sealed = try seal(.person, in: sample.locked)
        #expect(try open(sealed, .person, keys) == Array("value".utf8))
        let closed = try seal(.passcode, in: sample.locked)
        #expect(try open(closed, .passcode, keys) == nil)
        let locked = UnlockedKeybag(
            keychainID: opened.keychainID, epoch: opened.epoch,
            index: try IndexKey(copying: opened.index.array.span), classes: [])
        #expect(try sample.locked.personKeys(of: locked) == nil)
    }

    /// docs/FORMAT.md §4.6: what a recovery key opens, with the device secret and without.
    @Test(arguments: [true, false])
    func `A recovery opens the presence pair person with the device secret only`(
        _ hasSecret: Bool
    ) throws {
        let recovery = RecoveryKey(Randomness.bytes(20))
        let recoverable = try sample.locked.addingRecoveryKey(
            recovery.publicKey, with: sample.protector(), settings: PasscodeSample.settings)
        let secret: DeviceSecret? =
            hasSecret ? try DeviceSecret(copying: sample.deviceSecret.span) : nil
        let keys = try recoverable.presenceKeys(
            with: RecoveryProtector(recovery, deviceSecret: secret),
            settings: PasscodeSample.settings)
        let person = try seal(.person, in: recoverable)
        #expect(try open(person, .person, keys) == (hasSecret ? Array("value".utf8) : nil))
        let passcode = try seal(.passcode, in: recoverable)
        #expect(try open(passcode, .passcode, keys) == nil)
    }

    @Test(arguments: PresencePair.allCases)
    func `Presence pairs are refused one without the other`(_ pair: PresencePair) throws {
        let sample = try PasscodeSample(cost: .lowest)
        let keybag = try sample.resealed { $0[pair.tag] = nil }
        #expect(code { _ = try LockedKeybag(parsing: keybag.encoded) } == .malformed)
        let without = try sample.resealed { records in
            for pair in PresencePair.allCases { records[pair.tag] = nil }
        }
        #expect(code { _ = try LockedKeybag(parsing: without.encoded) } == nil)
    }

    @Test(arguments: PresencePair.allCases)
    func `Presence pairs are refused where their halves do not belong together`(
        _ pair: PresencePair
    ) throws {
        let keybag = try sample.resealed { records in
            let other = KeyAgreementPair.random()
            records[pair.tag]?.replaceSubrange(0..<32, with: other.publicKey.bytes)
        }
        #expect(code { _ = try keys(keybag) } == .tampered)
        if pair == .person { #expect(code { _ = try sample.unlock(keybag) } == .tampered) }
    }

    @Test func `Presence pairs are refused in each other's place`() throws {
        let keybag = try sample.resealed { records in
            let passcode = records[.presencePasscode]
            records[.presencePasscode] = records[.presencePerson]
            records[.presencePerson] = passcode
        }
        #expect(code { _ = try keys(keybag) } == .tampered)
    }

    @Test(arguments: [0, 32, 152, 154])
    func `Presence pairs are refused at any other length`(_ count: Int) throws {
        let sample = try PasscodeSample(cost: .lowest)
        let keybag = try sample.resealed { records in
            let body = (records[.presencePerson] ?? []) + [0]
            records[.presencePerson] = Array(body.prefix(count))
        }
        #expect(code { _ = try LockedKeybag(parsing: keybag.encoded) } == .malformed)
    }
}
