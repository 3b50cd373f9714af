// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite struct `Searching for items` {
    let keychain = TestKeychain()

    @Test func `A search finds exactly the items that have every attribute`() throws {
        try keychain.add(.generic("a", service: "s", [.label: .text("l"), .comment: .text("c")]))
        try keychain.add(.generic("b", service: "s", [.label: .text("l")]))
        try keychain.add(.generic("a", service: "t", [.label: .text("l")]))
        let queries: [(ItemAttributes, Int)] = [
            ([:], 3), ([.account: .text("a")], 2), ([.service: .text("s")], 2),
            ([.label: .text("l")], 3), ([.label: .text("l"), .account: .text("a")], 2),
            ([.label: .text("l"), .service: .text("s")], 2), ([.comment: .text("c")], 1),
            ([.comment: .text("c"), .label: .text("x")], 0),
            ([.account: .text("a"), .service: .text("s"), .label: .text("x")], 0),
            ([.account: .text("a"), .service: .text("s"), .label: .text("l")], 1),
            ([.account: .text("A")], 0), ([.account: .text("")], 0),
        ]
        for (attributes, count) in queries {
            #expect(try keychain.items(.generic(attributes)).count == count, "\(attributes)")
        }
    }

    @Test(arguments: [0, 1, 2, 5, 6, nil] as [Int?])
    func `A search keeps its limit`(_ limit: Int?) throws {
        for name in ["a", "b", "c", "d", "e"] { try keychain.add(.generic(name)) }
        var query = ItemQuery.generic()
        query.limit = limit
        #expect(try keychain.items(query).count == min(5, limit ?? 5))
    }

    @Test func `A search reports that nothing matches`() throws {
        try keychain.add(.generic("a"))
        let (store, caller) = (keychain.store, keychain.caller)
        let code = failure { _ = try store.copy(.exact("b"), .value, for: caller) }
        #expect(code == .itemNotFound)
        #expect(try !store.contains(.exact("b"), for: caller))
        #expect(try store.contains(.exact("a"), for: caller))
    }

    @Test func `A search for a service gives its items in the order of adding`() throws {
        let names = (0..<20).map { "account \($0)" }.shuffled()
        for name in names { try keychain.add(.generic(name)) }
        let query = ItemQuery(.genericPassword, attributes: [.service: .text("service")])
        #expect(try keychain.items(query).compactMap(\.account) == names)
    }

    @Test func `A search for an account gives its items in the order of adding`() throws {
        let services = (0..<20).map { "service \($0)" }.shuffled()
        for service in services { try keychain.add(.generic("a", service: service)) }
        let found = try keychain.items(.generic([.account: .text("a")]))
        #expect(found.map { $0.attributes[.service] } == services.map { .text($0) })
    }

    @Test func `A search keeps item classes apart`() throws {
        try keychain.add(NewItem(.genericPassword, attributes: [.account: .text("a")]))
        try keychain.add(NewItem(.internetPassword, attributes: [.account: .text("a")]))
        for itemClass in ItemClass.allCases {
            let query = ItemQuery(itemClass, attributes: [.account: .text("a")])
            #expect(try keychain.items(query).map(\.itemClass) == [itemClass])
        }
    }

    @Test(arguments: [
        ("example.com", 2), ("www.example.com", 1), ("a.www.example.com", 0), ("xample.com", 0),
        ("com", 2), ("EXAMPLE.com", 0), ("net", 0), ("", 0), (".com", 0), ("e\u{301}.org", 1),
        ("\u{E9}.org", 0),
    ])
    func `A search for a host finds it and its subdomains`(_ host: String, _ count: Int) throws {
        try keychain.add(.internet("a"))
        try keychain.add(.internet("a", [.server: .text("www.example.com")]))
        try keychain.add(.internet("a", [.server: .bytes(Array("net".utf8))]))
        try keychain.add(.internet("a", [.server: .text("example.org")]))
        try keychain.add(.internet("a", [.server: .text("www.e\u{301}.org")]))
        var query = ItemQuery(.internetPassword)
        query.hostOrSubdomainOfHost = host
        #expect(try keychain.items(query).count == count)
    }

    @Test func `A delete or an update for a host finds its subdomains`() throws {
        try keychain.add(.internet("a", [.server: .text("www.example.com")]))
        try keychain.add(.internet("b", [.server: .text("example.org")]))
        var query = ItemQuery(.internetPassword)
        query.hostOrSubdomainOfHost = "example.com"
        #expect(try keychain.update(query, ItemChanges(), "new") == 1)
        #expect(try keychain.delete(query) == 1)
        #expect(try keychain.accounts(ItemQuery(.internetPassword)) == ["b"])
    }
}

