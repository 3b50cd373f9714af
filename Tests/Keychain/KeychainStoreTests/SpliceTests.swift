// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// What somebody without a key may try on the row of item 1; item 2 is another of its service.
struct Splice: Sendable, CustomTestStringConvertible {
    /// What asking for the item answers with then.
    enum Outcome: Sendable {
        case damaged
        /// No hash leads to the row any more, and only a look at every row finds it: `doctor`.
        case missing
        /// Reading by name does not look at the column: the
        /// primary key, which is sealed with the value, says it too.
        case notLookedAt
    }

    let testDescription: String
    let sql: StaticString
    /// How a search ends.
    let outcome: Outcome
    /// How reading by name ends.
    let outcomeByName: Outcome

    init(
        _ name: String, _ sql: StaticString, _ outcome: Outcome = .damaged,
        byName: Outcome? = nil
    ) {
        (testDescription, self.sql, self.outcome) = (name, sql, outcome)
        outcomeByName = byName ?? outcome
    }

    static let all: [Splice] = parts + columns + hashes

    static let parts = [
        Splice(
            "N and V swapped",
            "UPDATE item SET names = secret, secret = names WHERE number = ?1 AND ?2"),
        Splice(
            "N of item 2",
            """
            UPDATE item SET names = (SELECT names FROM item WHERE number = ?2) WHERE number = ?1
            """),
        Splice(
            "V of item 2",
            """
            UPDATE item SET secret = (SELECT secret FROM item WHERE number = ?2)
            WHERE number = ?1
            """),
        Splice(
            "both parts of item 2",
            """
            UPDATE item SET (names, secret) =
                (SELECT names, secret FROM item WHERE number = ?2) WHERE number = ?1
            """),
        Splice(
            "nonce of item 2",
            """
            UPDATE item SET nonce = (SELECT nonce FROM item WHERE number = ?2) WHERE number = ?1
            """),
        Splice(
            "both parts of item 2 with their nonce",
            """
            UPDATE item SET (nonce, names, secret) =
                (SELECT nonce, names, secret FROM item WHERE number = ?2) WHERE number = ?1
            """),
        Splice("no nonce", "UPDATE item SET nonce = zeroblob(24) WHERE number = ?1 AND ?2"),
        Splice("nonce cut", "UPDATE item SET nonce = x'00' WHERE number = ?1 AND ?2"),
        Splice("V taken away", "UPDATE item SET secret = NULL WHERE number = ?1 AND ?2"),
        Splice("V empty", "UPDATE item SET secret = x'' WHERE number = ?1 AND ?2"),
        Splice("N empty", "UPDATE item SET names = x'' WHERE number = ?1 AND ?2"),
        Splice("V cut", "UPDATE item SET secret = substr(secret, 2) WHERE number = ?1 AND ?2"),
        Splice(
            "V longer",
            "UPDATE item SET secret = CAST(secret || x'00' AS BLOB) WHERE number = ?1 AND ?2"
        ),
    ]

