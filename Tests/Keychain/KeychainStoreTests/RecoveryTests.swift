// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §4.6.
@Suite final class `A recovery` {
    let keychain = TestKeychain()
    let text: SecretBytes
    static let names = ProtectionClass.allCases.map { "\($0)" }
    static let lost = "\(ProtectionClass.whenPasscodeSetThisDeviceOnly)"

    init() throws {
        let old = try TestKeychain.passcode("forgotten")
        try keychain.store.keychain.setPasscode(old)
        try keychain.addBatches(2)
        try keychain.addItems(ProtectionClass.allCases)
        text = try keychain.store.keychain.createRecoveryKey(old)
    }

    @Test func `A former recovery key opens nothing that is on the disk, or the call says so`()
        throws
    {
        let keychain = TestKeychain()
        try keychain.add("a")
        _ = try keychain.store.keychain.createRecoveryKey(nil)
        let former = try keychain.keybagBytes()
        _ = try keychain.store.tryOnRows("test") { snapshot in
            _ = try snapshot.store.sync.readMark()
            var cause: KeychainFailure?
            _ = try keychain.store.keychain.createRecoveryKey(nil, pendingErasure: { cause = $0 })
            #expect(cause?.code == .timedOut)
        }
        #expect(try keychain.store.keychain.status().isErasePending)
        #expect(try keychain.hasOnDisk(former))
        try keychain.eraseFormerKeys()
        #expect(try !keychain.hasOnDisk(former))
        #expect(try !keychain.store.keychain.status().isErasePending)
    }

    // Promise: 8.2, 8.8
    @Test func `A recovery of an open keychain leaves the former passcode nothing`() throws {
        let new = try TestKeychain.passcode("new passcode")
        try keychain.store.keychain.recover(with: text, settingPasscode: new)
        let kept = Set(Self.names).subtracting([Self.lost])
        #expect(keychain.readable(of: Self.names) == kept)
        try keychain.add("new")
        try keychain.store.keychain.lock(all: true)
        let old = try TestKeychain.passcode("forgotten")
        #expect(failure { try keychain.store.keychain.unlock(old) } == .authenticationFailed)
        try keychain.store.keychain.unlock(new)
        #expect(keychain.readable(of: Self.names + ["new"]) == kept.union(["new"]))
        #expect(try keychain.store.keychain.status().quarantinedRowCount == 1)
        #expect(keychain.damage() == [])
    }

    @Test func `A recovery restores everything that it opens`()
        throws
    {
        try keychain.store.keychain.lock(all: true)
        let epoch = try #require(try keychain.store.keychain.status().epoch)
        let count = try #require(try keychain.store.keychain.status().itemCount)
        try keychain.store.keychain.recover(with: text, settingPasscode: nil)
        let status = try keychain.store.keychain.status()
        #expect(status.state == .noPasscode && status.epoch == epoch + 1)
        #expect(!status.isErasePending)
        #expect(status.itemCount == count - 1)
        #expect(
            keychain.readable(of: Self.names) == Set(Self.names).subtracting([Self.lost]))
    }

    @Test func `A recovery sets aside what needs a lost device key`()
        throws
    {
        try keychain.store.keychain.lock(all: true)
        for name in try FileManager.default.contentsOfDirectory(
            atPath: keychain.folder + "/device")
        { try FileManager.default.removeItem(atPath: keychain.folder + "/device/" + name) }
        keychain.store.close()
        let new = try TestKeychain.passcode("new passcode")
        try keychain.store.keychain.recover(with: text, settingPasscode: new)
        let migratable = ProtectionClass.allCases.filter { !$0.isThisDeviceOnly }.map { "\($0)" }
        #expect(keychain.readable(of: Self.names) == Set(migratable))
        #expect(try keychain.store.keychain.status().quarantinedRowCount == 4)
        #expect(keychain.damage() == [])
    }

    // Promise: 16.1
    @Test func `A recovery loses no more than its user knows of`() throws {
        let agreed = try keychain.store.keychain.itemsLostByRecovery()
        let (folder, away) = (keychain.folder + "/device", keychain.folder + "-away")
        try FileManager.default.moveItem(atPath: folder, toPath: away)
        keychain.store.close()
        let new = try TestKeychain.passcode("new passcode")
        let error = #expect(throws: KeychainFailure.self) {
            try keychain.store.keychain.recover(
                with: text, settingPasscode: new, agreeingTo: agreed)
        }
        #expect(error?.code == .timedOut)
        #expect(error?.message.contains("device key cannot be found any more") == true)
        try FileManager.default.moveItem(atPath: away, toPath: folder)
        keychain.store.close()
        try keychain.store.keychain.unlock(try TestKeychain.passcode("forgotten"))
        #expect(keychain.readable(of: Self.names) == Set(Self.names))
    }
}

/// What is made between a question and the change that it is about.
@Suite struct `Consent to a key change` {
    private let keychain = TestKeychain()
    private let passcode: Passcode
    private var keys: Keychain { keychain.store.keychain }

    init() throws {
        passcode = try TestKeychain.passcode("the passcode")
        try keychain.store.keychain.setPasscode(passcode)
    }

