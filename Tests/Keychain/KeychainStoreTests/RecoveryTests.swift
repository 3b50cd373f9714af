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

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §4.6.
@Suite final class `A recovery` {
    let epochs = EpochStore()
    let text: SecretBytes
    static let names = ProtectionClass.allCases.map { "\($0)" }
    static let lost = "\(ProtectionClass.whenPasscodeSetThisDeviceOnly)"

    init() throws {
        let old = try EpochStore.passcode("forgotten")
        try epochs.store.keychain.setPasscode(old)
        try epochs.addBatches(2)
        try epochs.addItems(ProtectionClass.allCases)
        text = try epochs.store.keychain.createRecoveryKey(old)
    }

    @Test func `A recovery of an open keychain leaves the former passcode nothing`() throws {
        let new = try EpochStore.passcode("new passcode")
        try epochs.store.keychain.recover(with: text, settingPasscode: new)
        let kept = Set(Self.names).subtracting([Self.lost])
        #expect(epochs.readable(of: Self.names) == kept)
        try epochs.add("new")
        try epochs.store.keychain.lock(all: true)
        let old = try EpochStore.passcode("forgotten")
        #expect(epochs.code { try epochs.store.keychain.unlock(old) } == .authenticationFailed)
        try epochs.store.keychain.unlock(new)
        #expect(epochs.readable(of: Self.names + ["new"]) == kept.union(["new"]))
        #expect(try epochs.store.keychain.status().quarantinedRowCount == 1)
        #expect(epochs.keychain.damage() == [])
    }

    @Test func `A recovery restores everything that it opens`()
        throws
    {
        try epochs.store.keychain.lock(all: true)
        let epoch = try #require(try epochs.store.keychain.status().epoch)
        let count = try #require(try epochs.store.keychain.status().itemCount)
        try epochs.store.keychain.recover(with: text, settingPasscode: nil)
        let status = try epochs.store.keychain.status()
        #expect(status.state == .noPasscode && status.epoch == epoch + 1)
        #expect(!status.isErasePending)
        #expect(status.itemCount == count - 1)
        #expect(
            epochs.readable(of: Self.names) == Set(Self.names).subtracting([Self.lost]))
    }

    @Test func `A recovery sets aside what needs a lost device key`()
        throws
    {
        try epochs.store.keychain.lock(all: true)
        for name in try FileManager.default.contentsOfDirectory(
            atPath: epochs.keychain.folder + "/device")
        { try FileManager.default.removeItem(atPath: epochs.keychain.folder + "/device/" + name) }
        epochs.store.close()
        let new = try EpochStore.passcode("new passcode")
        try epochs.store.keychain.recover(with: text, settingPasscode: new)
        let migratable = ProtectionClass.allCases.filter { !$0.isThisDeviceOnly }.map { "\($0)" }
        #expect(epochs.readable(of: Self.names) == Set(migratable))
        #expect(try epochs.store.keychain.status().quarantinedRowCount == 4)
        #expect(epochs.keychain.damage() == [])
    }
}

@Suite struct `Making a recovery key` {
    let epochs = EpochStore()
    let passcode: Passcode
    static let open = ProtectionClass.allCases.filter { !EpochStore.lockable.contains($0) }
        .map { "\($0)" }

    init() throws {
        passcode = try EpochStore.passcode("the passcode")
        try epochs.store.keychain.setPasscode(passcode)
        try epochs.addItems(ProtectionClass.allCases)
    }

    private func recover(with text: borrowing SecretBytes) throws {
        try epochs.store.keychain.recover(with: text, settingPasscode: nil)
        #expect(epochs.readable(of: Self.open) == Set(Self.open))
    }

    @Test func `Creating a recovery key leaves a locked keychain locked with what was open`() throws
    {
        try epochs.store.keychain.lock()
        let text = try epochs.store.keychain.createRecoveryKey(passcode)
        #expect(try epochs.state() == .locked)
        let names = ProtectionClass.allCases.map { "\($0)" }
        #expect(epochs.readable(of: names) == Set(Self.open))
        try recover(with: text)
    }

    @Test func `Creating a recovery key leaves a keychain before its first unlock`() throws {
        try epochs.store.keychain.lock(all: true)
        let text = try epochs.store.keychain.createRecoveryKey(passcode)
        #expect(try epochs.state() == .beforeFirstUnlock)
        try recover(with: text)
    }

    @Test func `Creating a recovery key starts again if the keys have changed`() throws {
        let other = ItemStore(
            KeychainLocation(folder: epochs.keychain.folder + "/."), stretching: .lowest)
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
            let code = failure { _ = try epochs.store.keychain.createRecoveryKey(passcode) }
            codes.withLock { _ = $0.insert(code) }
        }
        isOver.store(true, ordering: .relaxed)
        #expect(hasEnded.wait(timeout: .now() + 60) == .success)
        // Either may give up if the other was quicker each time, and says so.
        #expect(codes.withLock { $0.subtracting([nil, .timedOut]) } == [])
        #expect(epochs.keychain.damage() == [])
    }

    @Test func `Creating a recovery key refuses a wrong passcode and changes nothing`() throws {
        try epochs.store.keychain.lock()
        let wrong = try EpochStore.passcode("wrong")
        #expect(
            epochs.code { _ = try epochs.store.keychain.createRecoveryKey(wrong) }
                == .authenticationFailed)
        #expect(try !epochs.store.keychain.status().hasRecoveryKey)
        #expect(try epochs.state() == .locked)
    }
}