/// Parts of the key that next to no query names: spec/secitem.md §2.3.
@Suite struct `An item with a view hint or a token` {
    static let variants: [ItemAttributes] = [
        [.syncViewHint: .text("hint")], [.tokenID: .text("token")],
        [.syncViewHint: .text("hint"), .tokenID: .text("token")],
    ]

    let keychain = TestKeychain()

    @Test(arguments: variants)
    func `A search without a view hint or token finds an item that has one`(
        _ variant: ItemAttributes
    ) throws {
        let item = try keychain.add(.generic("a", variant), "v")
        #expect(try keychain.value(.exact("a")) == "v")
        #expect(try keychain.value(.exact("a", .any)) == "v")
        #expect(try keychain.items(.exact("a")).map(\.reference) == [item.reference])
        #expect(try keychain.items(.generic([.account: .text("a")])).count == 1)
        #expect(try keychain.items(.generic([.service: .text("service")])).count == 1)
        #expect(keychain.damage() == [])
    }

    @Test(arguments: variants)
    func `A search with a view hint or token finds its item once`(
        _ variant: ItemAttributes
    ) throws {
        let item = try keychain.add(.generic("a", variant), "v")
        var query = ItemQuery.exact("a")
        query.attributes = query.attributes.overwritten(by: variant)
        #expect(try keychain.value(query) == "v")
        #expect(try keychain.items(query).map(\.reference) == [item.reference])
    }

    @Test(arguments: variants)
    func `A search with another view hint or token finds nothing`(
        _ variant: ItemAttributes
    ) throws {
        try keychain.add(.generic("a", variant))
        for attribute in variant.keys {
            for other in ["", "other"] {
                var query = ItemQuery.exact("a")
                query.attributes[attribute] = .text(other)
                #expect(try keychain.items(query).isEmpty, "\(attribute) \(other)")
            }
        }
    }

    @Test(arguments: variants)
    func `An item with a view hint or token may exist beside the plain one`(
        _ variant: ItemAttributes
    ) throws {
        try keychain.add(.generic("a"), "plain")
        try keychain.add(.generic("a", variant), "variant")
        #expect(try keychain.items(.exact("a")).count == 2)
        #expect(try keychain.value(.exact("a")) == "plain")
    }

    @Test(arguments: [Attribute.syncViewHint, .tokenID])
    func `An empty view hint or token counts as absent`(_ attribute: Attribute) throws {
        try keychain.add(.generic("a"), "v")
        var query = ItemQuery.exact("a")
        query.attributes[attribute] = .text("")
        #expect(try keychain.value(query) == "v")
        #expect(try keychain.update(query, ItemChanges(), "new") == 1)
        #expect(
            failure { try keychain.add(.generic("a", [attribute: .text("")])) }
                == .duplicateItem)
        #expect(try keychain.delete(query) == 1)
    }

    @Test func `Deleting without a view hint or token deletes an item that has one`() throws {
        try keychain.add(.generic("a", Self.variants[2]))
        #expect(try keychain.delete(.exact("a")) == 1)
        #expect(try keychain.number("SELECT count(*) FROM attribute") == 0)
    }
}

/// A row of the same group that is damaged shows which rows a search comes upon.
@Suite struct `The index of a search` {
    let keychain = TestKeychain()

