// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetDatabase
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore
import ValetSync
import ValetSystem
import ValetTestSupport

@testable import ValetSyncAgent

/// docs/SYNC.md §4: locked keychains, key changes, damage.
@Suite(.serialized) struct `The tables of sync` {
    private let here: TestDevice
    private let there: TestDevice

    init() throws { (here, there) = (try TestDevice(), try TestDevice()) }

    private func exchange() throws {
        try here.pass(to: there)
        try there.pass(to: here)
    }

    @Test func `A locked keychain takes in what it can, and leaves class 1 alone`() throws {
        try here.set("f", "one")
        try here.set("u", "one", as: .whenUnlocked)
        try exchange()
        try there.keychain.setPasscode()
        try there.keychain.unlock()
        try there.store.keychain.lock()
        try here.set("f", "two")
        try here.set("u", "two", as: .whenUnlocked)
        try here.set("moving", "m")
        try exchange()
        try here.change("moving", ItemChanges(protectionClass: .whenUnlocked))
        try exchange()
        #expect(try there.value("f") == "two")
        #expect(throws: KeychainFailure.self) { try there.value("u") }
        try there.set("f", "three")
        try exchange()
        #expect(try here.value("f") == "three")
        there.restart()
        try there.keychain.unlock()
        #expect(try there.value("u") == "one")
        try exchange()
        try exchange()
        #expect(try there.value("u") == "two")
        #expect(try there.value("moving") == "m")
        #expect(try here.value("moving") == "m")
    }

    @Test(arguments: [true, false])
    func `What is known of the circle survives new keys`(_ restarts: Bool) throws {
        try here.set("a", "one")
        try here.set("c", "here")
        try there.set("c", "there")
        try exchange()
        try exchange()
        try there.set("a", "two")
        try exchange()
        try here.delete("a")
        try here.set("p", "pending", as: .whenUnlocked)
        try here.update { _ in }
        try here.keychain.setPasscode()
        try here.keychain.unlock()
        if restarts { here.restart() }
        #expect(try here.conflicts.count == 1)
        #expect(try here.replaced == ["one"])
        try exchange()
        #expect(try there.value("a") == nil)
        #expect(try there.value("p") == "pending")
        try there.set("a", "again")
        try there.set("p", "more", as: .whenUnlocked)
        try exchange()
        #expect(try here.value("a") == "again")
        #expect(try here.value("p") == "more")
        #expect(try here.count("SELECT count(*) FROM sync_entry WHERE epoch <> 2") == 0)
        #expect(try here.count("SELECT count(*) FROM sync_item") == 3)
    }

    @Test func `A damaged row is not a deletion, and no base leaves it out`() throws {
        try here.set("a", "one")
        try exchange()
        try here.tamper(
            "UPDATE item SET secret = randomblob(48) WHERE change_number IS NOT NULL")
        try exchange()
        #expect(try there.value("a") == "one")
        #expect(throws: KeychainFailure.self) { try here.base(.afterFirstUnlock) }
        try here.update { $0.replica?[.afterFirstUnlock].abandonBase() }
        try there.set("a", "two")
        try exchange()
        #expect(try here.value("a") == "two")
        _ = try here.base(.afterFirstUnlock)
    }

    // Promise: 14.3
    /// A tombstone's flag, a class of this device alone, and no flag of sharing.
    @Test(
        arguments: [
            "UPDATE item SET flags = 3 WHERE change_number IS NOT NULL",
            "UPDATE item SET protection = 4 WHERE change_number IS NOT NULL",
            "UPDATE item SET flags = 0 WHERE change_number IS NOT NULL",
        ] as [StaticString])
    func `A changed row that says its item is gone is not a deletion`(_ sql: StaticString) throws {
        try here.set("a", "one")
        try exchange()
        try here.set("a", "two")
        try here.tamper(sql)
        try exchange()
        #expect(try there.value("a") == "one")
        #expect(try here.count("SELECT count(*) FROM item") == 2)
    }

    /// While the keychain is locked, nothing can tell whether the item is gone.
    @Test(
        arguments: [
            "UPDATE item SET flags = 3 WHERE change_number IS NOT NULL",
            "UPDATE item SET flags = 0 WHERE change_number IS NOT NULL",
        ] as [StaticString])
    func `A locked row that says its item is gone waits for the unlock`(
        _ sql: StaticString
    ) throws {
        try here.set("u", "one", as: .whenUnlocked)
        try here.keychain.setPasscode()
        try here.keychain.unlock()
        try exchange()
        try here.set("u", "two", as: .whenUnlocked)
        try here.store.keychain.lock()
        try here.tamper(sql)
        let failure = #expect(throws: KeychainFailure.self) { try here.update { _ in } }
        #expect(failure?.code == .locked)
        here.restart()
        try here.keychain.unlock()
        try exchange()
        #expect(try there.value("u") == "one")
        #expect(try here.count("SELECT count(*) FROM item WHERE change_number IS NOT NULL") == 1)
    }

    @Test func `A removal before a lock is sent after the unlock`() throws {
        try here.set("u", "one", as: .whenUnlocked)
        try here.keychain.setPasscode()
        try here.keychain.unlock()
        try exchange()
        try here.delete("u")
        try here.store.keychain.lock()
        #expect(throws: KeychainFailure.self) { try here.update { _ in } }
        here.restart()
        try here.keychain.unlock()
        try exchange()
        #expect(try there.value("u") == nil)
    }

