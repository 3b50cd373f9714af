// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

// Promise: 13.12
/// More items than one transaction deletes: docs/decisions/0051-many-items.md.
@Suite struct `Deleting many items` {
    static let count = 1600

    let epochs = TestKeychain()
    private var keychain: TestKeychain { epochs }

    private func fill(
        _ count: Int = Self.count, isSynchronizable: Bool = false,
        as protectionClass: ProtectionClass = .whenUnlocked
    ) throws {
        let additions = (0..<count).map { number in
            Addition(
                .generic(
                    "a\(number)", service: "many", [.label: .text("l\(number % 2)")],
                    isSynchronizable: isSynchronizable, as: protectionClass), value: .text("v"))
        }
        try keychain.store.set(additions, for: keychain.caller)
    }

    private var query: ItemQuery { .generic([.service: .text("many")], .any) }

    private func itemCount() throws -> Int64 {
        try keychain.number("SELECT count(*) FROM item WHERE flags & 2 = 0")
    }

    @Test func `Deleting many items deletes every match and nothing else`() throws {
        try fill()
        try keychain.add(.generic("a1", service: "other"))
        #expect(try keychain.delete(query) == Self.count)
        #expect(try itemCount() == 1)
        #expect(failure { try keychain.delete(query) } == .itemNotFound)
        #expect(try keychain.number("SELECT count(*) FROM attribute") == 0)
        #expect(keychain.damage() == [])
    }

    @Test func `Deleting many items deletes what a search entry leads to`() throws {
        try fill(2 * Self.count)
        #expect(try keychain.delete(.generic([.label: .text("l1")])) == Self.count)
        #expect(try itemCount() == Int64(Self.count))
        #expect(keychain.damage() == [])
    }

    @Test func `Deleting many items compares in every row what has no hash`() throws {
        try fill()
        let item = try #require(try keychain.item(.exact("a7", service: "many")))
        let date = try #require(item.date(.creationDate))
        keychain.clock.advance(seconds: 10)
        try keychain.add(.generic("later", service: "many"))
        var later = query
        later.attributes[.creationDate] = .date(date)
        #expect(try keychain.delete(later) == Self.count)
        #expect(try keychain.accounts(query) == ["later"])
    }

    @Test func `Deleting many items leaves a tombstone for each synchronizable one`() throws {
        try fill(isSynchronizable: true)
        #expect(try keychain.delete(query) == Self.count)
        #expect(try itemCount() == 0)
        let tombstones = try keychain.number("SELECT count(*) FROM item WHERE flags & 2 <> 0")
        #expect(tombstones == Int64(Self.count))
        #expect(keychain.damage() == [])
    }

    @Test func `Deleting many items fails at a row that may be another one`() throws {
        try fill()
        let item = try #require(try keychain.item(.exact("a7", service: "many")))
        try keychain.tamper("UPDATE item SET protection = 99 WHERE number = ?1", item.parameter)
        for kinds: ItemQuery.Synchronizable in [.any, .localOnly] {
            var query = query
            query.synchronizable = kinds
            #expect(failure { try keychain.delete(query) } == .damaged)
            #expect(try itemCount() == Int64(Self.count))
        }
    }

    @Test(arguments: [false, true])
    func `Deleting many items deletes nothing if a row has to be opened and is locked`(
        _ isFiltered: Bool
    ) throws {
        try epochs.store.keychain.setPasscode(TestKeychain.passcode("the passcode"))
        try fill(isSynchronizable: !isFiltered)
        try epochs.store.keychain.lock(all: false)
        var query = query
        if isFiltered { query.attributes[.creationDate] = .date(0) }
        #expect(failure { try keychain.delete(query) } == .locked)
        #expect(try itemCount() == Int64(Self.count))
    }

    @Test func `Deleting many items needs no key if nothing has to be opened`() throws {
        try epochs.store.keychain.setPasscode(TestKeychain.passcode("the passcode"))
        try fill()
        try epochs.store.keychain.lock(all: false)
        var local = query
        local.synchronizable = .localOnly
        #expect(try keychain.delete(local) == Self.count)
        #expect(try itemCount() == 0)
    }

    @Test func `Deleting many items reports how many are gone when it fails, and continues later`()
        throws
    {
        try fill()
        _ = try keychain.store.contains(query, for: keychain.caller)
        // The second batch fails as a whole: 1,000 rows are gone by then.
        try keychain.tamper(
            """
            CREATE TRIGGER refuse BEFORE DELETE ON item WHEN OLD.number > 1000
            BEGIN SELECT RAISE(ABORT, 'no'); END
            """)
        var local = query
        local.synchronizable = .localOnly
        do throws(KeychainFailure) {
            _ = try keychain.store.delete(local, for: keychain.caller)
            Issue.record("it was not refused")
        } catch {
            #expect(error.message.hasSuffix("1000 items were deleted before"))
            #expect(error.hasTakenEffect)
        }
        #expect(try itemCount() == Int64(Self.count - 1000))
        try keychain.tamper("DROP TRIGGER refuse")
        #expect(try keychain.delete(local) == Self.count - 1000)
        #expect(keychain.damage() == [])
    }

