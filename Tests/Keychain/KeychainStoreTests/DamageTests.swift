// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite struct `A damaged item` {
    let keychain = TestKeychain()
    let item: StoredItem

    /// One that its key does not open, and one with a column that no writer writes.
    static let damages: [StaticString] = [
        "UPDATE item SET names = zeroblob(72) WHERE number = ?1",
        "UPDATE item SET protection = 99 WHERE number = ?1",
    ]

    init() throws {
        item = try keychain.add(.generic("a", [.label: .text("l")]), "old")
        try keychain.add(.generic("b"))
    }

    // Promise: 14.1
    @Test(arguments: damages)
    func `A damaged item is reported beside the items that are found`(_ sql: StaticString) throws {
        try keychain.tamper(sql, item.parameter)
        let found = try keychain.store.copy(.generic(), .attributes, for: keychain.caller).parts
        #expect(found.items.compactMap(\.account) == ["b"])
        #expect(found.damage?.code == .damaged)
        #expect(found.damage?.hint != nil)
    }

    // Promise: 14.1
    @Test(arguments: damages)
    func `A damaged item is an error if nothing else is found`(_ sql: StaticString) throws {
        try keychain.tamper(sql, item.parameter)
        #expect(failure { _ = try keychain.value(.exact("a")) } == .damaged)
        #expect(failure { _ = try keychain.items(.exact("a")) } == .damaged)
        #expect(failure { _ = try keychain.items(.generic([.label: .text("l")])) } == .damaged)
        #expect(failure { _ = try keychain.items(ItemQuery(item.reference)) } == .damaged)
    }

    @Test(arguments: damages)
    func `A damaged item does not count towards a limit`(_ sql: StaticString) throws {
        try keychain.add(.generic("c"))
        try keychain.tamper(sql, item.parameter)
        var query = ItemQuery.generic()
        query.limit = 2
        #expect(try keychain.accounts(query) == ["b", "c"])
    }

    @Test(arguments: damages)
    func `A new item sets the damaged one in its place aside`(_ sql: StaticString) throws {
        try keychain.tamper(sql, item.parameter)
        try keychain.set(.generic("a", [.label: .text("l")]), "new")
        #expect(try keychain.value(.exact("a")) == "new")
        #expect(try keychain.accounts(.generic([.label: .text("l")])) == ["a"])
        #expect(try keychain.store.keychain.status().quarantinedRowCount == 1)
        #expect(keychain.damage() == [])
        let warnings = keychain.store.keychain.diagnose().filter { $0.severity == .warning }
        #expect(warnings.count == 1)
    }

    @Test(arguments: damages)
    func `A damaged item is replaced by an added or updated one`(_ sql: StaticString) throws {
        try keychain.tamper(sql, item.parameter)
        let changes = ItemChanges(attributes: [.account: .text("a")])
        try keychain.update(.exact("b"), changes, "moved")
        #expect(try keychain.value(.exact("a")) == "moved")
        #expect(try keychain.store.keychain.status().quarantinedRowCount == 1)
        try keychain.add(.generic("b"), "added")
        #expect(keychain.damage() == [])
    }

    // Promise: 14.1
    @Test func `A damaged item is kept in quarantine unchanged`() throws {
        try keychain.tamper(Self.damages[0], item.parameter)
        let row = try keychain.row(item)
        try keychain.set(.generic("a"), "new")
        let kept = try keychain.tamper { connection in
            let run = try Statement(
                "SELECT * FROM former WHERE reason = 4 AND seal IS NULL", on: connection
            ).start()
            #expect(try run.step())
            let kept = run.int64(Schema.Column.kept)
            #expect(kept >> 16 == keychain.clock.nanoseconds / 1_000_000)
            return try SealedRow(run)
        }
        #expect(kept.header.reference == row.header.reference)
        #expect(kept.names == row.names && kept.nonce == row.nonce)
        #expect(kept.secret == row.secret && kept.hashes == row.hashes)
        #expect(kept.logicalTime == row.logicalTime && kept.place == row.place)
    }

    @Test func `A damaged item is reported until it is removed from quarantine`() throws {
        #expect(try keychain.store.keychain.purgeDamaged() == 0)
        try keychain.tamper(Self.damages[0], item.parameter)
        try keychain.set(.generic("a"), "new")
        let said = keychain.store.keychain.diagnose().map(\.message)
        #expect(said.contains { $0.hasPrefix("1 damaged row was set aside") })
        #expect(missing()?.hint?.hasPrefix("1 damaged item was set aside") == true)
        #expect(try keychain.otherProcess().keychain.purgeDamaged() == 1)
        #expect(missing()?.hint == nil)
        #expect(try keychain.store.keychain.status().quarantinedRowCount == 0)
        #expect(try keychain.value(.exact("a")) == "new")
        #expect(keychain.store.keychain.diagnose().allSatisfy { $0.severity == .fine })
    }

    private func missing() -> KeychainFailure? {
        do throws(KeychainFailure) {
            _ = try keychain.store.value(of: .exact("never there"), for: keychain.caller)
            return nil
        } catch {
            return error
        }
    }

    @Test func `A damaged item can be deleted by its name`() throws {
        try keychain.tamper(Self.damages[0], item.parameter)
        #expect(try keychain.delete(.exact("a")) == 1)
        #expect(try keychain.accounts(.generic()) == ["b"])
        #expect(keychain.damage() == [])
    }

    @Test func `Doctor reports an item with unknown columns`() throws {
        try keychain.tamper(Self.damages[1], item.parameter)
        #expect(!keychain.damage().isEmpty)
    }

    @Test(arguments: damages)
    func `An update changes no item if one is damaged`(_ sql: StaticString) throws {
        try keychain.tamper(sql, item.parameter)
        #expect(failure { try keychain.update(.exact("a"), ItemChanges(), "x") } == .damaged)
        #expect(failure { try keychain.update(.generic(), ItemChanges(), "x") } == .damaged)
        #expect(try keychain.value(.exact("b")) == "value")
        #expect(try keychain.update(.exact("b"), ItemChanges(), "x") == 1)
    }

    @Test(arguments: damages)
    func `A deleted damaged item leaves no tombstone`(_ sql: StaticString) throws {
        let item = try keychain.add(.generic("s", isSynchronizable: true))
        try keychain.tamper(
            "UPDATE item SET names = zeroblob(72) WHERE number = ?1", item.parameter)
        try keychain.delete(.exact("s", .any))
        #expect(try keychain.rows().allSatisfy { !$0.header.flags.contains(.tombstone) })
    }

    @Test func `A damaged tombstone is replaced, too`() throws {
        try keychain.add(.generic("s", isSynchronizable: true))
        try keychain.delete(.exact("s", .any))
        try keychain.tamper("UPDATE item SET names = zeroblob(72) WHERE flags = ?1", 3)
        try keychain.add(.generic("s", isSynchronizable: true), "new")
        #expect(try keychain.value(.exact("s", .synchronizedOnly)) == "new")
    }
}

