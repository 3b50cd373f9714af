// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// Table `place`: docs/FORMAT.md §5.1.
@Suite struct `The places of items` {
    let keychain = TestKeychain()

    private var ids: [Int64] {
        get throws {
            try keychain.tamper { connection in
                let run = try Statement("SELECT id FROM place ORDER BY id", on: connection).start()
                var ids: [Int64] = []
                while try run.step() { ids.append(run.int64(0)) }
                return ids
            }
        }
    }

    @Test func `The items of one service share a place`() throws {
        for account in ["a", "b", "c"] { try keychain.add(.generic(account)) }
        try keychain.add(.generic("a", service: "other"))
        try keychain.add(.generic("a", isSynchronizable: true))
        #expect(try ids == [1, 2, 3])
        #expect(Set(try keychain.rows().map(\.placeID)) == [1, 2, 3])
    }

    // Promise: 1.4
    @Test func `A place goes with its last item`() throws {
        try keychain.add(.generic("a"))
        try keychain.add(.generic("b"))
        try keychain.add(.generic("c", service: "other"))
        try keychain.delete(.exact("a"))
        #expect(try ids == [1, 2])
        try keychain.update(.exact("b"), ItemChanges(attributes: [.service: .text("third")]))
        #expect(try ids.count == 2)
        try keychain.delete(.exact("b", service: "third"))
        #expect(try ids.count == 1)
        #expect(keychain.damage() == [])
        #expect(try keychain.value(named: "c", service: "other") == "value")
    }

    // Promise: 1.4
    /// An id that was given again must not lead a reader to another service.
    @Test func `A place that took the id of another one gives its own items`() throws {
        let other = keychain.otherProcess()
        try keychain.add(.generic("a", service: "one"), "first")
        let name = ItemQuery.exact("a", service: "one")
        #expect(try other.value(of: name, for: keychain.caller) != nil)
        try keychain.delete(name)
        try keychain.add(.generic("a", service: "two"), "second")
        #expect(try ids == [1])
        #expect(failure { _ = try other.value(of: name, for: keychain.caller) } == .itemNotFound)
        #expect(
            failure { _ = try keychain.value(named: "a", service: "one") } == .itemNotFound)
        #expect(try keychain.value(named: "a", service: "two") == "second")
        other.close()
    }

    @Test func `An account is found in many places and in few`() throws {
        for number in 0..<70 {
            try keychain.add(.generic("same", service: "s\(number)"), "v\(number)")
            try keychain.add(.generic("other", service: "s\(number)"))
        }
        #expect(try ids == Array(-6..<0) + Array(1...64))
        let found = try keychain.store.copy(
            .generic([.account: .text("same")]), [.attributes, .value], for: keychain.caller)
        #expect(try found.items.compactMap(\.text) == (0..<70).map { "v\($0)" })
        try keychain.update(
            .exact("same", service: "s69"), ItemChanges(attributes: [.service: .text("s0x")]))
        #expect(try keychain.items(.generic([.account: .text("same")])).count == 70)
        #expect(try keychain.delete(.generic([.account: .text("same")])) == 70)
        #expect(try keychain.items(.generic([.account: .text("same")])).isEmpty)
        #expect(keychain.damage() == [])
    }

    @Test func `A key change moves items to places of the new epoch`() throws {
        let epochs = TestKeychain()
        try epochs.addItems([.whenUnlocked, .afterFirstUnlock])
        let before = Set(try epochs.rows().map(\.place.service))
        try epochs.store.keychain.setPasscode(TestKeychain.passcode("the passcode"))
        let after = Set(try epochs.rows().map(\.place.service))
        #expect(before.isDisjoint(with: after) && after.count == before.count)
        #expect(
            try epochs.number("SELECT count(*) FROM place") == Int64(after.count))
        #expect(epochs.damage() == [])
    }
}

/// What an attacker can do to places, or an accident.
@Suite struct `A place that was changed` {
    let keychain = TestKeychain()

    init() throws {
        for service in ["one", "two"] {
            for account in ["a", "b"] {
                try keychain.add(.generic(account, service: service), "\(account) of \(service)")
            }
        }
    }

    private func texts(_ service: String) -> [String] {
        let query = ItemQuery.generic([.service: .text(service)])
        let found = try? keychain.store.copy(query, [.attributes, .value], for: keychain.caller)
        return found?.parts.items.compactMap(\.text) ?? []
    }

