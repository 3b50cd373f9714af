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

/// A keychain with a passcode. No key of it stays in the kernel.
private final class LockableStore {
    let keychain = TestKeychain()
    let store: ItemStore

    init() throws {
        store = ItemStore(KeychainLocation(folder: keychain.folder), stretching: .lowest)
        _ = try store.add(
            Addition(.generic("a"), value: .text("v")), for: keychain.caller)
        try store.keychain.setPasscode(Self.passcode("right"))
    }

    deinit {
        try? store.keychain.lock(all: true)
        store.close()
    }

    static func bytes(_ text: String) -> SecretBytes {
        SecretBytes(copying: Array(text.utf8).span)
    }

    static func passcode(_ text: String) throws -> Passcode {
        try Passcode(bytes(text))
    }

    func header() throws -> KeychainHeader {
        try store.tryOnKeys("test") { keys in
            try keys.header()
        }
    }

    func code(_ body: () throws(KeychainFailure) -> Void) -> KeychainFailure.Code? {
        do throws(KeychainFailure) {
            try body()
            return nil
        } catch {
            return error.code
        }
    }
}

@Suite struct `Checking what a person typed` {
    private let lockable: LockableStore
    private var store: ItemStore { lockable.store }

    init() throws { lockable = try LockableStore() }

    // Promise: 8.6
    @Test func `Checking a passcode recognises it and unlocks nothing`() throws {
        try store.keychain.lock(all: true)
        let (right, wrong) = (
            try LockableStore.passcode("right"), try LockableStore.passcode("wrong")
        )
        #expect(
            lockable.code { () throws(KeychainFailure) in try store.keychain.check(right) } == nil)
        #expect(
            lockable.code { () throws(KeychainFailure) in try store.keychain.check(wrong) }
                == .authenticationFailed)
        #expect(try store.keychain.status().state == .beforeFirstUnlock)
    }

    @Test func `Checking a passcode reports that none is set`() throws {
        try store.keychain.removePasscode(LockableStore.passcode("right"))
        let passcode = try LockableStore.passcode("right")
        #expect(
            lockable.code { () throws(KeychainFailure) in try store.keychain.check(passcode) }
                == .passcodeNotSet)
    }

    // Promise: 8.12
    @Test func `Checking a recovery key recognises it and reports a missing one`() throws {
        let typed = LockableStore.bytes("V1")
        func message(_ text: borrowing SecretBytes) -> String? {
            do throws(KeychainFailure) {
                try store.keychain.checkRecoveryKey(text)
                return nil
            } catch {
                return error.code == .authenticationFailed ? error.message : "\(error)"
            }
        }
        let old = try store.keychain.createRecoveryKey(LockableStore.passcode("right"))
        let new = try store.keychain.createRecoveryKey(LockableStore.passcode("right"))
        #expect(message(new) == nil)
        #expect(message(old) == "wrong recovery key")
        #expect(message(typed) == "wrong length: 2 characters instead of 40")
        try store.keychain.rotateKeys(LockableStore.passcode("right"), revokingRecoveryKey: .any)
        #expect(message(new) == "there is no recovery key")
    }

    @Test func `The items that need the passcode are counted`() throws {
        #expect(try store.keychain.lossWithoutPasscode().itemCount == 0)
        _ = try store.add(
            Addition(.generic("b", as: .whenPasscodeSetThisDeviceOnly), value: .text("v")),
            for: lockable.keychain.caller)
        #expect(try store.keychain.lossWithoutPasscode().itemCount == 1)
    }

    @Test func `Checking a passcode reports a missing device key`() throws {
        #expect(
            lockable.code { () throws(KeychainFailure) in try store.keychain.checkDeviceKey() }
                == nil)
        try FileManager.default.removeItem(atPath: store.location.deviceFolder + "/device.key")
        #expect(
            lockable.code { () throws(KeychainFailure) in try store.keychain.checkDeviceKey() }
                == .incomplete)
        // It works while it is unlocked; doctor knows better.
        #expect(store.keychain.diagnose().contains { $0.severity == .broken })
    }
}

@Suite struct `Opened keys of a keychain that lost its passcode` {
    private func remains(after body: (ItemStore) throws -> Void) throws -> Bool {
        let lockable = try LockableStore()
        let header = try lockable.header()
        try body(lockable.store)
        switch header.openedKeys.current(expecting: header.mark) {
        case .beforeFirstUnlock: return false
        case .unlocked, .locked, .unknown: return true
        }
    }

    @Test func `Opened keys remain while the passcode is not removed`() throws {
        #expect(try remains { _ in })
    }

    // Promise: 7.16
    @Test func `Opened keys end when the passcode is removed`() throws {
        #expect(try !remains { try $0.keychain.removePasscode(LockableStore.passcode("right")) })
    }

    // Promise: 7.16
    @Test func `Opened keys end with a recovery that sets no passcode`() throws {
        let remains = try remains { store in
            let key = try store.keychain.createRecoveryKey(LockableStore.passcode("right"))
            try store.keychain.recover(with: key, settingPasscode: nil)
        }
        #expect(!remains)
    }
}

@Suite struct `Binding a keychain to its own device key` {
    // Promise: 14.8
    @Test func `A keychain refuses its own device key file as the given key and loses nothing`()
        throws
    {
        let keychain = TestKeychain()
        let own = keychain.folder + "/device/device.key"
        let location = KeychainLocation(
            KeychainLocation(folder: keychain.folder), deviceKeyPath: own)
        let store = ItemStore(location, stretching: .lowest)
        defer { store.close() }
        // Made with a device key of its own, before the variable was set.
        _ = try keychain.store.add(
            Addition(.generic("a"), value: .text("v")), for: keychain.caller)
        let key = try keychain.store.keychain.createRecoveryKey(nil)
        keychain.reopen()
        func isRefused(_ body: () throws(KeychainFailure) -> Void) -> Bool {
            do throws(KeychainFailure) {
                try body()
                return false
            } catch {
                return error.code == .invalidRequest && error.path == own
            }
        }
        #expect(
            isRefused { () throws(KeychainFailure) in
                try store.keychain.rotateKeys(nil, movingDeviceKeyTo: .keyFile)
            })
        #expect(
            isRefused { () throws(KeychainFailure) in
                try store.keychain.recover(with: key, settingPasscode: nil, deviceKeyFrom: .keyFile)
            })
        #expect(try store.value(of: .exact("a"), for: keychain.caller) != nil)
        #expect(try store.keychain.status().deviceKeySource == .ownFile)
    }
}
