// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// spec/secitem.md §2.
@Suite struct `Adding an item` {
    let keychain = TestKeychain()

    @Test func `An added item can be read`() throws {
        let added = try keychain.add(.generic("a"), "secret")
        #expect(try keychain.value(.exact("a")) == "secret")
        let read = try #require(try keychain.item(.exact("a")))
        #expect(read.reference == added.reference)
        #expect(read.attributes == added.attributes)
        #expect(read.accessGroup == "one")
        #expect(read.protectionClass == .whenUnlocked)
        #expect(!read.isSynchronizable)
    }

    @Test func `Adding an item returns everything but the value`() throws {
        let added = try keychain.add(.generic("a"), "secret")
        #expect(added.value == nil)
        #expect(added.valueByteCount == 6)
        #expect(
            Set(added.attributes.keys) == [
                .account, .service, .creationDate, .modificationDate,
            ])
    }

    @Test func `Adding an item fills in the attributes that make it unique`() throws {
        try keychain.add(NewItem(.genericPassword, attributes: [:]), "g")
        try keychain.add(NewItem(.internetPassword, attributes: [:]), "i")
        let generic = try #require(try keychain.item(ItemQuery(.genericPassword)))
        #expect(generic.attributes[.account] == .text(""))
        #expect(generic.attributes[.service] == .text(""))
        let internet = try #require(try keychain.item(ItemQuery(.internetPassword)))
        for name in [Attribute.account, .server, .securityDomain, .authenticationType, .path] {
            #expect(internet.attributes[name] == .text(""), "\(name)")
        }
        #expect(internet.attributes[.port] == .number(0))
        #expect(internet.attributes[.protocol] == .number(0))
        let again = NewItem(.genericPassword, attributes: [:])
        #expect(failure { try keychain.add(again) } == .duplicateItem)
    }

    @Test func `Adding an item with a taken key is refused`() throws {
        try keychain.add(.generic("a"), "first")
        let second = NewItem.generic("a", [.label: .text("other")], as: .afterFirstUnlock)
        #expect(failure { try keychain.add(second, "second") } == .duplicateItem)
        #expect(try keychain.value(.exact("a")) == "first")
    }

    /// Each changes one part of the key.
    @Test(
        arguments: [
            [.account: .text("b")], [.service: .text("b")], [.syncViewHint: .text("b")],
            [.tokenID: .text("b")],
        ] as [ItemAttributes])
    func `Adding a different generic password succeeds`(_ change: ItemAttributes)
        throws
    {
        try keychain.add(.generic("a"))
        try keychain.add(.generic("a", change))
        #expect(try keychain.items(.generic()).count == 2)
    }

    @Test(
        arguments: [
            [.account: .text("b")], [.server: .text("b")], [.securityDomain: .text("b")],
            [.protocol: .text("http")], [.authenticationType: .text("form")], [.port: .number(1)],
            [.path: .text("/")], [.syncViewHint: .text("b")], [.tokenID: .text("b")],
        ] as [ItemAttributes])
    func `Adding a different internet password succeeds`(_ change: ItemAttributes)
        throws
    {
        try keychain.add(.internet("a"))
        try keychain.add(.internet("a", change))
        #expect(try keychain.items(ItemQuery(.internetPassword)).count == 2)
        #expect(failure { try keychain.add(.internet("a", change)) } == .duplicateItem)
    }

    @Test(
        arguments: [
            [.label: .text("b")], [.generic: .bytes([1])], [.itemDescription: .text("b")],
            [.comment: .text("b")], [.creator: .number(1)], [.type: .number(1)],
            [.isInvisible: .number(1)], [.isNegative: .number(1)], [.alias: .text("b")],
        ] as [ItemAttributes])
    func `Adding an item compares nothing but its key`(_ change: ItemAttributes) throws {
        try keychain.add(.generic("a"))
        #expect(failure { try keychain.add(.generic("a", change)) } == .duplicateItem)
    }

    @Test func `Adding an item compares text and data by their bytes`() throws {
        try keychain.add(.generic("a"))
        let sameBytes = NewItem.generic("a", [.account: .bytes([0x61])])
        #expect(failure { try keychain.add(sameBytes) } == .duplicateItem)
        try keychain.add(.generic("", [.account: .number(0x61)]))
        let sameNumber = NewItem.generic("", [.account: .bytes([0x61, 0, 0, 0])])
        #expect(failure { try keychain.add(sameNumber) } == .duplicateItem)
    }

    @Test func `Equal keys may be added in different classes, groups and kinds of synchronization`()
        throws
    {
        try keychain.add(.generic("a", service: ""))
        try keychain.add(NewItem(.internetPassword, attributes: [.account: .text("a")]))
        try keychain.add(.generic("a", service: "").inGroup("two"))
        try keychain.add(.generic("a", service: "", isSynchronizable: true))
        #expect(try keychain.items(.generic()).count == 3)
    }

    @Test func `An added item gets the current time for its dates`() throws {
        let item = NewItem.generic("a", [.creationDate: .date(1), .modificationDate: .date(2)])
        let added = try keychain.add(item)
        let now = Double(keychain.clock.nanoseconds) / 1e9 - 978_307_200
        #expect(added.date(.creationDate) == now)
        #expect(added.date(.modificationDate) == now)
    }

    @Test(arguments: ProtectionClass.allCases.dropLast())
    func `An added item keeps its protection class`(_ protectionClass: ProtectionClass) throws {
        try keychain.add(.generic("a", as: protectionClass), "v")
        let item = try #require(try keychain.item(.exact("a")))
        #expect(item.protectionClass == protectionClass)
        #expect(item.text == "v")
        var query = ItemQuery.exact("a")
        query.protectionClass = protectionClass
        #expect(try keychain.value(query) == "v")
        query.protectionClass = ProtectionClass.allCases.first { $0 != protectionClass }
        #expect(failure { _ = try keychain.value(query) } == .itemNotFound)
    }

    @Test func `Adding an item of the passcode class requires a passcode`() throws {
        let item = NewItem.generic("a", as: .whenPasscodeSetThisDeviceOnly)
        #expect(failure { try keychain.add(item) } == .passcodeNotSet)
        #expect(failure { try keychain.set(item, "v") } == .passcodeNotSet)
        // Unavailable comes before taken: spec/secitem.md §3.10.
        try keychain.add(.generic("a"))
        #expect(failure { try keychain.add(item) } == .passcodeNotSet)
    }

    @Test func `Adding an item creates the keychain, and searching does not`() throws {
        #expect(failure { _ = try keychain.value(.exact("a")) } == .itemNotFound)
        #expect(failure { try keychain.delete(.exact("a")) } == .itemNotFound)
        #expect(failure { try keychain.update(.exact("a"), ItemChanges()) } == .itemNotFound)
        #expect(try keychain.store.keychain.status().state == .absent)
        try keychain.add(.generic("a"))
        #expect(try keychain.store.keychain.status().state == .noPasscode)
    }
}

