// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite struct `Lookup attributes` {
    let keychain = TestKeychain()

    private static func value(_ values: [LookupName: String]) -> AttributeValue {
        LookupAttributes(values)?.attributeValue ?? .bytes([])
    }

    private func item(
        _ account: String, _ values: [LookupName: String], service: String = "s"
    ) -> NewItem {
        .generic(account, service: service, [.lookupAttributes: Self.value(values)])
    }

    private func accounts(_ values: [LookupName: String]) throws -> [String] {
        try keychain.accounts(.generic([.lookupAttributes: Self.value(values)]))
    }

    // Promise: 20.6
    @Test func `An item is found by each part of them, and by nothing else`() throws {
        try keychain.add(item("a", ["user": "anna", "host": "mail"]))
        try keychain.add(item("b", ["user": "ben", "host": "mail"]))
        try keychain.add(.generic("c", service: "s"))
        for (values, found) in [
            (["host": "mail"], ["a", "b"]), (["user": "anna"], ["a"]),
            (["user": "anna", "host": "mail"], ["a"]), (["user": "anna", "host": "web"], []),
            (["host": "anna"], []), (["mail": "host"], []), (["user": "Anna"], []),
            (["user": "anna", "host": "mail", "port": "1"], []),
        ] as [([LookupName: String], [String])] {
            #expect(try accounts(values) == found, "\(values)")
        }
    }

    @Test func `A search that finds many gives them in their order, and tells of a damaged one`()
        throws
    {
        let names = (0..<400).map { "a\($0)" }
        let additions = names.map { Addition(item($0, ["n": "1"]), value: .text("v")) }
        try keychain.store.set(additions, for: keychain.caller)
        let query = ItemQuery.generic([.lookupAttributes: Self.value(["n": "1"])])
        let all = try keychain.store.copy(query, .attributes, for: keychain.caller).parts
        #expect(all.items.compactMap(\.account) == names && all.damage == nil)
        try keychain.tamper(
            """
            UPDATE item SET names = zeroblob(72)
            WHERE number = (SELECT number FROM item ORDER BY number LIMIT 1 OFFSET 200)
            """)
        let rest = try keychain.store.copy(query, .attributes, for: keychain.caller).parts
        #expect(rest.items.compactMap(\.account) == names.filter { $0 != "a200" })
        #expect(rest.damage != nil)
    }

    @Test func `A search by them keeps to its group and its other attributes`() throws {
        try keychain.add(item("a", ["n": "1"]))
        try keychain.add(item("a", ["n": "1"]).inGroup("two"))
        try keychain.add(item("a", ["n": "1"], service: "t"))
        var query = ItemQuery.generic([.lookupAttributes: Self.value(["n": "1"])])
        #expect(try keychain.items(query).count == 3)
        query.attributes[.service] = .text("t")
        #expect(try keychain.items(query).count == 1)
        query.accessGroup = "two"
        #expect(try keychain.items(query).count == 0)
    }

    @Test func `An update changes by which ones an item is found`() throws {
        try keychain.add(item("a", ["n": "1", "m": "2"]))
        let changes = ItemChanges(attributes: [.lookupAttributes: Self.value(["n": "3"])])
        try keychain.update(.exact("a", service: "s"), changes)
        #expect(try accounts(["n": "1"]) == [])
        #expect(try accounts(["m": "2"]) == [])
        #expect(try accounts(["n": "3"]) == ["a"])
        try keychain.delete(.exact("a", service: "s"))
        #expect(try accounts(["n": "3"]) == [])
    }

    @Test func `Names and values may hold everything, and as many as 64`() throws {
        var values: [LookupName: String] = [
            "": "", "\u{1F511}": "\n", "a": String(repeating: "x", count: 5_000),
        ]
        for number in values.count..<LookupAttributes.maximalCount { values["\(number)"] = "v" }
        try keychain.add(item("a", values))
        for (name, value) in values { #expect(try accounts([name: value]) == ["a"]) }
        #expect(try accounts(values) == ["a"])
        values["one more"] = ""
        #expect(LookupAttributes(values) == nil)
        let long = String(repeating: "x", count: LookupAttributes.maximalByteCount)
        #expect(LookupAttributes(["": long]) != nil)
        #expect(LookupAttributes(["n": long]) == nil)
    }

    @Test func `Names are stored in the order of their bytes`() throws {
        // In Unicode's order the letter with the accent comes first.
        let (z, accented) = (Array("z".utf8), Array("e\u{301}".utf8))
        #expect(
            Self.value(["z": "", "e\u{301}": ""])
                == .bytes(
                    [0, 0, 0, 2, 0, 0, 0, 3] + accented + [0, 0, 0, 0, 0, 0, 0, 1] + z + [
                        0, 0, 0, 0,
                    ]))
        #expect(
            Self.value(["\u{E9}": "", "z": ""])
                == .bytes(
                    [0, 0, 0, 2, 0, 0, 0, 1] + z + [0, 0, 0, 0, 0, 0, 0, 2, 0xC3, 0xA9, 0, 0, 0, 0])
        )
        try keychain.add(item("a", ["\u{E9}": "1", "z": "2"]))
        #expect(try accounts(["\u{E9}": "1"]) == ["a"])
    }

    @Test func `Names that are the same text in two forms are two names`() throws {
        let name = { (bytes: [UInt8]) in [0, 0, 0, UInt8(bytes.count)] + bytes + [0, 0, 0, 0] }
        let two = [0, 0, 0, 2] + name(Array("e\u{301}".utf8)) + name([0xC3, 0xA9])
        try keychain.add(.generic("a", service: "s", [.lookupAttributes: .bytes(two)]))
        #expect(LookupAttributes(.bytes(two))?.values == ["e\u{301}": "", "\u{E9}": ""])
        #expect(LookupAttributes(.bytes(two))?.attributeValue == .bytes(two))
        #expect(try accounts(["e\u{301}": ""]) == ["a"])
        #expect(try accounts(["\u{E9}": "", "e\u{301}": ""]) == ["a"])
    }

    // Promise: 20.5
    @Test func `A name with very many accents takes no longer than another one`() throws {
        let begin = Deadline.now
        let accents = String(repeating: "\u{301}\u{323}", count: 40_000)
        let value = Self.value([LookupName("a" + accents): "v", "n": "1"])
        try keychain.add(.generic("a", service: "s", [.lookupAttributes: value]))
        for _ in 0..<20 {
            #expect(try accounts([LookupName("a" + accents): "v"]) == ["a"])
            #expect(try accounts([LookupName("b" + accents): "v"]) == [])
            #expect(try accounts(["n": "1"]) == ["a"])
        }
        #expect(Deadline.now - begin < 60_000_000_000)
    }

    @Test func `Bytes of another form are found by nothing`() throws {
        try keychain.add(.generic("a", service: "s", [.lookupAttributes: .bytes([1, 2, 3])]))
        #expect(try accounts(["n": "1"]) == [])
        #expect(try keychain.items(.exact("a", service: "s")).count == 1)
    }

    // MARK: Replacing

    private func replace(_ item: NewItem, _ value: String) throws -> Bool {
        try keychain.store.replaceByLookup(
            Addition(item, value: .text(value)), for: keychain.caller
        ).wasThere
    }

    // Promise: 20.6
    @Test func `An item takes the place of one with the same attributes alone`() throws {
        #expect(try !replace(item("a", ["n": "1"]), "one"))
        #expect(try !replace(item("b", ["n": "1", "m": "2"]), "two"))
        let before = try #require(try keychain.item(.exact("a", service: "s")))
        keychain.clock.advance(seconds: 5)
        #expect(try replace(item("c", ["n": "1"]), "three"))
        #expect(try accounts(["n": "1"]) == ["a", "b"])
        let after = try #require(try keychain.item(.exact("a", service: "s")))
        #expect(after.text == "three")
        #expect(after.reference == before.reference)
        #expect(after.date(.creationDate) == before.date(.creationDate))
        #expect(try #require(after.modificationDate) > (before.modificationDate ?? .infinity))
        // Another service is another place.
        #expect(try !replace(item("a", ["n": "1"], service: "t"), "four"))
        #expect(try keychain.value(.exact("b", service: "s")) == "two")
    }

    @Test func `The general schema and none are the same in a replacement`() throws {
        let general: [LookupName: String] = [
            "n": "1", "xdg:schema": "org.freedesktop.Secret.Generic",
        ]
        #expect(try !replace(item("a", ["n": "1"]), "one"))
        #expect(try replace(item("b", general), "two"))
        #expect(try replace(item("c", ["n": "1"]), "three"))
        #expect(try keychain.value(.exact("a", service: "s")) == "three")
        #expect(try accounts(general) == ["a"])
        #expect(try !replace(item("d", ["n": "1", "xdg:schema": "other"]), "four"))
    }

    @Test func `References can be chosen by the number of attributes`() throws {
        try keychain.add(item("a", ["n": "1"]))
        try keychain.add(item("b", ["n": "1", "m": "2"]))
        let query = ItemQuery.generic([.lookupAttributes: Self.value(["n": "1"])])
        let items = try keychain.items(query).map(\.reference)
        for (count, found) in [(0, []), (1, [items[0]]), (2, [items[1]]), (nil, items)] {
            #expect(
                try keychain.store.references(
                    query, for: keychain.caller, lookupCount: count, limit: 9
                ).items == found)
        }
    }

    @Test func `References of what matches are found without opening it`() throws {
        try keychain.add(item("a", ["n": "1"]))
        try keychain.add(item("b", ["n": "1"]))
        let query = ItemQuery.generic([.lookupAttributes: Self.value(["n": "1"])])
        let items = try keychain.items(query).map(\.reference)
        let (store, caller) = (keychain.store, keychain.caller)
        #expect(try store.references(query, for: caller, limit: 9).items == items)
        #expect(try store.references(query, for: caller, limit: 1).items.count == 1)
    }
}
