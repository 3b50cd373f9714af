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

/// docs/FORMAT.md §4.4: what the old keys do not open, nothing opens later.
@Suite struct `A key change of a keychain with damaged items` {
    let keychain = TestKeychain()
    let first = Result { try TestKeychain.passcode("first passcode") }

    enum Change: CaseIterable {
        case setting, changing, removing, rotating, revoking, moving
    }

    /// One for each part of a row, one with a column that no writer writes, one whose key is none
    /// of this keychain, and two that make a row look as if it ended with the passcode.
    static let damages: [StaticString] = [
        "UPDATE item SET names = zeroblob(length(names)) WHERE number = ?1",
        "UPDATE item SET nonce = zeroblob(24) WHERE number = ?1",
        "UPDATE item SET secret = zeroblob(length(secret)) WHERE number = ?1",
        "UPDATE item SET protection = 99 WHERE number = ?1",
        "UPDATE item SET epoch = 1000 WHERE number = ?1",
        "UPDATE item SET protection = 7 WHERE number = ?1",
        "UPDATE item SET flags = flags | 256 WHERE number = ?1",
    ]

    /// The numbers of two items, before one change.
    private func prepare(_ change: Change) throws -> [Int64] {
        let numbers = try ["a", "b"].map { try keychain.add(.generic($0), "value of \($0)").number }
        switch change {
        case .setting, .rotating, .moving: break
        case .changing, .removing: try keychain.store.keychain.setPasscode(first.get())
        case .revoking: _ = try keychain.store.keychain.createRecoveryKey(nil)
        }
        return numbers
    }

    private func make(_ change: Change, skipping: Bool = false) throws -> KeyChangeOutcome {
        let options = KeyChangeOptions(skippingDamaged: skipping)
        switch change {
        case .setting: return try keychain.store.keychain.setPasscode(first.get(), options)
        case .changing:
            return try keychain.store.keychain.changePasscode(
                first.get(), to: TestKeychain.passcode("second passcode"), options)
        case .removing: return try keychain.store.keychain.removePasscode(first.get(), options)
        case .rotating: return try keychain.store.keychain.rotateKeys(nil, options)
        case .revoking:
            return try keychain.store.keychain.rotateKeys(nil, revokingRecoveryKey: .any, options)
        case .moving:
            return try keychain.store.keychain.rotateKeys(nil, movingDeviceKeyTo: .ownFile, options)
        }
    }

    private func failure(_ body: () throws -> Void) -> KeychainFailure? {
        do {
            try body()
            return nil
        } catch {
            return error as? KeychainFailure
        }
    }

    private var files: [String] {
        get throws {
            try FileManager.default.subpathsOfDirectory(atPath: keychain.folder).filter {
                $0.hasPrefix("device") || $0.hasPrefix("erase")
            }.sorted()
        }
    }

    // Promise: 14.11
    @Test(arguments: Change.allCases, damages)
    func `A key change refuses damaged items and changes nothing`(
        _ change: Change, _ damage: StaticString
    ) throws {
        let numbers = try prepare(change)
        let before = try keychain.rows()
        let (epoch, names) = (try keychain.store.keychain.status().epoch, try files)
        try keychain.tamper(damage, .number(numbers[0]))
        let refusal = try #require(failure { _ = try make(change) })
        #expect(refusal.code == .damaged && refusal.message == "1 item is damaged")
        #expect(refusal.hint?.contains("--skip-damaged") == true)
        let status = try keychain.store.keychain.status()
        #expect(status.epoch == epoch && !status.isErasePending)
        #expect(status.quarantinedRowCount == 0)
        #expect(try files == names)
        #expect(failure { _ = try keychain.value("a") }?.code == .damaged)
        #expect(try keychain.value("b") == "value of b")
        // Mended, it is as if nothing had been.
        try restore(before[0])
        #expect(try make(change).setAsideCount == 0)
        #expect(keychain.readable(of: ["a", "b"]) == ["a", "b"])
    }