    // Promise: 17.2
    @Test func `Deleting many items lets others write between batches and keeps their items`()
        throws
    {
        try fill(3 * Self.count)
        let other = keychain.otherProcess()
        defer { other.close() }
        let hasEnded = Atomic<Bool>(false)
        let deleted = Mutex<Int?>(nil)
        let (keychain, query) = (keychain, query)
        // A thread of its own: those of a pool may all be busy elsewhere.
        Thread.detachNewThread {
            let count = try? keychain.delete(query)
            deleted.withLock { $0 = count }
            hasEnded.store(true, ordering: .sequentiallyConsistent)
        }
        var written = 0
        while !hasEnded.load(ordering: .sequentiallyConsistent) {
            let item = NewItem.generic("other \(written)", service: "other")
            try other.set(Addition(item, value: .text("v")), for: keychain.caller)
            written += 1
        }
        #expect(deleted.withLock { $0 } == 3 * Self.count)
        #expect(written > 0)
        #expect(try itemCount() == Int64(written))
        #expect(keychain.damage() == [])
    }
}

@Suite struct `A walk over many items` {
    let keychain = TestKeychain()

    private func all(_ query: ItemQuery) throws -> [StoredItem] {
        var walk = try keychain.store.walk([query], for: keychain.caller)
        var items: [StoredItem] = []
        while !walk.isAtEnd { items += try keychain.store.next(of: &walk).items }
        return items
    }

    private func fill(_ count: Int) throws {
        let additions = (0..<count).map { number in
            Addition(
                .generic("a\(number)", [.label: .text("l\(number % 3)")]).inGroup(
                    number % 2 == 0 ? "one" : "two"), value: .text("v"))
        }
        try keychain.store.set(additions, for: keychain.caller)
    }

    static let queries: [ItemQuery] = [
        .generic(), .generic([.service: .text("service")]), .generic([.label: .text("l1")]),
        .generic([.account: .text("a7")]), .exact("a7"),
        ItemQuery(.genericPassword, accessGroup: "two"), ItemQuery(.internetPassword),
    ]

    @Test(arguments: queries)
    func `A walk over many items gives what a search gives, in its order`(_ query: ItemQuery) throws
    {
        try fill(2500)
        let items = try all(query)
        #expect(items.map(\.reference) == (try keychain.items(query, .attributes)).map(\.reference))
        #expect(items.allSatisfy { $0.value == nil })
    }

    @Test(arguments: [10, 2500])
    func `A walk over two queries sees an item once that moves from one to the other`(
        _ count: Int
    ) throws {
        try fill(count)
        let queries = ["one", "two"].map { ItemQuery(.genericPassword, accessGroup: $0) }
        var walk = try keychain.store.walk(queries, for: keychain.caller)
        var seen = try keychain.store.next(of: &walk).items
        #expect(walk.isAtEnd == (count == 10))
        // One that was seen, and one that was not.
        for name in ["a0", "a\(count - 1)"] {
            let other: AccessGroup = name == "a0" ? "two" : "one"
            _ = try keychain.store.update(
                .exact(name), ItemChanges(accessGroup: other), value: nil, for: keychain.caller)
        }
        while !walk.isAtEnd { seen += try keychain.store.next(of: &walk).items }
        #expect(seen.count == count && Set(seen.map(\.reference)).count == count)
    }

    // Promise: 17.2
    @Test func `A walk over many items holds no transaction between two steps`() throws {
        try fill(2500)
        var walk = try keychain.store.walk([.generic()], for: keychain.caller)
        _ = try keychain.store.next(of: &walk)
        #expect(!walk.isAtEnd)
        let isEmptied = try keychain.tamper { connection in
            connection.deadline = .immediately
            let result = try connection.checkpoint(.truncate)
            return result.frameCount == result.checkpointedCount
        }
        #expect(isEmptied)
    }

    @Test func `A walk over many items continues after items that were deleted`() throws {
        try fill(2500)
        var walk = try keychain.store.walk([.generic()], for: keychain.caller)
        let first = try keychain.store.next(of: &walk).items
        try keychain.delete(.generic([.label: .text("l1")]))
        var others: [StoredItem] = []
        while !walk.isAtEnd { others += try keychain.store.next(of: &walk).items }
        #expect(others.allSatisfy { $0.attributes[.label] != .text("l1") })
        #expect(Set((first + others).map(\.reference)).count == first.count + others.count)
    }

    @Test func `A walk over many items reports damaged rows`() throws {
        try fill(1500)
        let item = try #require(try keychain.item(.exact("a7")))
        try keychain.tamper("UPDATE item SET protection = 99 WHERE number = ?1", item.parameter)
        var walk = try keychain.store.walk([.generic()], for: keychain.caller)
        var count = 0
        var damage: KeychainFailure?
        while !walk.isAtEnd {
            count += try keychain.store.next(of: &walk).readable(noting: &damage).count
        }
        #expect(count == 1499)
        #expect(damage?.code == .damaged)
    }
}