    /// The value of the first; the names, while an older value is kept, of the second.
    @Test(
        arguments: [
            "UPDATE item SET secret = randomblob(48) WHERE change_number IS NOT NULL",
            "UPDATE item SET names = randomblob(length(names)) WHERE change_number IS NOT NULL",
        ] as [StaticString])
    func `A damaged row that is removed stays removed on all devices`(_ sql: StaticString) throws {
        try here.set("a", "zero")
        try exchange()
        try there.set("a", "one")
        try exchange()
        try here.tamper(sql)
        try here.delete("a")
        try exchange()
        #expect(try there.value("a") == nil)
    }

    @Test func `New keys do not leave entries behind that do not open`() throws {
        try here.set("a", "one")
        try exchange()
        try here.tamper(
            """
            UPDATE sync_entry SET secret = randomblob(length(secret))
            WHERE secret IS NOT NULL AND kind = 1
            """)
        here.restart()
        let failure = #expect(throws: KeychainFailure.self) { try here.keychain.setPasscode() }
        #expect(failure?.code == .damaged)
        #expect(try here.count("SELECT count(*) FROM sync_entry WHERE epoch <> 1") == 0)
    }

    // Promise: 14.3
    @Test(arguments: [true, false])
    func `A keychain that joins deletes no row that is only marked as deleted`(_ sends: Bool) throws
    {
        let other = try TestDevice(sendsItems: nil)
        try other.set("a", "one")
        try other.tamper("UPDATE item SET flags = 3 WHERE change_number IS NOT NULL")
        try other.join(sendsItems: sends)
        try other.update { _ in }
        #expect(try other.count("SELECT count(*) FROM item") == 2)
    }

    @Test func `A damaged pending row stays pending`() throws {
        try here.set("a", "one")
        try here.set("b", "two")
        try here.tamper(
            "UPDATE item SET secret = randomblob(48) WHERE change_number = 1")
        let unsendable = try here.update { update in
            _ = try update.draftBatch(in: .afterFirstUnlock)
            return update.unsendable
        }
        #expect(unsendable.map(\.reason) == [.damaged])
        try exchange()
        #expect(try there.value("b") == "two")
    }

    @Test func `A value that is too large stays here`() throws {
        try here.set("a", String(repeating: "x", count: 200_000))
        let unsendable = try here.update { update in
            _ = try update.draftBatch(in: .afterFirstUnlock)
            return update.unsendable
        }
        #expect(unsendable.map(\.reason) == [.tooLarge])
        try exchange()
        #expect(try there.value("a") == nil)
        try here.set("a", "small")
        try exchange()
        #expect(try there.value("a") == "small")
    }

    @Test func `A damaged entry is reported, and leaving mends it`() throws {
        try here.set("a", "one")
        try exchange()
        try here.tamper("UPDATE sync_entry SET facts = randomblob(72) WHERE kind = 1")
        here.restart()
        let failure = #expect(throws: KeychainFailure.self) { try here.update { _ in } }
        #expect(failure?.code == .keychainDamaged)
        #expect(failure?.hint?.contains("valet sync leave") == true)
        #expect(try here.value("a") == "one")
        let findings = here.store.keychain.diagnose().filter { $0.severity == .damage }
        #expect(findings.map(\.message) == ["entries of sync that were changed or damaged: 1"])
        #expect(try here.synced.end("leave") == UnshownValues())
        try here.join(sendsItems: true)
        try here.sendAll()
        #expect(try here.update { $0.replica?[.afterFirstUnlock].live.count } == 1)
    }

    @Test func `New keys leave no entry behind whose columns are damaged`() throws {
        try here.set("a", "one")
        try exchange()
        try here.tamper("UPDATE sync_entry SET protection = 99 WHERE kind = 1")
        let failure = #expect(throws: KeychainFailure.self) {
            try here.store.keychain.rotateKeys(nil)
        }
        #expect(failure?.code == .damaged)
    }

    @Test func `A repair keeps the tables`() throws {
        try here.set("a", "one")
        try here.set("c", "here")
        try there.set("c", "there")
        try exchange()
        try exchange()
        _ = try here.store.keychain.repairIndexes()
        here.restart()
        #expect(try here.conflicts.count == 1)
        try here.set("a", "two")
        try exchange()
        #expect(try there.value("a") == "two")
    }

    @Test func `Another process sees what an update has written`() throws {
        try here.set("a", "one")
        try here.update { _ in }
        let other = SyncedKeychain(here.store)
        try other.update("test") { update in
            update.replica?[.afterFirstUnlock].oweBase()
        }
        #expect(try here.update { $0.replica?[.afterFirstUnlock].isBaseDue } == true)
    }

    @Test func `Thousands of items are collected, sent and joined in parts`() throws {
        let count = 2_500
        var items: [Addition] = []
        for number in 0..<count {
            items.append(
                Addition(
                    TestDevice.item("item \(number)", .afterFirstUnlock),
                    value: .text("value \(number)")))
        }
        try here.store.perform(ItemTransfer(additions: items), for: TestDevice.caller)
        try here.pass(to: there)
        there.restart()
        #expect(try there.value("item 2499") == "value 2499")
        #expect(try there.update { $0.replica?[.afterFirstUnlock].live.count } == count)
    }
}

extension TestDevice {
    func tamper(_ sql: StaticString) throws { _ = try count(sql) }

    func count(_ sql: StaticString) throws -> Int64 {
        let directory = try PrivateDirectory.open(keychain.folder, creating: false)
        let connection = try Connection(
            to: "keychain.db", in: directory, for: .readWrite,
            deadline: Deadline(after: .seconds(5)))
        let result: Int64
        do {
            let run = try Statement(sql, on: connection).start()
            result = try run.step() ? run.int64(0) : 0
            _ = consume run
        }
        try connection.close()
        return result
    }
}
