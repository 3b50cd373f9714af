// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// spec/secitem.md §6.
@Suite struct `Updating items` {
    let keychain = TestKeychain()

    @Test func `An update changes what is given and keeps the rest`() throws {
        let old = try keychain.add(.generic("a", [.label: .text("l")]), "v")
        try keychain.update(.exact("a"), ItemChanges(attributes: [.comment: .text("c")]))
        let item = try #require(try keychain.item(.exact("a")))
        #expect(item.attributes[.label] == .text("l"))
        #expect(item.attributes[.comment] == .text("c"))
        #expect(item.text == "v")
        #expect(item.reference == old.reference)
    }

    @Test func `An update changes every item that matches`() throws {
        for name in ["a", "b", "c"] { try keychain.add(.generic(name, service: "s")) }
        try keychain.add(.generic("d", service: "t"))
        let query = ItemQuery(.genericPassword, attributes: [.service: .text("s")])
        #expect(try keychain.update(query, ItemChanges(), "new") == 3)
        #expect(try keychain.items(.generic()).filter { $0.text == "new" }.count == 3)
        #expect(try keychain.value(.exact("d", service: "t")) == "value")
    }

    @Test func `An update finds items by the attributes that it changes`() throws {
        try keychain.add(.generic("a", [.label: .text("old")]))
        try keychain.update(.exact("a"), ItemChanges(attributes: [.label: .text("new")]))
        #expect(try keychain.accounts(.generic([.label: .text("new")])) == ["a"])
        #expect(try keychain.accounts(.generic([.label: .text("old")])) == [])
        #expect(keychain.damage() == [])
    }

    @Test func `An update reports that nothing matches`() throws {
        try keychain.add(.generic("a"))
        #expect(failure { try keychain.update(.exact("b"), ItemChanges()) } == .itemNotFound)
    }

    @Test func `An update may give the key another name`() throws {
        let old = try keychain.add(.generic("a"), "v")
        try keychain.update(.exact("a"), ItemChanges(attributes: [.account: .text("b")]))
        #expect(failure { _ = try keychain.value(.exact("a")) } == .itemNotFound)
        #expect(try keychain.value(.exact("b")) == "v")
        #expect(try keychain.item(.exact("b"))?.reference == old.reference)
        #expect(keychain.damage() == [])
    }

    @Test func `An update may give an item the key that it has`() throws {
        try keychain.add(.generic("a"), "v")
        try keychain.update(.exact("a"), ItemChanges(attributes: [.account: .text("a")]), "new")
        #expect(try keychain.value(.exact("a")) == "new")
    }

    @Test func `An update refuses a key that is taken`() throws {
        try keychain.add(.generic("a"), "va")
        try keychain.add(.generic("b"), "vb")
        let changes = ItemChanges(attributes: [.account: .text("b"), .label: .text("l")])
        #expect(failure { try keychain.update(.exact("a"), changes, "x") } == .duplicateItem)
        #expect(try keychain.value(.exact("a")) == "va")
        #expect(try keychain.value(.exact("b")) == "vb")
        #expect(try keychain.items(.generic([.label: .text("l")])).isEmpty)
    }

    // Promise: 13.12
    @Test func `An update changes nothing if two items would become one`() throws {
        for name in ["a", "b", "c"] { try keychain.add(.generic(name), name) }
        let changes = ItemChanges(attributes: [.account: .text("x")])
        #expect(failure { try keychain.update(.generic(), changes, "x") } == .duplicateItem)
        #expect(try keychain.accounts(.generic()) == ["a", "b", "c"])
        #expect(try keychain.items(.generic()).map(\.text) == ["a", "b", "c"])
    }