    private static let more: ItemAttributes = [
        .label: .text("l"), .generic: .bytes([1]), .comment: .text("c"), .creator: .number(5),
        .isInvisible: .number(1),
    ]

    private func hasComeUponOthers(_ attributes: ItemAttributes) throws -> Bool {
        try keychain.add(.generic("a", service: "wanted", Self.more))
        let other = try keychain.add(.generic("b", service: "other", [.label: .text("other")]))
        try keychain.tamper("UPDATE item SET protection = 99 WHERE number = ?1", other.parameter)
        let found = try keychain.store.copy(
            .generic(attributes), .attributes, for: keychain.caller
        ).parts
        #expect(found.items.compactMap(\.account) == ["a"])
        return found.damage != nil
    }

    @Test(
        arguments: [
            [.account: .text("a")], [.service: .text("wanted")], [.label: .text("l")],
            [.generic: .bytes([1])], [.comment: .text("c")], [.creator: .number(5)],
            [.isInvisible: .number(1)], [.account: .text("a"), .service: .text("wanted")],
            [.service: .text("wanted"), .label: .text("l")],
        ] as [ItemAttributes])
    func `A search entry leads only to what matches`(_ attributes: ItemAttributes)
        throws
    {
        #expect(try !hasComeUponOthers(attributes))
    }

    @Test func `A search for a class leads to all of its items`() throws {
        #expect(try hasComeUponOthers([:]))
    }
}

/// spec/secitem.md §5.2.
@Suite struct `Access groups` {
    let keychain = TestKeychain()
    let stranger = Caller(applicationIdentifier: "stranger")

    // Promise: 3.2
    @Test func `An item is invisible to applications without its access group`() throws {
        try keychain.add(.generic("a"))
        let store = keychain.store
        let missing: [() throws -> Void] = [
            { _ = try store.value(of: .exact("a"), for: stranger) },
            { _ = try store.copy(.generic(), .attributes, for: stranger) },
            { _ = try store.update(.exact("a"), ItemChanges(), value: nil, for: stranger) },
            { try store.delete(.exact("a"), for: stranger) },
        ]
        for call in missing { #expect(failure(call) == .itemNotFound) }
        #expect(try keychain.value(.exact("a")) == "value")
    }

    @Test(arguments: ["stranger", "ONE", "one ", ""])
    func `An access group must be the caller's to be named`(_ name: String) throws {
        try keychain.add(.generic("a"))
        let group = AccessGroup(name)
        let query = ItemQuery.exact("a", group: group)
        #expect(failure { _ = try keychain.value(query) } == .missingEntitlement)
        #expect(failure { _ = try keychain.items(query) } == .missingEntitlement)
        #expect(failure { try keychain.update(query, ItemChanges()) } == .missingEntitlement)
        #expect(failure { try keychain.delete(query) } == .missingEntitlement)
        #expect(failure { try keychain.add(.generic("b").inGroup(group)) } == .missingEntitlement)
        #expect(
            failure { try keychain.set(.generic("b").inGroup(group), "v") }
                == .missingEntitlement)
    }

    @Test func `A new item goes into the first access group`() throws {
        #expect(try keychain.add(.generic("a")).accessGroup == "one")
        #expect(try keychain.add(.generic("b").inGroup("two")).accessGroup == "two")
    }

    @Test func `A search covers all access groups unless one is named`() throws {
        try keychain.add(.generic("a"), "one")
        try keychain.add(.generic("b").inGroup("two"), "two")
        #expect(try keychain.accounts(.generic()) == ["a", "b"])
        #expect(try keychain.value(.exact("b")) == "two")
        #expect(try keychain.value(.exact("b", group: "two")) == "two")
        #expect(failure { _ = try keychain.value(.exact("b", group: "one")) } == .itemNotFound)
    }

