// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite struct `New keys for a keychain` {
    let epochs = TestKeychain()
    let first = Result { try TestKeychain.passcode("first passcode") }
    let second = Result { try TestKeychain.passcode("second passcode") }
    static let names = ProtectionClass.allCases.map { "\($0)" }
    static let withoutPasscode = ProtectionClass.allCases.filter {
        $0 != .whenPasscodeSetThisDeviceOnly
    }

    @Test func `Every item remains when a passcode is set, changed and removed`() throws {
        try epochs.addItems(Self.withoutPasscode)
        try epochs.store.keychain.setPasscode(first.get())
        #expect(try epochs.lockState() == .unlocked)
        try epochs.addItems([.whenPasscodeSetThisDeviceOnly])
        #expect(epochs.readable(of: Self.names) == Set(Self.names))
        try epochs.store.keychain.changePasscode(first.get(), to: second.get())
        #expect(epochs.readable(of: Self.names) == Set(Self.names))
        #expect(try epochs.store.keychain.status().level == .passcode)
        try epochs.store.keychain.removePasscode(second.get())
        #expect(try epochs.lockState() == .noPasscode)
        #expect(epochs.readable(of: Self.names) == Set(Self.withoutPasscode.map { "\($0)" }))
        let status = try epochs.store.keychain.status()
        #expect(status.epoch == 4 && !status.isErasePending)
        #expect(epochs.store.keychain.diagnose().allSatisfy { $0.severity == .fine })
    }

    @Test func `Setting a passcode creates a missing keychain`() throws {
        try epochs.store.keychain.setPasscode(first.get())
        #expect(try epochs.lockState() == .unlocked)
        try epochs.add("a")
        #expect(try epochs.value("a") == "value of a")
    }

    @Test func `New keys have their own device key under the usual name`() throws {
        try epochs.add("a")
        let path = epochs.folder + "/device"
        let old = try Data(contentsOf: URL(fileURLWithPath: path + "/device.key"))
        try epochs.store.keychain.rotateKeys(nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["device.key"])
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + "/device.key")) != old)
        epochs.store.close()
        #expect(try epochs.value("a") == "value of a")
        #expect(try epochs.store.keychain.status().epoch == 2)
    }

    @Test func `New keys leave the device key alone if another file has their name`() throws {
        try epochs.add("a")
        let folder = URL(fileURLWithPath: epochs.folder)
        let path = folder.appendingPathComponent("device/device.key")
        let key = try Data(contentsOf: path)
        let keyID = key[26..<42].map { String(format: "%02x", $0) }.joined()
        let planted = path.appendingPathExtension(keyID)
        for file in [planted, folder.appendingPathComponent("erase.pending")] {
            #expect(
                FileManager.default.createFile(
                    atPath: file.path, contents: Data("x".utf8),
                    attributes: [.posixPermissions: 0o600]))
        }
        epochs.store.close()
        try epochs.add("b")
        #expect(try !epochs.store.keychain.status().isErasePending)
        // What has the name of the key in use is never erased; this is no device key, besides.
        #expect(try Data(contentsOf: planted) == Data("x".utf8))
        #expect(epochs.store.keychain.strayDeviceKeys().map(\.path) == [planted.path])
        #expect(try Data(contentsOf: path) == key)
        epochs.store.close()
        #expect(try epochs.value("a") == "value of a")
    }

    // Promise: 8.3
    @Test func `A key change that fails on the way changes nothing`() throws {
        try epochs.addItems(Self.withoutPasscode)
        try epochs.addBatches(2)
        try epochs.store.keychain.setPasscode(first.get())
        let rows = try epochs.rows().map(\.header.version)
        // There is no folder for the new device key when the rows are sealed.
        let path = epochs.folder + "/device"
        let away = path + ".away"
        let stop = KeyChangeOptions { _, _ in
            guard !FileManager.default.fileExists(atPath: away) else { return }
            _ = try? FileManager.default.moveItem(atPath: path, toPath: away)
            _ = FileManager.default.createFile(atPath: path, contents: nil)
        }
        let code = failure {
            try epochs.store.keychain.changePasscode(first.get(), to: second.get(), stop)
        }
        #expect(code == .insecureFiles)
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: away, toPath: path)
        epochs.store.close()
        #expect(try epochs.store.keychain.status().epoch == 2)
        #expect(try epochs.rows().map(\.header.version) == rows)
        try epochs.store.keychain.lock(all: true)
        #expect(
            failure { try epochs.store.keychain.unlock(second.get()) } == .authenticationFailed)
        try epochs.store.keychain.unlock(first.get())
        #expect(epochs.readable(of: Self.names) == Set(Self.withoutPasscode.map { "\($0)" }))
        try epochs.add("b")
        #expect(try !epochs.store.keychain.status().isErasePending)
    }

    // Promise: 8.3
    @Test func `Writers wait for a key change until their deadline`() throws {
        try epochs.addBatches(2)
        let other = ItemStore(
            KeychainLocation(folder: epochs.folder + "/."),
            timeLimit: .milliseconds(50))
        let caller = epochs.caller
        var failures: [KeychainFailure] = []
        let watching = KeyChangeOptions { _, _ in
            do throws(KeychainFailure) {
                try other.set(Addition(.generic("x"), value: .text("v")), for: caller)
            } catch {
                failures.append(error)
            }
        }
        try epochs.store.keychain.rotateKeys(nil, watching)
        #expect(!failures.isEmpty && failures.allSatisfy { $0.code == .timedOut })
        try other.set(Addition(.generic("x"), value: .text("v")), for: caller)
    }

    // Promise: 8.3
    @Test func `Readers see the former keys until a key change commits`() throws {
        try epochs.addBatches(2)
        try epochs.store.keychain.setPasscode(first.get())
        try epochs.add("a")
        let other = ItemStore(KeychainLocation(folder: epochs.folder + "/."))
        let caller = epochs.caller
        var values: [String?] = []
        let watching = KeyChangeOptions { _, _ in
            let value = try? other.value(of: .exact("a"), for: caller)
            values.append(value.map { String(decoding: $0.array, as: UTF8.self) })
        }
        try epochs.store.keychain.changePasscode(first.get(), to: second.get(), watching)
        #expect(!values.isEmpty && values.allSatisfy { $0 == "value of a" })
        #expect(try other.value(of: .exact("a"), for: caller) != nil)
    }

    @Test func `New keys take the passcode cost that the machine can spare, unless told otherwise`()
    {
        let store = ItemStore(KeychainLocation(folder: epochs.folder))
        guard case .calibrated = store.stretching else {
            Issue.record("\(store.stretching)")
            return
        }
    }

    @Test func `New keys refuse a wrong passcode and change nothing`() throws {
        try epochs.add("a")
        try epochs.store.keychain.setPasscode(first.get())
        #expect(
            failure { try epochs.store.keychain.changePasscode(second.get(), to: second.get()) }
                == .authenticationFailed)
        #expect(
            failure { try epochs.store.keychain.removePasscode(second.get()) }
                == .authenticationFailed)
        #expect(failure { try epochs.store.keychain.rotateKeys(nil) } == .interactionNotAllowed)
        #expect(
            failure { try epochs.store.keychain.setPasscode(second.get()) } == .duplicateItem)
        #expect(try epochs.store.keychain.status().epoch == 2)
        #expect(try epochs.value("a") == "value of a")
    }

    @Test func `A passcode must exist to be changed or removed`() throws {
        try epochs.add("a")
        #expect(
            failure { try epochs.store.keychain.changePasscode(first.get(), to: second.get()) }
                == .passcodeNotSet)
        #expect(
            failure { try epochs.store.keychain.removePasscode(first.get()) } == .passcodeNotSet
        )
        #expect(failure { try epochs.store.keychain.lock() } == .passcodeNotSet)
    }

    @Test func `Rows of every kind follow a key change`() throws {
        let keychain = epochs
        try keychain.add(.internet("i", [.label: .text("l"), .path: .text("/p")]))
        try keychain.add(.generic("s", [.syncViewHint: .text("h")], isSynchronizable: true))
        try keychain.add(.generic("d", isSynchronizable: true))
        try keychain.delete(.exact("d", .any))
        try keychain.add(.generic("big"), String(repeating: "x", count: 100_000))
        try keychain.add(.generic("none"), nil)
        for number in 0..<300 { try keychain.add(.generic("many \(number)", service: "many")) }
        try epochs.store.keychain.rotateKeys(nil)
        #expect(
            try keychain.value(ItemQuery(.internetPassword, attributes: [.label: .text("l")]))
                == "value")
        #expect(try keychain.value(.exact("s", .any)) == "value")
        #expect(try keychain.value(.exact("big"))?.count == 100_000)
        #expect(try keychain.value(.exact("none")) == nil)
        #expect(try epochs.store.keychain.status().itemCount == 304)
        #expect(keychain.damage() == [])
    }
}