/// Table `attribute`: docs/FORMAT.md §6.4.
@Suite struct `An entry of the search index` {
    let keychain = TestKeychain()
    let item: StoredItem
    let other: StoredItem

    init() throws {
        item = try keychain.add(.generic("a", [.label: .text("a")]), "value of a")
        other = try keychain.add(.generic("b", [.label: .text("b")]), "value of b")
    }

    @Test func `A missing search entry hides an item, and doctor reports it`() throws {
        try keychain.tamper("DELETE FROM attribute WHERE number = ?1", item.parameter)
        #expect(try keychain.items(.generic([.label: .text("a")])).isEmpty)
        #expect(try keychain.value(.exact("a")) == "value of a")
        #expect(!keychain.damage().isEmpty)
        #expect(
            try keychain.update(.exact("a"), ItemChanges(attributes: [.label: .text("n")])) == 1)
        #expect(try keychain.accounts(.generic([.label: .text("n")])) == ["a"])
        #expect(keychain.damage() == [])
    }

    // Promise: 1.7
    @Test func `A search entry for another item does not present it as the wanted one`() throws {
        try keychain.tamper(
            """
            INSERT INTO attribute SELECT hash, ?2 FROM attribute WHERE number = ?1
            """, item.parameter, other.parameter)
        let query = ItemQuery.generic([.label: .text("a")])
        let found = try keychain.store.copy(query, .attributes, for: keychain.caller).parts
        #expect(found.items.map(\.account) == ["a"])
        #expect(found.damage?.code == .damaged)
        #expect(failure { try keychain.delete(query) } == .damaged)
        #expect(try keychain.value(.exact("b")) == "value of b")
        #expect(!keychain.damage().isEmpty)
    }

    // Promise: 1.5
    @Test(arguments: ["another row", "no row"])
    func `A search entry that leads elsewhere is damage, not absence`(_ goal: String) throws {
        try keychain.tamper(
            "UPDATE attribute SET number = ?2 WHERE number = ?1", item.parameter,
            goal == "no row" ? 99 : other.parameter)
        let query = ItemQuery.generic([.label: .text("a")])
        #expect(failure { _ = try keychain.items(query) } == .damaged)
        #expect(failure { try keychain.update(query, ItemChanges(), "x") } == .damaged)
        #expect(failure { try keychain.delete(query) } == .damaged)
        #expect(try keychain.value(.exact("a")) == "value of a")
        #expect(try keychain.value(.exact("b")) == "value of b")
    }

    // Promise: 1.7
    /// Both the entry and the row say so, but what is sealed does not.
    @Test func `A search entry that its row confirms does not present a wrong item`() throws {
        try keychain.tamper(
            "INSERT INTO attribute SELECT hash, ?2 FROM attribute WHERE number = ?1",
            item.parameter, other.parameter)
        try keychain.tamper(
            """
            UPDATE item SET hashes = (SELECT hashes FROM item WHERE number = ?1)
            WHERE number = ?2
            """,
            item.parameter, other.parameter)
        let found = try keychain.store.copy(
            .generic([.label: .text("a")]), [.attributes, .value], for: keychain.caller
        ).parts
        #expect(found.items.compactMap(\.text) == ["value of a"])
        #expect(found.damage?.code == .damaged)
    }

    @Test func `A search entry that leads nowhere is found by doctor`() throws {
        try keychain.tamper("INSERT INTO attribute VALUES (zeroblob(32), ?1)", 77)
        #expect(!keychain.damage().isEmpty)
        #expect(try keychain.accounts(.generic()) == ["a", "b"])
    }

    @Test func `A leftover search entry disturbs no call`() throws {
        try keychain.tamper("UPDATE item SET hashes = NULL WHERE number = ?1", other.parameter)
        try keychain.delete(.exact("b"))
        // The next item takes the number of the last one.
        try keychain.add(.generic("b", [.label: .text("b")]), "again")
        #expect(try keychain.value(.exact("b")) == "again")
    }
}