    /// Every search for an item of `service`, and what it may give.
    private func check(_ service: String, isWhole: Bool) {
        let right = ["a of \(service)", "b of \(service)"]
        #expect(texts(service) == (isWhole ? right : []))
        for (account, value) in zip(["a", "b"], right) {
            let named = try? keychain.value(named: account, service: service)
            #expect(named == value || (!isWhole && named == nil))
            let found = try? keychain.value(.exact(account, service: service))
            #expect(found == value || (!isWhole && found == nil))
        }
    }

    // Promise: 1.3
    @Test(
        arguments: [
            "UPDATE place SET id = 3 - id + 1000", "UPDATE place SET id = id - 1000",
            "UPDATE place SET place_hash = randomblob(16)",
            "UPDATE place SET service_hash = randomblob(16)",
            "UPDATE place SET group_hash = randomblob(16)",
            "UPDATE place SET place_hash = x'00'", "DELETE FROM place",
        ] as [StaticString])
    func `A changed place gives no wrong value, and doctor finds it`(_ sql: StaticString) throws {
        try keychain.tamper(sql)
        check("one", isWhole: false)
        check("two", isWhole: false)
        #expect(!keychain.damage().isEmpty)
    }

    // Promise: 1.3
    @Test func `Places that were exchanged give no value of the other service`() throws {
        try keychain.tamper("UPDATE place SET id = id + 2")
        try keychain.tamper("UPDATE place SET id = 2 WHERE id = 3")
        try keychain.tamper("UPDATE place SET id = 1 WHERE id = 4")
        check("one", isWhole: false)
        check("two", isWhole: false)
        for account in ["a", "b"] {
            let code = failure { _ = try keychain.value(named: account, service: "one") }
            #expect(code == .damaged)
        }
        let accounts = try keychain.store.accounts(
            of: PasswordService(
                service: "one", accessGroup: nil, isSynchronizable: false,
                protectionClass: .whenUnlocked), for: keychain.caller
        ).parts
        #expect(accounts.items.isEmpty && accounts.damage?.code == .damaged)
        #expect(!keychain.damage().isEmpty)
    }

    // Promise: 1.3
    @Test func `A row that was moved to another place does not open there`() throws {
        let item = try #require(try keychain.item(.exact("a", service: "one")))
        try keychain.tamper(
            """
            DELETE FROM item WHERE place = 2 AND account_hash = (
                SELECT account_hash FROM item WHERE number = ?1)
            """, item.parameter)
        try keychain.tamper("UPDATE item SET place = 2 WHERE number = ?1", item.parameter)
        #expect(failure { _ = try keychain.value(named: "a", service: "two") } == .damaged)
        #expect(failure { _ = try keychain.value(.exact("a", service: "two")) } == .damaged)
        #expect(failure { _ = try keychain.value(named: "a", service: "one") } == .itemNotFound)
        #expect(texts("two") == ["b of two"])
        #expect(!keychain.damage().isEmpty)
    }

    // Promise: 14.6
    /// The table and its index both have the hashes: a repair takes those that the items prove.
    @Test(arguments: ["place", "place_by_hash"], [true, false])
    func `A place is repaired from its other copy`(_ name: String, _ isService: Bool) throws {
        let row = try #require(try keychain.rows().first)
        let hash = isService ? row.serviceHash : row.header.placeHash
        keychain.reopen()
        try flip(Data(hash.bytes), in: name)
        let repair = try keychain.store.keychain.repairIndexes()
        #expect(repair.rowCount == 4 && repair.damagedCount == 0)
        check("one", isWhole: true)
        check("two", isWhole: true)
        #expect(keychain.damage() == [])
    }

    /// Changes the last byte of `bytes` where they are in a table or an index.
    private func flip(_ bytes: Data, in name: String) throws {
        let pages = try keychain.tamper { connection in
            let run = try Statement(
                "SELECT pageno FROM dbstat WHERE name = ?1", on: connection
            ).start()
            try run.bind(name, at: 1)
            var pages: [Int] = []
            while try run.step() { pages.append(Int(run.int64(0))) }
            return pages
        }
        let path = URL(fileURLWithPath: keychain.folder + "/keychain.db")
        var contents = try Data(contentsOf: path)
        var count = 0
        for page in pages {
            let range = (page - 1) * 4096..<page * 4096
            guard let found = contents.range(of: bytes, in: range) else { continue }
            // More than one bit, which a repair would undo.
            contents[found.upperBound - 1] ^= 3
            count += 1
        }
        #expect(count == 1)
        let file = try FileHandle(forUpdating: path)
        try file.write(contentsOf: contents)
        try file.close()
    }
}