@Suite struct `A keychain with a passcode` {
    let epochs = TestKeychain()
    let passcode: Passcode
    static let open = ProtectionClass.allCases.filter { !TestKeychain.lockable.contains($0) }
        .map { "\($0)" }
    static let names = ProtectionClass.allCases.map { "\($0)" }

    init() throws {
        passcode = try TestKeychain.passcode("the passcode")
        try epochs.store.keychain.setPasscode(passcode)
        try epochs.addItems(ProtectionClass.allCases)
    }

    @Test func `A locked keychain reads what stays open, and everything once unlocked`() throws {
        try epochs.store.keychain.lock()
        #expect(try epochs.lockState() == .locked)
        #expect(epochs.readable(of: Self.names) == Set(Self.open))
        try epochs.store.keychain.unlock(passcode)
        #expect(try epochs.lockState() == .unlocked)
        #expect(epochs.readable(of: Self.names) == Set(Self.names))
    }

    @Test func `A keychain before its first unlock reads nothing`() throws {
        try epochs.store.keychain.lock(all: true)
        #expect(try epochs.lockState() == .beforeFirstUnlock)
        for name in Self.names + ["missing"] {
            #expect(failure { _ = try epochs.value(name) } == .locked)
        }
        epochs.store.close()
        try epochs.store.keychain.unlock(passcode)
        #expect(epochs.readable(of: Self.names) == Set(Self.names))
    }