/// Columns that no seal covers may hold anything.
@Suite struct `A number at the end of its range` {
    let keychain = TestKeychain()

    @Test(arguments: [Int64.max, .min, -1, 0])
    func `The last number is not given to a row`(_ number: Int64) throws {
        let item = try keychain.add(.generic("a"))
        try keychain.tamper(
            "UPDATE item SET number = ?2 WHERE number = ?1", item.parameter, .number(number))
        _ = failure { try keychain.add(.generic("b")) }
        _ = failure { try keychain.delete(.exact("a")) }
        #expect(failure { try keychain.add(.generic("c")) } == nil)
    }

    @Test(arguments: [Int64.max, .min, -1])
    func `The last change number is not given to a row`(_ number: Int64) throws {
        try keychain.add(.generic("a", isSynchronizable: true))
        try keychain.tamper("UPDATE item SET change_number = ?1", .number(number))
        _ = failure { try keychain.add(.generic("b", isSynchronizable: true)) }
        #expect(try keychain.value(.exact("a", .synchronizedOnly)) == "value")
    }

    @Test(arguments: [Int64.max, .min, -1])
    func `The last logical time is not given to a row`(_ number: Int64) throws {
        try keychain.add(.generic("a"))
        try keychain.tamper("UPDATE item SET logical_time = ?1", .number(number))
        _ = failure { try keychain.update(.exact("a"), ItemChanges()) }
        #expect(try keychain.value(.exact("a")) == "value")
    }

    @Test func `The last version is not given to a row`() throws {
        try keychain.add(.generic("a"))
        try keychain.tamper("UPDATE item SET version = ?1", .number(.max))
        #expect(failure { try keychain.update(.exact("a"), ItemChanges()) } == .damaged)
        try keychain.set(.generic("a"), "new")
    }
}