    // Promise: 16.1
    @Test func `An item that is stored after the question is not destroyed with the passcode`()
        throws
    {
        let agreed = try keys.lossWithoutPasscode()
        try keychain.add("a", as: .whenPasscodeSetThisDeviceOnly)
        let code = failure { try keys.removePasscode(passcode, agreeingTo: agreed) }
        #expect(code == .timedOut)
        #expect(keychain.readable(of: ["a"]) == ["a"])
        try keys.removePasscode(passcode, agreeingTo: keys.lossWithoutPasscode())
        #expect(keychain.readable(of: ["a"]).isEmpty)
    }

    // Promise: 16.1
    @Test func `A recovery key that is made after the question is not revoked`() throws {
        _ = try keys.createRecoveryKey(passcode)
        let known = try keys.status().recoveryPublicKey
        let text = try keys.createRecoveryKey(passcode)
        let code = failure {
            try keys.rotateKeys(passcode, revokingRecoveryKey: .only(known))
        }
        #expect(code == .timedOut)
        try keys.checkRecoveryKey(text)
        try keys.rotateKeys(
            passcode, revokingRecoveryKey: .only(keys.status().recoveryPublicKey))
        #expect(try !keys.status().hasRecoveryKey)
    }

    // Promise: 8.14
    @Test func `A recovery key is shown before the former one is erased`() throws {
        _ = try keys.createRecoveryKey(passcode)
        var isPending = false
        _ = try keys.createRecoveryKey(
            passcode,
            showing: { _ in
                isPending = FileManager.default.fileExists(
                    atPath: keychain.folder + "/erase.pending")
            })
        #expect(isPending)
        #expect(try !keys.status().isErasePending)
    }
}

@Suite struct `Making a recovery key` {
    let keychain = TestKeychain()
    let passcode: Passcode
    static let open = ProtectionClass.allCases.filter { !TestKeychain.lockable.contains($0) }
        .map { "\($0)" }

    init() throws {
        passcode = try TestKeychain.passcode("the passcode")
        try keychain.store.keychain.setPasscode(passcode)
        try keychain.addItems(ProtectionClass.allCases)
    }

    private func recover(with text: borrowing SecretBytes) throws {
        try keychain.store.keychain.recover(with: text, settingPasscode: nil)
        #expect(keychain.readable(of: Self.open) == Set(Self.open))
    }

    // Promise: 8.8
    @Test func `Creating a recovery key leaves a locked keychain locked with what was open`() throws
    {
        try keychain.store.keychain.lock()
        let text = try keychain.store.keychain.createRecoveryKey(passcode)
        #expect(try keychain.lockState() == .locked)
        let names = ProtectionClass.allCases.map { "\($0)" }
        #expect(keychain.readable(of: names) == Set(Self.open))
        try recover(with: text)
    }

    @Test func `Creating a recovery key leaves a keychain before its first unlock`() throws {
        try keychain.store.keychain.lock(all: true)
        let text = try keychain.store.keychain.createRecoveryKey(passcode)
        #expect(try keychain.lockState() == .beforeFirstUnlock)
        try recover(with: text)
    }

    @Test func `Creating a recovery key starts again if the keys have changed`() throws {
        let other = ItemStore(
            KeychainLocation(folder: keychain.folder + "/."), stretching: .lowest)
        let (passcode, hasEnded) = (passcode, DispatchSemaphore(value: 0))
        let isOver = Atomic<Bool>(false)
        let codes = Mutex<Set<KeychainFailure.Code?>>([])
        Thread.detachNewThread {
            while !isOver.load(ordering: .relaxed) {
                let code = failure { try other.keychain.rotateKeys(passcode) }
                codes.withLock { _ = $0.insert(code) }
            }
            hasEnded.signal()
        }
        for _ in 0..<6 {
            let code = failure { _ = try keychain.store.keychain.createRecoveryKey(passcode) }
            codes.withLock { _ = $0.insert(code) }
        }
        isOver.store(true, ordering: .relaxed)
        #expect(hasEnded.wait(timeout: .now() + 60) == .success)
        // Either may give up if the other was quicker each time, and says so.
        #expect(codes.withLock { $0.subtracting([nil, .timedOut]) } == [])
        #expect(keychain.damage() == [])
    }

    @Test func `Creating a recovery key refuses a wrong passcode and changes nothing`() throws {
        try keychain.store.keychain.lock()
        let wrong = try TestKeychain.passcode("wrong")
        #expect(
            failure { _ = try keychain.store.keychain.createRecoveryKey(wrong) }
                == .authenticationFailed)
        #expect(try !keychain.store.keychain.status().hasRecoveryKey)
        #expect(try keychain.lockState() == .locked)
    }
}

extension TestKeychain {
    /// The sealed keybag: its last 32 bytes, the authentication code, are random.
    fileprivate func keybagBytes() throws -> [UInt8] {
        try tamper { connection in
            let run = try Statement("SELECT bytes FROM keybag", on: connection).start()
            #expect(try run.step())
            return Array(run.blob(0).suffix(32))
        }
    }

    fileprivate func hasOnDisk(_ bytes: [UInt8]) throws -> Bool {
        try ["keychain.db", "keychain.db-wal"].contains { name in
            let contents = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
            return contents.range(of: Data(bytes)) != nil
        }
    }
}
