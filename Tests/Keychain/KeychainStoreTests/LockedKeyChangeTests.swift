// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// A keychain with a passcode, limits, and an item of each class.
private struct Locked {
    enum Change: CaseIterable {
        case rotation, revocation, binding
    }

    static let names = ProtectionClass.allCases.map { "\($0)" }
    static let open = ProtectionClass.allCases.filter { !TestKeychain.lockable.contains($0) }
        .map { "\($0)" }

    let keychain = TestKeychain()
    let passcode: Passcode
    var store: ItemStore { keychain.store }

    init() throws {
        passcode = try TestKeychain.passcode("the passcode")
        try store.keychain.setPasscode(passcode)
        try keychain.addItems(ProtectionClass.allCases)
        _ = try store.keychain.createRecoveryKey(passcode)
        try store.keychain.unlock(passcode, for: .seconds(3_600), autoLock: .seconds(1_800))
    }

    /// What cannot be told from the state: that the keys are new, and everything is there.
    func expectWhole() throws {
        #expect(try !store.keychain.status().isErasePending)
        try store.keychain.unlock(passcode)
        #expect(keychain.readable(of: Self.names) == Set(Self.names))
        #expect(keychain.damage() == [])
    }

    func make(_ change: Change) throws {
        switch change {
        case .rotation: try store.keychain.rotateKeys(passcode)
        case .revocation: try store.keychain.rotateKeys(passcode, revokingRecoveryKey: .any)
        case .binding:
            let path = keychain.folder + "/given.key"
            try Data((0..<32).map { UInt8($0) }).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: path)
            store.close()
            let bound = try store.takingDeviceKey(from: path)
            try bound.keychain.rotateKeys(passcode, movingDeviceKeyTo: .keyFile)
        }
    }

    /// The reading of this process, as it is for the keychain of now.
    func reading() throws -> LockStatus {
        try store.tryOnKeys("look") { keys in
            let header = try keys.header()
            return header.openedKeys.current(expecting: header.mark)
        }
    }

    /// Makes a key change that fails before its commit, with `body` in between.
    func fail(_ body: () throws -> Void) throws {
        try store.tryOnKeys("test") { keys in
            let header = try keys.header()
            let refusal = #expect(throws: KeychainFailure.self) {
                _ = try keys.replaceKeys(of: header) { (_) throws(KeychainFailure) in
                    do { try body() } catch { Issue.record("\(error)") }
                    throw KeychainFailure(.diskFull, during: "test")
                }
            }
            #expect(refusal?.code == .diskFull)
        }
    }
}

@Suite struct `New keys for a locked keychain` {
    private let locked: Locked
    private var keychain: TestKeychain { locked.keychain }
    private var store: ItemStore { locked.store }

    init() throws {
        locked = try Locked()
    }

    // Promise: 8.9
    @Test(arguments: [Locked.Change.rotation, .revocation])
    private func `New keys leave a locked keychain locked with what was open`(
        _ change: Locked.Change
    ) throws {
        try store.keychain.lock()
        try locked.make(change)
        let status = try store.keychain.status()
        #expect(status.state == .locked && status.epoch == 3)
        #expect(status.remaining == nil && status.autoLock == nil)
        #expect(status.hasRecoveryKey == (change == .rotation))
        #expect(keychain.readable(of: Locked.names) == Set(Locked.open))
        for name in Set(Locked.names).subtracting(Locked.open) {
            #expect(failure { _ = try keychain.value(name) } == .locked)
        }
        try locked.expectWhole()
    }

    @Test func `New keys leave a locked keychain locked with a device key from elsewhere`() throws {
        try store.keychain.lock()
        try locked.make(.binding)
        let bound = try store.takingDeviceKey(from: keychain.folder + "/given.key")
        defer { bound.close() }
        #expect(try bound.keychain.status().state == .locked)
        #expect(try bound.keychain.status().deviceKeySource == .keyFile)
        #expect(try bound.value(of: .exact(Locked.open[0]), for: keychain.caller) != nil)
        try bound.keychain.unlock(locked.passcode)
        #expect(keychain.readable(of: Locked.names) == Set(Locked.names))
    }