    private func restore(_ row: SealedRow) throws {
        try keychain.tamper("DELETE FROM item WHERE number = ?1", .number(row.header.number))
        try keychain.tamper { connection in
            let insert: StaticString = """
                INSERT INTO item VALUES (
                    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
                """
            let run = try Statement(insert, on: connection).start()
            try row.bind(to: run)
            try run.finish()
        }
    }

    // Promise: 14.11
    @Test(arguments: Change.allCases)
    func `A key change continues on request and counts the items that it set aside`(
        _ change: Change
    ) throws {
        let numbers = try prepare(change)
        try keychain.add("c")
        for (number, damage) in zip(numbers, Self.damages) {
            try keychain.tamper(damage, .number(number))
        }
        #expect(failure { _ = try make(change) }?.message == "2 items are damaged")
        #expect(try make(change, skipping: true).setAsideCount == 2)
        #expect(try keychain.value("c") == "value of c")
        #expect(try keychain.store.keychain.status().quarantinedRowCount == 2)
        let missing = try #require(failure { _ = try keychain.value("a") })
        #expect(missing.code == .itemNotFound)
        #expect(missing.hint?.contains("2 damaged items were set aside") == true)
        #expect(failure { _ = try keychain.named("a") }?.hint == missing.hint)
        #expect(failure { _ = try keychain.delete(.exact("a")) }?.hint == missing.hint)
        #expect(
            failure { _ = try keychain.update(.exact("a"), ItemChanges(), "v") }?.hint
                == missing.hint)
        #expect(try !keychain.store.contains(.exact("a"), for: keychain.caller))
        let words = keychain.store.keychain.diagnose().map(\.message).filter {
            $0.contains("set aside")
        }
        #expect(words.count == 1 && words.allSatisfy { $0.contains("or the keys changed") })
    }

    @Test func `A missing item has no hint if nothing was set aside`() throws {
        try keychain.add("a")
        #expect(failure { _ = try keychain.value("b") }?.hint == nil)
    }

    @Test func `A key change refuses damaged items that need the user`() throws {
        try keychain.store.keychain.setPasscode(first.get())
        let item = try keychain.add(
            TestKeychain.item("guarded", TestKeychain.accessControl(.userPresence)), "value")
        #expect(try keychain.store.keychain.rotateKeys(first.get()).setAsideCount == 0)
        try keychain.tamper(Self.damages[2], item.parameter)
        #expect(failure { try keychain.store.keychain.rotateKeys(first.get()) }?.code == .damaged)
        let options = KeyChangeOptions(skippingDamaged: true)
        #expect(
            try keychain.store.keychain.rotateKeys(first.get(), options).setAsideCount == 1)
    }

    // Promise: 14.11
    @Test(arguments: [true, false])
    func `A recovery accepts damaged items and counts those that it did not announce`(
        hasDeviceKey: Bool
    ) throws {
        try keychain.store.keychain.setPasscode(first.get())
        try keychain.addItems(ProtectionClass.allCases)
        let numbers = try prepare(.rotating)
        let text = try keychain.store.keychain.createRecoveryKey(first.get())
        if !hasDeviceKey {
            try FileManager.default.removeItem(
                atPath: keychain.folder + "/device/device.key")
        }
        keychain.store.close()
        try keychain.tamper(Self.damages[2], .number(numbers[0]))
        let announced = try keychain.store.keychain.itemsLostByRecovery().count
        #expect(announced == (hasDeviceKey ? 1 : 4))
        let new = try TestKeychain.passcode("new passcode")
        let outcome = try keychain.store.keychain.recover(with: text, settingPasscode: new)
        #expect(outcome.setAsideCount == 1)
        #expect(try keychain.store.keychain.status().quarantinedRowCount == announced + 1)
        #expect(try keychain.value("b") == "value of b")
    }
}