    @Test func `A wrong passcode leaves the keychain locked`() throws {
        try epochs.store.keychain.lock()
        let wrong = try TestKeychain.passcode("the passcodf")
        #expect(failure { try epochs.store.keychain.unlock(wrong) } == .authenticationFailed)
        #expect(try epochs.lockState() == .locked)
    }

    @Test func `A keychain locks itself after the time of its unlock`() throws {
        try epochs.store.keychain.unlock(passcode, for: .milliseconds(1))
        var attempts = 0
        while try epochs.lockState() == .unlocked, attempts < 1000 {
            Thread.sleep(forTimeInterval: 0.01)
            attempts += 1
        }
        #expect(try epochs.lockState() == .locked)
        #expect(failure { _ = try epochs.value("\(ProtectionClass.whenUnlocked)") } == .locked)
    }

    @Test func `A locked keychain says that an item is missing`() throws {
        try epochs.store.keychain.lock()
        #expect(failure { _ = try epochs.value("missing") } == .itemNotFound)
    }
}

@Suite struct `A keychain with a recovery key` {
    let epochs = TestKeychain()
    static let names = ProtectionClass.allCases.map { "\($0)" }
    static let migratable = ProtectionClass.allCases.filter { !$0.isThisDeviceOnly }
        .map { "\($0)" }

    @Test func `A recovery key restores a keychain without its passcode`() throws {
        try epochs.store.keychain.setPasscode(try TestKeychain.passcode("forgotten"))
        try epochs.addItems(ProtectionClass.allCases)
        let text = try epochs.store.keychain.createRecoveryKey(TestKeychain.passcode("forgotten"))
        try epochs.store.keychain.rotateKeys(TestKeychain.passcode("forgotten"))
        try epochs.store.keychain.lock(all: true)
        #expect(try epochs.store.keychain.itemsLostByRecovery().count == 1)
        let new = try TestKeychain.passcode("new passcode")
        try epochs.store.keychain.recover(with: text, settingPasscode: new)
        #expect(try epochs.lockState() == .unlocked)
        let lost = "\(ProtectionClass.whenPasscodeSetThisDeviceOnly)"
        #expect(epochs.readable(of: Self.names) == Set(Self.names).subtracting([lost]))
        #expect(failure { _ = try epochs.value(lost) } == .itemNotFound)
        #expect(try epochs.store.keychain.status().quarantinedRowCount == 1)
        #expect(
            failure { try epochs.store.keychain.unlock(TestKeychain.passcode("forgotten")) }
                == .authenticationFailed)
        try epochs.store.keychain.unlock(new)
    }

    @Test func `A recovery key restores a keychain without its device key`() throws {
        try epochs.addItems(
            ProtectionClass.allCases.filter { $0 != .whenPasscodeSetThisDeviceOnly })
        let text = try epochs.store.keychain.createRecoveryKey(nil)
        try FileManager.default.removeItem(atPath: epochs.folder + "/device/device.key")
        epochs.store.close()
        let status = try epochs.store.keychain.status()
        #expect(status.state == .incomplete && status.hasRecoveryKey)
        #expect(failure { _ = try epochs.value("a") } == .incomplete)
        #expect(try epochs.store.keychain.itemsLostByRecovery().count == 3)
        try epochs.store.keychain.recover(with: text, settingPasscode: nil)
        #expect(epochs.readable(of: Self.names) == Set(Self.migratable))
        #expect(try epochs.store.keychain.status().quarantinedRowCount == 3)
    }

    @Test func `A recovery does not give up a device key that others may read`() throws {
        try epochs.add("a", as: .whenUnlockedThisDeviceOnly)
        let text = try epochs.store.keychain.createRecoveryKey(nil)
        let path = epochs.folder + "/device/device.key"
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        epochs.store.close()
        #expect(
            failure { try epochs.store.keychain.recover(with: text, settingPasscode: nil) }
                == .insecureFiles)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(try epochs.value("a") == "value of a")
    }

    @Test func `A revoked or foreign recovery key does not open a keychain`() throws {
        try epochs.add("a")
        let text = try epochs.store.keychain.createRecoveryKey(nil)
        let other = TestKeychain()
        let others = try other.store.keychain.createRecoveryKey(nil)
        #expect(
            failure { try epochs.store.keychain.recover(with: others, settingPasscode: nil) }
                == .authenticationFailed)
        try epochs.store.keychain.rotateKeys(nil, revokingRecoveryKey: .any)
        #expect(
            failure { try epochs.store.keychain.recover(with: text, settingPasscode: nil) }
                == .authenticationFailed)
        #expect(try epochs.value("a") == "value of a")
        #expect(try !epochs.store.keychain.status().hasRecoveryKey)
    }
}