    @Test func `An update moves items to another group of the caller`() throws {
        try keychain.add(.generic("a"), "v")
        try keychain.update(.exact("a"), ItemChanges(accessGroup: "two"))
        #expect(try keychain.item(.exact("a"))?.accessGroup == "two")
        #expect(try keychain.value(.exact("a", group: "two")) == "v")
        #expect(failure { _ = try keychain.value(.exact("a", group: "one")) } == .itemNotFound)
        let changes = ItemChanges(accessGroup: "stranger")
        #expect(failure { try keychain.update(.exact("a"), changes) } == .missingEntitlement)
    }

    @Test(arguments: ProtectionClass.allCases.dropLast())
    func `An update changes the protection class`(_ protectionClass: ProtectionClass) throws {
        try keychain.add(.generic("a", as: .afterFirstUnlock), "v")
        try keychain.update(.exact("a"), ItemChanges(protectionClass: protectionClass))
        #expect(try keychain.item(.exact("a"))?.protectionClass == protectionClass)
        #expect(try keychain.value(.exact("a")) == "v")
        #expect(keychain.damage() == [])
    }

    // Promise: 3.4
    @Test func `An update to the passcode class is refused without a passcode`() throws {
        try keychain.add(.generic("a"), "v")
        let changes = ItemChanges(protectionClass: .whenPasscodeSetThisDeviceOnly)
        #expect(failure { try keychain.update(.exact("a"), changes) } == .passcodeNotSet)
        #expect(try keychain.value(.exact("a")) == "v")
    }

    @Test func `An update keeps an item without a value as it is`() throws {
        try keychain.add(.generic("a"), nil)
        try keychain.update(.exact("a"), ItemChanges(attributes: [.label: .text("l")]))
        #expect(try keychain.value(.exact("a")) == nil)
        try keychain.update(.exact("a"), ItemChanges(), "v")
        #expect(try keychain.value(.exact("a")) == "v")
    }

    @Test func `An update changes synchronized items only on request`() throws {
        try keychain.add(.generic("a"), "local")
        try keychain.add(.generic("a", isSynchronizable: true), "synced")
        try keychain.update(.exact("a"), ItemChanges(), "new")
        #expect(try keychain.value(.exact("a", .localOnly)) == "new")
        #expect(try keychain.value(.exact("a", .synchronizedOnly)) == "synced")
        #expect(try keychain.update(.exact("a", .any), ItemChanges(), "both") == 2)
    }

    @Test func `An update raises the version of the row`() throws {
        let item = try keychain.add(.generic("a"))
        for version in 2...5 {
            try keychain.update(.exact("a"), ItemChanges(), "same")
            #expect(try keychain.row(item).header.version == Int64(version))
        }
    }

    @Test func `An update changes an item with a view hint once`() throws {
        let item = try keychain.add(.generic("a", [.syncViewHint: .text("h")]), "v")
        var query = ItemQuery.exact("a")
        query.attributes[.syncViewHint] = .text("h")
        #expect(try keychain.update(query, ItemChanges(), "new") == 1)
        #expect(try keychain.row(item).header.version == 2)
        #expect(try keychain.delete(query) == 1)
    }
}

/// spec/secitem.md §2.5.
@Suite struct `The dates of an item` {
    let keychain = TestKeychain()

    private func dates() throws -> (creation: Double, modification: Double) {
        let item = try #require(try keychain.item(.generic()))
        return (
            try #require(item.date(.creationDate)), try #require(item.date(.modificationDate))
        )
    }

    /// A clock that goes on, stands still, or is put right by a little.
    @Test(arguments: [1, 0, -0.1])
    func `The dates of an item rise with every update`(_ seconds: Double) throws {
        try keychain.add(.generic("a"))
        var last = try dates()
        for _ in 0..<4 {
            keychain.clock.advance(seconds: seconds)
            try keychain.update(.exact("a"), ItemChanges(), "v")
            let now = try dates()
            #expect(now.creation == last.creation)
            #expect(now.modification >= last.modification + 0.0009)
            last = now
        }
    }