@Suite struct `Setting an item` {
    let keychain = TestKeychain()

    @Test func `Setting an item adds it if it is missing`() throws {
        try keychain.set(.generic("a", [.label: .text("l")]), "v")
        #expect(try keychain.item(.exact("a"))?.attributes[.label] == .text("l"))
        #expect(try keychain.value(.exact("a")) == "v")
    }

    @Test func `Setting an item changes the value and nothing else`() throws {
        let added = try keychain.add(.generic("a", [.label: .text("l")]), "old")
        keychain.clock.advance(seconds: 5)
        try keychain.set(.generic("a", [.label: .text("ignored"), .comment: .text("x")]), "new")
        let item = try #require(try keychain.item(.exact("a")))
        #expect(item.text == "new")
        #expect(item.reference == added.reference)
        var expected = added.attributes
        expected[.modificationDate] = item.attributes[.modificationDate]
        #expect(item.attributes == expected)
        #expect(item.date(.modificationDate) == added.date(.modificationDate).map { $0 + 5 })
    }

    @Test func `Setting an item of another protection class is refused`() throws {
        try keychain.add(.generic("a"), "old")
        let item = NewItem.generic("a", as: .afterFirstUnlock)
        #expect(failure { try keychain.set(item, "new") } == .duplicateItem)
        #expect(try keychain.value(.exact("a")) == "old")
    }

    /// spec/secitem.md §5.2: the caller has the groups `one`, its default, and `two`.
    @Test func `Setting an item without a group changes it in each group that has it`() throws {
        let other = try keychain.add(.generic("a").inGroup("two"), "old")
        try keychain.set(.generic("a"), "new")
        #expect(try keychain.items(.exact("a")).map(\.reference) == [other.reference])
        #expect(try keychain.value(.exact("a", group: "two")) == "new")
        try keychain.add(.generic("a"), "old")
        try keychain.set(.generic("a"), "newer")
        for group in ["one", "two"] as [AccessGroup] {
            #expect(try keychain.value(.exact("a", group: group)) == "newer")
        }
        try keychain.set(.generic("a").inGroup("one"), "newest")
        #expect(try keychain.value(.exact("a", group: "one")) == "newest")
        #expect(try keychain.value(.exact("a", group: "two")) == "newer")
    }

    @Test func `Setting an item does not change one of another class in another group`() throws {
        try keychain.add(.generic("a", as: .afterFirstUnlock).inGroup("two"), "old")
        try keychain.set(.generic("a"), "new")
        #expect(try keychain.value(.exact("a", group: "one")) == "new")
        #expect(try keychain.value(.exact("a", group: "two")) == "old")
        // The item of the right class is changed; the other one is in the way of nothing.
        try keychain.set(.generic("a", as: .afterFirstUnlock), "newer")
        #expect(try keychain.value(.exact("a", group: "one")) == "new")
        #expect(try keychain.value(.exact("a", group: "two")) == "newer")
    }

    @Test func `Setting an item without a value removes its value`() throws {
        try keychain.add(.generic("a"), "old")
        try keychain.store.set(Addition(.generic("a"), value: nil), for: keychain.caller)
        #expect(try keychain.value(.exact("a")) == nil)
        #expect(try keychain.item(.exact("a"))?.valueByteCount == nil)
    }

    @Test func `Setting an item replaces a tombstone`() throws {
        let old = try keychain.add(.generic("a", isSynchronizable: true))
        try keychain.delete(.exact("a", .any))
        try keychain.set(.generic("a", isSynchronizable: true), "new")
        let item = try #require(try keychain.item(.exact("a", .synchronizedOnly)))
        #expect(item.text == "new")
        #expect(item.reference != old.reference)
    }
}
