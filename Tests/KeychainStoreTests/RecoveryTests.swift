// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
import Testing
import ValetDatabase
import ValetKeybag
import ValetKeychainModel
import ValetLockState
import ValetSealing
import ValetSecretMemory
import ValetSystem

@testable import ValetKeychainKeys
@testable import ValetKeychainRows
@testable import ValetKeychainStore

/// docs/FORMAT.md §4.6: new keys from the first transaction on.
@Suite final class `A recovery in the middle of a change of keys` {
    let epochs = EpochStore()
    let old: KeychainPasscode
    let text: SecretBytes
    static let operation = "test"
    static let names = ProtectionClass.allCases.map { "\($0)" }
    static let lost = "\(ProtectionClass.whenPasscodeSetThisDeviceOnly)"

    init() throws {
        old = try EpochStore.passcode("forgotten")
        try epochs.store.keychain.setPasscode(old)
        try epochs.addFillers(forWrites: 8)
        try epochs.addItems(ProtectionClass.allCases)
        text = try epochs.store.keychain.createRecoveryKey(old)
        try epochs.beginEpoch(old)
        // One item of the newer epoch, and all others of the older.
        try epochs.update(.exact(Self.names[0]), ItemChanges(), "value of \(Self.names[0])")
        let counts = try epochs.rowCounts()
        #expect(counts[0] > Self.names.count && counts[1] >= 1, "\(counts)")
    }

    /// Does the transaction of a recovery and leaves it at that, as a kill would.
    private func beginRecovery(_ passcode: KeychainPasscode?) throws {
        let text = text.withBytes { SecretBytes(copying: $0) }
        let hasBegun = try epochs.store.perform(.keys, Self.operation) { keys in
            let header = try keys.header()
            let key = try text.withBytes { bytes throws(KeybagError) in
                try RecoveryKey(parsing: bytes)
            }
            let opener = RecoveryProtector(
                key, deviceSecret: try keys.source.secret(of: header, until: .immediately))
            let change = try keys.change(
                header, .recovery(opener), to: NextEpoch(passcode: passcode, stretching: .lowest))
            return try keys.begin(change, after: header) != nil
        }
        #expect(hasBegun)
    }

    /// The epochs of all keybags, the newest first.
    private var keybagEpochs: [UInt64] {
        get throws {
            let header = try epochs.store.perform(.keys, Self.operation) { keys in
                try keys.header()
            }
            return header.keybags.map(\.epoch.rawValue)
        }
    }

    @Test func `A recovery killed after its transaction has keys that nobody knows`() throws {
        let epoch = try #require(try epochs.store.keychain.status().epoch)
        try beginRecovery(EpochStore.passcode("new passcode"))
        #expect(try epochs.store.keychain.status().epoch == epoch + 1)
        // The oldest of the three is gone with its rows.
        #expect(try keybagEpochs == [epoch + 1, epoch])
        let kept = Set(Self.names).subtracting([Self.lost])
        #expect(epochs.readable(of: Self.names) == kept)
        try epochs.add("new")
        try epochs.store.keychain.lock(all: true)
        #expect(epochs.code { try epochs.store.keychain.unlock(old) } == .authenticationFailed)
        try epochs.store.keychain.unlock(EpochStore.passcode("new passcode"))
        #expect(try !epochs.store.keychain.status().isRotating)
        #expect(epochs.readable(of: Self.names + ["new"]) == kept.union(["new"]))
        // One of each epoch before may be set aside: the item that needs the old passcode.
        #expect(try epochs.store.keychain.status().quarantinedRowCount == 1)
        #expect(epochs.keychain.damage() == [])
    }

    @Test func `A recovery in the middle of a change of keys restores everything that it opens`()
        throws
    {
        try epochs.store.keychain.lock(all: true)
        let epoch = try #require(try epochs.store.keychain.status().epoch)
        let count = try #require(try epochs.store.keychain.status().itemCount)
        try epochs.store.keychain.recover(with: text, settingPasscode: nil)
        let status = try epochs.store.keychain.status()
        #expect(status.state == .noPasscode && status.epoch == epoch + 1)
        #expect(!status.isRotating && !status.isErasePending)
        #expect(status.itemCount == count - 1)
        #expect(
            epochs.readable(of: Self.names) == Set(Self.names).subtracting([Self.lost]))
    }

    @Test func `A recovery in the middle of a change of keys sets aside what needs the device key`()
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
    let passcode: KeychainPasscode
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

    @Test
    func `Creating a recovery key during a change of keys unlocks nothing and opens both epochs`()
        throws
    {
        try epochs.addFillers(forWrites: 8)
        try epochs.beginEpoch(passcode)
        try epochs.store.keychain.lock()
        let text = try epochs.store.keychain.createRecoveryKey(passcode)
        #expect(try epochs.state() == .locked)
        #expect(try epochs.store.keychain.status().isRotating)
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