    // Promise: 8.9
    @Test func `A lock while the first passcode is set stays in force`() throws {
        let keychain = TestKeychain()
        try keychain.add("a")
        try keychain.store.keychain.setPasscode(
            locked.passcode,
            KeyChangeOptions { _, _ in
                // Every other process sees a passcode only after the commit.
                #expect(throws: Never.self) {
                    try LockStateStore.lockFolder(keychain.folder, all: true)
                }
            })
        #expect(try keychain.lockState() == .beforeFirstUnlock)
        #expect(failure { _ = try keychain.value("a") } == .locked)
        try keychain.store.keychain.unlock(locked.passcode)
        #expect(try keychain.value("a") == "value of a")
    }

    // Promise: 8.9
    @Test(arguments: [Locked.Change.rotation, .revocation])
    private func `New keys leave a keychain before its first unlock`(_ change: Locked.Change) throws
    {
        try store.keychain.lock(all: true)
        try locked.make(change)
        #expect(try store.keychain.status().epoch == 3)
        #expect(try keychain.lockState() == .beforeFirstUnlock)
        #expect(try locked.reading().keys == nil)
        try locked.expectWhole()
    }

    @Test func `New keys keep the limits of an unlock`() throws {
        try locked.make(.rotation)
        let status = try store.keychain.status()
        #expect(status.state == .unlocked && status.autoLock == .seconds(1_800))
        #expect(try #require(status.remaining) <= .seconds(3_600))
        try locked.expectWhole()
    }

    // Promise: 8.9
    @Test func `New keys are completed although the keychain is locked during the change`() throws {
        try keychain.addBatches(3)
        var count = 0
        let options = KeyChangeOptions { _, _ in
            count += 1
            if count == 1 { #expect(throws: Never.self) { try store.keychain.lock() } }
            if count == 2 { #expect(throws: Never.self) { try store.keychain.lock(all: true) } }
        }
        try store.keychain.rotateKeys(locked.passcode, options)
        #expect(count > 2)
        #expect(try keychain.lockState() == .beforeFirstUnlock)
        try locked.expectWhole()
    }

    @Test func `New keys for a locked keychain refuse a wrong passcode and unlock nothing`() throws
    {
        try store.keychain.lock()
        let wrong = try TestKeychain.passcode("wrong")
        #expect(failure { try store.keychain.rotateKeys(wrong) } == .authenticationFailed)
        #expect(try keychain.lockState() == .locked)
        #expect(keychain.readable(of: Locked.names) == Set(Locked.open))
    }

    @Test func `New keys remove the earlier ones from what stays open`() throws {
        try store.keychain.lock()
        try locked.make(.rotation)
        let keys = try #require(try locked.reading().keys)
        #expect(keys.keybag.epoch.rawValue == 3)
    }
}

@Suite struct `New keys that do not come` {
    private let locked: Locked
    private var keychain: TestKeychain { locked.keychain }

    init() throws {
        locked = try Locked()
    }

    @Test func `New keys that fail leave an unlocked keychain unlocked within its limits`() throws {
        try locked.fail {}
        #expect(try keychain.lockState() == .unlocked)
        #expect(try locked.store.keychain.status().autoLock == .seconds(1_800))
        #expect(keychain.readable(of: Locked.names) == Set(Locked.names))
    }

    @Test func `New keys that fail leave a locked keychain locked with what was open`() throws {
        try locked.store.keychain.lock()
        try locked.fail {}
        #expect(try keychain.lockState() == .locked)
        #expect(keychain.readable(of: Locked.names) == Set(Locked.open))
    }

    // Promise: 8.9
    @Test func `New keys that fail do not undo a lock during the change`() throws {
        try locked.fail { try locked.store.keychain.lock() }
        #expect(try keychain.lockState() == .locked)
        #expect(keychain.readable(of: Locked.names) == Set(Locked.open))
    }

    @Test(arguments: [true, false])
    func `New keys that fail do not undo a full lock during the change`(_ wasUnlocked: Bool) throws
    {
        if !wasUnlocked { try locked.store.keychain.lock() }
        try locked.fail { try locked.store.keychain.lock(all: true) }
        #expect(try keychain.lockState() == .beforeFirstUnlock)
        #expect(try locked.reading().keys == nil)
    }
}