    /// A clock that goes back by minutes, by an hour, by ten years, and to before 1970.
    @Test(arguments: [-60, -3600, -315_360_000, -1_900_000_000])
    func `The dates of an item follow a clock that is set back`(_ seconds: Double) throws {
        let item = try keychain.add(.generic("a"))
        let row = try keychain.row(item)
        keychain.clock.advance(seconds: seconds)
        for write in 1...3 {
            keychain.clock.advance(seconds: 1)
            if write == 1 {
                try keychain.update(.exact("a"), ItemChanges(), "v")
            } else {
                try keychain.set(.generic("a"), "v")
            }
            #expect(try dates().modification == keychain.store.now.date)
        }
        #expect(try keychain.row(item).logicalTime >= row.logicalTime + 3)
    }

    // Promise: 13.14
    /// The first and last nanosecond that there is, and the first of the years of this format.
    @Test(arguments: [.min, .max, -9_223_372_036_000_000_000, 0] as [Int64])
    func `The dates of an item are taken from any clock`(_ nanoseconds: Int64) throws {
        keychain.clock.nanoseconds = nanoseconds
        try keychain.set(.generic("a"), "1")
        try keychain.set(.generic("a"), "2")
        let earliest = Double(Int64.min) / 1e9
        #expect(try dates().modification >= earliest)
        #expect(try dates().modification <= 8.3e9)
        keychain.clock.nanoseconds = 1_800_000_000_000_000_000
        try keychain.set(.generic("a"), "3")
        #expect(try dates().modification == keychain.store.now.date)
        #expect(try keychain.value(.exact("a")) == "3")
    }

    @Test func `The dates of an item rise with every setting`() throws {
        try keychain.set(.generic("a"), "1")
        let first = try dates()
        try keychain.set(.generic("a"), "2")
        let second = try dates()
        #expect(second.creation == first.creation)
        #expect(second.modification >= first.modification + 0.0009)
    }

    @Test func `The dates of an item are the present time when its key changes`() throws {
        try keychain.add(.generic("a"))
        let first = try dates()
        keychain.clock.advance(seconds: -10)
        try keychain.update(.exact("a"), ItemChanges(attributes: [.account: .text("b")]))
        #expect(try dates().modification == first.modification - 10)
    }

    @Test func `An item's creation date may be set and its modification date may not`() throws {
        try keychain.add(.generic("a"))
        keychain.clock.advance(seconds: 1)
        let changes = ItemChanges(attributes: [
            .creationDate: .date(5), .modificationDate: .date(6),
        ])
        try keychain.update(.exact("a"), changes)
        #expect(try dates().creation == 5)
        #expect(try dates().modification > 1000)
    }

    @Test func `The dates of an item find it exactly`() throws {
        let first = try keychain.add(.generic("a"))
        keychain.clock.advance(seconds: 1)
        try keychain.add(.generic("b"))
        let date = try #require(first.attributes[.creationDate])
        #expect(try keychain.accounts(.generic([.creationDate: date])) == ["a"])
        #expect(try keychain.accounts(.generic([.modificationDate: date])) == ["a"])
        #expect(try keychain.accounts(.generic([.creationDate: .date(0)])) == [])
        #expect(try keychain.update(.generic([.creationDate: date]), ItemChanges()) == 1)
        #expect(try keychain.delete(.generic([.creationDate: date])) == 1)
        #expect(try keychain.accounts(.generic()) == ["b"])
    }

    @Test(arguments: [1, 0, -3600])
    func `The dates of an item come with a logical time that rises`(_ seconds: Double) throws {
        let item = try keychain.add(.generic("a", isSynchronizable: true))
        var last = try keychain.row(item).logicalTime
        for _ in 0..<4 {
            keychain.clock.advance(seconds: seconds)
            try keychain.update(.exact("a", .any), ItemChanges())
            let now = try keychain.row(item).logicalTime
            #expect(now > last)
            last = now
        }
    }
}