    static let columns = [
        Splice("salt", "UPDATE item SET salt = salt + 1 WHERE number = ?1 AND ?2"),
        Splice("version", "UPDATE item SET version = version + 1 WHERE number = ?1 AND ?2"),
        Splice("version 0", "UPDATE item SET version = 0 WHERE number = ?1 AND ?2"),
        Splice(
            "class", "UPDATE item SET class = 2 WHERE number = ?1 AND ?2",
            byName: .notLookedAt),
        Splice(
            "class 3", "UPDATE item SET class = 3 WHERE number = ?1 AND ?2",
            byName: .notLookedAt),
        Splice("protection", "UPDATE item SET protection = 2 WHERE number = ?1 AND ?2"),
        Splice("protection 7", "UPDATE item SET protection = 7 WHERE number = ?1 AND ?2"),
        Splice("protection 0", "UPDATE item SET protection = 0 WHERE number = ?1 AND ?2"),
        Splice("protection 257", "UPDATE item SET protection = 257 WHERE number = ?1 AND ?2"),
        Splice("flag 0", "UPDATE item SET flags = 1 WHERE number = ?1 AND ?2"),
        Splice("flag 1", "UPDATE item SET flags = 2 WHERE number = ?1 AND ?2"),
        Splice("flags 0 and 1", "UPDATE item SET flags = 3 WHERE number = ?1 AND ?2"),
        Splice("flag 2", "UPDATE item SET flags = 4 WHERE number = ?1 AND ?2"),
        Splice("flag 8", "UPDATE item SET flags = 256 WHERE number = ?1 AND ?2"),
        Splice("flag 10", "UPDATE item SET flags = 1024 WHERE number = ?1 AND ?2"),
        Splice("flag 31", "UPDATE item SET flags = 2147483648 WHERE number = ?1 AND ?2"),
        Splice("flag 32", "UPDATE item SET flags = 4294967296 WHERE number = ?1 AND ?2"),
        Splice("flags -1", "UPDATE item SET flags = -1 WHERE number = ?1 AND ?2"),
        Splice("epoch", "UPDATE item SET epoch = epoch + 1 WHERE number = ?1 AND ?2"),
        Splice("epoch 0", "UPDATE item SET epoch = 0 WHERE number = ?1 AND ?2"),
        Splice("epoch -1", "UPDATE item SET epoch = -1 WHERE number = ?1 AND ?2"),
        Splice("number", "UPDATE item SET number = 1000 WHERE number = ?1 AND ?2"),
    ]

    static let hashes = [
        Splice(
            "account hash",
            "UPDATE item SET account_hash = zeroblob(16) WHERE number = ?1 AND ?2", .missing),
        Splice(
            "account hash cut",
            "UPDATE item SET account_hash = x'00' WHERE number = ?1 AND ?2", .missing),
        Splice("no place", "UPDATE item SET place = 1000 WHERE number = ?1 AND ?2", .missing),
        Splice(
            "no place, of many", "UPDATE item SET place = -1000 WHERE number = ?1 AND ?2",
            .missing),
        Splice(
            "hashes of item 2",
            """
            UPDATE item SET hashes = (SELECT hashes FROM item WHERE number = ?2)
            WHERE number = ?1
            """, byName: .notLookedAt),
        Splice(
            "no hashes", "UPDATE item SET hashes = NULL WHERE number = ?1 AND ?2",
            byName: .notLookedAt),
        Splice(
            "hashes cut", "UPDATE item SET hashes = x'0e' WHERE number = ?1 AND ?2",
            byName: .notLookedAt),
    ]
}

// Promise: 1.2
/// spec/keys-and-states.md §8, case 8.
@Suite struct `A row that was put together from others` {
    let keychain = TestKeychain()
    let one: StoredItem
    let two: StoredItem

    init() throws {
        one = try keychain.add(.generic("one", [.label: .text("l1")]), "secret one")
        two = try keychain.add(.generic("two", [.label: .text("l2")]), "secret two")
        try keychain.add(.generic("three", as: .afterFirstUnlock), "secret three")
    }

    private func apply(_ splice: Splice) throws {
        try keychain.tamper(splice.sql, one.parameter, two.parameter)
    }

    /// The texts that any search for `query` answers with.
    private func texts(_ query: ItemQuery) -> [String] {
        let found = try? keychain.store.copy(query, [.attributes, .value], for: keychain.caller)
        return found?.parts.items.compactMap(\.text) ?? []
    }

    // Promise: 1.2
    @Test(arguments: Splice.all)
    func `A row with parts of others gives no bytes`(_ splice: Splice) throws {
        try apply(splice)
        let code = failure { _ = try keychain.value(.exact("one")) }
        #expect(code == (splice.outcome == .damaged ? .damaged : .itemNotFound))
    }