    @Test func `The access groups of tokens can only be read`() throws {
        let caller = Caller(applicationIdentifier: "x", accessGroups: [.token, "one"])
        let store = keychain.store
        let added = try store.add(Addition(.generic("a"), value: nil), for: caller)
        #expect(added.accessGroup == "one")
        let item = NewItem.generic("b").inGroup(.token)
        #expect(
            failure { _ = try store.add(Addition(item, value: nil), for: caller) }
                == .missingEntitlement)
        #expect(
            failure { try store.delete(.exact("a", group: .token), for: caller) }
                == .missingEntitlement)
        #expect(
            failure { _ = try store.value(of: .exact("a", group: .token), for: caller) }
                == .itemNotFound)
        let lonely = Caller(applicationIdentifier: "x", accessGroups: [.token])
        #expect(failure { try store.delete(.exact("a"), for: lonely) } == .missingEntitlement)
        #expect(
            failure { _ = try store.add(Addition(.generic("c"), value: nil), for: lonely) }
                == .missingEntitlement)
    }
}

/// spec/secitem.md §8.
@Suite struct `A persistent reference` {
    let keychain = TestKeychain()

    @Test func `A stored reference finds its item, synchronized or not`() throws {
        for isSynchronizable in [false, true] {
            let item = try keychain.add(
                .generic("a", isSynchronizable: isSynchronizable), "\(isSynchronizable)")
            let query = ItemQuery(item.reference)
            #expect(try keychain.value(query) == "\(isSynchronizable)")
            #expect(try keychain.items(query).count == 1)
        }
    }

    @Test func `A stored reference survives every change`() throws {
        let item = try keychain.add(.generic("a"), "v")
        let changes = [
            ItemChanges(attributes: [.account: .text("b")]), ItemChanges(accessGroup: "two"),
            ItemChanges(isSynchronizable: true), ItemChanges(protectionClass: .afterFirstUnlock),
        ]
        for change in changes {
            try keychain.update(ItemQuery(item.reference), change)
            #expect(try keychain.value(ItemQuery(item.reference)) == "v")
        }
        keychain.reopen()
        #expect(try keychain.value(ItemQuery(item.reference)) == "v")
    }

    @Test func `A stored reference ends with its item`() throws {
        let item = try keychain.add(.generic("a"))
        try keychain.delete(ItemQuery(item.reference))
        let new = try keychain.add(.generic("a"))
        #expect(new.reference != item.reference)
        #expect(failure { _ = try keychain.value(ItemQuery(item.reference)) } == .itemNotFound)
        #expect(failure { try keychain.delete(ItemQuery(item.reference)) } == .itemNotFound)
        #expect(try keychain.value(ItemQuery(new.reference)) == "value")
    }

    // Promise: 3.2
    @Test func `A stored reference into a foreign group finds nothing`() throws {
        let item = try keychain.add(.generic("a"))
        let stranger = Caller(applicationIdentifier: "stranger")
        let (store, query) = (keychain.store, ItemQuery(item.reference))
        #expect(failure { _ = try store.value(of: query, for: stranger) } == .itemNotFound)
        #expect(failure { try store.delete(query, for: stranger) } == .itemNotFound)
    }

    @Test func `A stored reference of another class finds nothing`() throws {
        let item = try keychain.add(.generic("a"))
        let reference = PersistentReference(
            itemClass: .internetPassword, itemID: item.reference.itemID)
        #expect(try keychain.items(ItemQuery(reference)).isEmpty)
    }

    @Test func `A stored reference may be combined with attributes`() throws {
        let item = try keychain.add(.generic("a"))
        var query = ItemQuery(item.reference)
        query.attributes = [.account: .text("b")]
        #expect(failure { try keychain.update(query, ItemChanges()) } == .itemNotFound)
        query.attributes = [.account: .text("a")]
        #expect(try keychain.update(query, ItemChanges()) == 1)
    }

    @Test func `Every item has a different reference`() throws {
        let references = try (0..<50).map { number in
            let item = try keychain.add(.generic("a"))
            if number % 2 == 0 {
                try keychain.delete(.exact("a"))
            } else {
                try keychain.update(
                    .exact("a"),
                    ItemChanges(
                        attributes: [.account: .text("\(number)")]))
            }
            return item.reference
        }
        #expect(Set(references).count == 50)
    }
}
