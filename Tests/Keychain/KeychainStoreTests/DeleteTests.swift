// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// spec/secitem.md §7.
@Suite struct `Deleting items` {
    let keychain = TestKeychain()

    @Test func `Deleting removes every item that matches`() throws {
        for name in ["a", "b"] { try keychain.add(.generic(name, service: "s")) }
        try keychain.add(.generic("c", service: "t"))
        let query = ItemQuery(.genericPassword, attributes: [.service: .text("s")])
        #expect(try keychain.delete(query) == 2)
        #expect(try keychain.accounts(.generic()) == ["c"])
    }

    @Test func `Deleting reports that nothing matches`() throws {
        try keychain.add(.generic("a"))
        #expect(failure { try keychain.delete(.exact("b")) } == .itemNotFound)
        try keychain.delete(.exact("a"))
        #expect(failure { try keychain.delete(.exact("a")) } == .itemNotFound)
    }

    @Test func `Deleting a class removes the local items of all groups`() throws {
        try keychain.add(.generic("a"))
        try keychain.add(.generic("b").inGroup("two"))
        try keychain.add(.generic("c", isSynchronizable: true))
        try keychain.add(.internet("d"))
        #expect(try keychain.delete(ItemQuery(.genericPassword)) == 2)
        #expect(try keychain.accounts(.generic()) == ["c"])
        #expect(try keychain.accounts(ItemQuery(.internetPassword)) == ["d"])
    }

    @Test func `Deleting compares the protection class`() throws {
        try keychain.add(.generic("a"))
        var query = ItemQuery.exact("a")
        query.protectionClass = .afterFirstUnlock
        #expect(failure { try keychain.delete(query) } == .itemNotFound)
    }

    // Promise: 1.12
    @Test func `Deleting leaves nothing of a local item`() throws {
        try keychain.add(.generic("a", [.label: .text("l")]))
        try keychain.delete(.exact("a"))
        #expect(try keychain.number("SELECT count(*) FROM item") == 0)
        #expect(try keychain.number("SELECT count(*) FROM attribute") == 0)
    }
}

/// spec/secitem.md §4.4.
@Suite struct `The tombstone of a synchronized item` {
    let keychain = TestKeychain()

    private func tombstones() throws -> [SealedRow] {
        try keychain.rows().filter { $0.header.flags.contains(.tombstone) }
    }

    @Test func `The tombstone of a synchronized item stays in its place, unseen`() throws {
        let row = try keychain.row(keychain.add(.generic("a", isSynchronizable: true)))
        try keychain.delete(.exact("a", .any))
        let tombstone = try #require(try tombstones().first)
        #expect(tombstone.place == row.place)
        #expect(tombstone.secret == nil)
        #expect(try keychain.items(.generic()).isEmpty)
        #expect(try keychain.items(.exact("a", .any)).isEmpty)
        #expect(failure { _ = try keychain.value(.exact("a", .synchronizedOnly)) } == .itemNotFound)
        #expect(failure { try keychain.delete(.exact("a", .any)) } == .itemNotFound)
        #expect(try keychain.store.keychain.status().itemCount == 0)
        #expect(keychain.damage() == [])
    }

    @Test func `The tombstone of a synchronized item is not found by the item's reference`() throws
    {
        let item = try keychain.add(.generic("a", isSynchronizable: true))
        try keychain.delete(.exact("a", .any))
        #expect(try keychain.items(ItemQuery(item.reference)).isEmpty)
    }