    @Test(arguments: Splice.all)
    func `A row with parts of others gives no bytes of another item by name`(_ splice: Splice)
        throws
    {
        _ = try keychain.value(named: "one")
        try apply(splice)
        var value: String?
        let code = failure { value = try keychain.value(named: "one") }
        #expect(value == nil || value == "secret one")
        switch splice.outcomeByName {
        case .damaged: #expect(code == .damaged)
        case .missing: #expect(code == .itemNotFound)
        case .notLookedAt: #expect(code == nil)
        }
    }

    @Test(arguments: Splice.all)
    func `A row with parts of others does not pass for another item`(_ splice: Splice) throws {
        try apply(splice)
        #expect(try keychain.value(.exact("two")) == "secret two")
        #expect(try keychain.value(named: "two") == "secret two")
        #expect(texts(.exact("one")).allSatisfy { $0 == "secret one" })
        #expect(texts(.generic([.label: .text("l2")])).allSatisfy { $0 == "secret two" })
        #expect(texts(ItemQuery(one.reference)).isEmpty)
    }

    @Test(arguments: Splice.all)
    func `A row with parts of others does not hide the other items`(_ splice: Splice) throws {
        try apply(splice)
        let found = try keychain.store.copy(
            .generic(), [.attributes, .value], for: keychain.caller
        ).parts
        #expect(found.items.compactMap(\.account) == ["two", "three"])
        #expect(found.items.compactMap(\.text) == ["secret two", "secret three"])
    }

    @Test(arguments: Splice.all)
    func `A row with parts of others is found by doctor`(_ splice: Splice) throws {
        #expect(keychain.damage() == [])
        try apply(splice)
        #expect(!keychain.damage().isEmpty)
    }

    @Test(arguments: Splice.all)
    func `A row with parts of others lets the other items be changed and deleted`(_ splice: Splice)
        throws
    {
        try apply(splice)
        #expect(try keychain.update(.exact("two"), ItemChanges(), "new") == 1)
        #expect(try keychain.value(.exact("two")) == "new")
        #expect(try keychain.delete(.exact("two")) == 1)
        try keychain.add(.generic("two", [.label: .text("l2")]), "again")
        #expect(try keychain.value(.exact("two")) == "again")
    }

    @Test(arguments: Splice.all)
    func `A row with parts of others can be set anew`(_ splice: Splice) throws {
        try apply(splice)
        try keychain.set(.generic("one", [.label: .text("l1")]), "new")
        #expect(try keychain.value(.exact("one")) == "new")
        #expect(try keychain.value(.exact("two")) == "secret two")
    }

    @Test(arguments: Splice.all)
    func `A row with parts of others is not moved elsewhere`(_ splice: Splice) throws {
        try apply(splice)
        let addition = Addition(.generic("one", service: "new"), value: .text("v"))
        let code = failure {
            try keychain.store.perform(
                ItemTransfer(additions: [addition], deletions: [one.version]),
                for: keychain.caller)
        }
        #expect(code == .damaged || code == .itemNotFound)
        #expect(try keychain.items(.exact("one", service: "new")).isEmpty)
        #expect(try keychain.number("SELECT count(*) FROM item") == 3)
    }

    // Promise: 1.2
    @Test func `A row of an older version of an item does not open`() throws {
        let old = try keychain.row(one)
        try keychain.update(.exact("one"), ItemChanges(), "newer")
        let secret = try #require(old.secret)
        try keychain.tamper(
            "UPDATE item SET secret = ?2 WHERE number = ?1", one.parameter, .bytes(secret))
        #expect(failure { _ = try keychain.value(.exact("one")) } == .damaged)
        try keychain.tamper(
            "UPDATE item SET names = ?2 WHERE number = ?1", one.parameter, .bytes(old.names))
        #expect(failure { _ = try keychain.items(.exact("one")) } == .damaged)
    }
}