    @Test func `The tombstone of a synchronized item keeps the primary key and the dates`() throws {
        let more: ItemAttributes = [.label: .text("l"), .syncViewHint: .text("h")]
        try keychain.add(.generic("a", more, isSynchronizable: true))
        try keychain.delete(.exact("a", .any))
        let row = try #require(try tombstones().first)
        let content = try keychain.rowKeys().cipher(opening: row.header)
            .openContent(row)
        #expect(
            Set(content.attributes.keys) == [
                .account, .service, .syncViewHint, .creationDate, .modificationDate,
            ])
        #expect(content.valueByteCount == nil)
    }

    @Test(arguments: [1, 0, -3600])
    func `A later new item replaces a tombstone`(_ seconds: Double) throws {
        let old = try keychain.add(.generic("a", isSynchronizable: true), "old")
        let oldTime = try keychain.row(old).logicalTime
        keychain.clock.advance(seconds: seconds)
        try keychain.delete(.exact("a", .any))
        let tombstone = try #require(try tombstones().first)
        #expect(tombstone.logicalTime > oldTime)
        let cipher = try keychain.rowKeys().cipher(opening: tombstone.header)
        let deletion = try #require(try cipher.openContent(tombstone).modificationDate)

        keychain.clock.advance(seconds: seconds)
        let new = try keychain.add(.generic("a", isSynchronizable: true), "new")
        #expect(try tombstones().isEmpty)
        #expect(new.reference != old.reference)
        #expect(try keychain.row(new).logicalTime > tombstone.logicalTime)
        let date = try #require(new.date(.modificationDate))
        #expect(seconds < 0 ? date == keychain.store.now.date : date > deletion)
        #expect(try keychain.value(.exact("a", .synchronizedOnly)) == "new")
    }

    @Test func `An update that makes a synchronized item local leaves a tombstone`() throws {
        let item = try keychain.add(.generic("a", isSynchronizable: true), "v")
        try keychain.update(.exact("a", .any), ItemChanges(isSynchronizable: false))
        #expect(try tombstones().count == 1)
        #expect(try keychain.value(.exact("a", .localOnly)) == "v")
        #expect(try keychain.item(.exact("a"))?.reference == item.reference)
        #expect(try keychain.row(item).changeNumber == nil)
        #expect(keychain.damage() == [])
    }

    @Test func `An update that changes the key of a synchronized item leaves a tombstone`() throws {
        try keychain.add(.generic("a", isSynchronizable: true), "v")
        let changes = ItemChanges(attributes: [.account: .text("b")])
        try keychain.update(.exact("a", .any), changes)
        #expect(try tombstones().count == 1)
        #expect(try keychain.value(.exact("b", .synchronizedOnly)) == "v")
    }

    @Test func `A later update replaces a tombstone`() throws {
        try keychain.add(.generic("a", isSynchronizable: true))
        try keychain.delete(.exact("a", .any))
        let tombstone = try #require(try tombstones().first)
        keychain.clock.advance(seconds: -100)
        let item = try keychain.add(.generic("a"), "local")
        try keychain.update(.exact("a"), ItemChanges(isSynchronizable: true))
        #expect(try tombstones().isEmpty)
        let row = try keychain.row(item)
        #expect(row.logicalTime > tombstone.logicalTime)
        #expect(row.changeNumber != nil)
        #expect(try keychain.item(.exact("a", .synchronizedOnly))?.reference == item.reference)
    }

    @Test func `A local item leaves no tombstone`() throws {
        try keychain.add(.generic("a"))
        try keychain.delete(.exact("a"))
        #expect(try tombstones().isEmpty)
    }
}

/// spec/secitem.md §4.1.
@Suite struct `Synchronized items` {
    let keychain = TestKeychain()

    @Test func `Synchronized items are found on request`() throws {
        try keychain.add(.generic("local"))
        try keychain.add(.generic("synced", isSynchronizable: true))
        #expect(try keychain.accounts(.generic([:], .localOnly)) == ["local"])
        #expect(try keychain.accounts(.generic([:], .synchronizedOnly)) == ["synced"])
        #expect(try keychain.accounts(.generic([:], .any)) == ["local", "synced"])
    }

    @Test func `Synchronized items may have the same key as local ones`() throws {
        try keychain.add(.generic("a"), "local")
        try keychain.add(.generic("a", isSynchronizable: true), "synced")
        #expect(try keychain.value(.exact("a", .localOnly)) == "local")
        #expect(try keychain.value(.exact("a", .synchronizedOnly)) == "synced")
        #expect(try keychain.items(.exact("a", .any)).count == 2)
        let changes = ItemChanges(isSynchronizable: true)
        #expect(failure { try keychain.update(.exact("a"), changes) } == .duplicateItem)
    }

    @Test func `Synchronized items may be of a class that never leaves the device`() throws {
        let item = NewItem.generic("a", isSynchronizable: true, as: .whenUnlockedThisDeviceOnly)
        try keychain.add(item, "v")
        #expect(try keychain.value(.exact("a", .synchronizedOnly)) == "v")
    }

    @Test func `The change number of synchronized items rises with every write`() throws {
        var numbers: [Int64] = []
        func note(_ item: StoredItem) throws {
            numbers.append(try #require(try keychain.row(item).changeNumber))
        }
        let first = try keychain.add(.generic("a", isSynchronizable: true))
        try note(first)
        let second = try keychain.add(.generic("b", isSynchronizable: true))
        try note(second)
        try keychain.update(.exact("a", .any), ItemChanges())
        try note(first)
        try keychain.delete(.exact("b", .any))
        numbers.append(try #require(try keychain.rows().compactMap(\.changeNumber).max()))
        #expect(numbers == numbers.sorted() && Set(numbers).count == 4)
        #expect(try keychain.row(keychain.add(.generic("local"))).changeNumber == nil)
    }
}
