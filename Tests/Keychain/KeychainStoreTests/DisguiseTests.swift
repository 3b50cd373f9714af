// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

// Promise: 1.5
/// Columns that nobody has vouched for before the names in the row are open.
@Suite struct `A row that says it is another sort of item` {
    struct Disguise: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let sql: StaticString

        init(_ name: String, _ sql: StaticString) {
            (testDescription, self.sql) = (name, sql)
        }

        static let all = [
            Disguise("class", "UPDATE item SET class = 2 WHERE number = ?1"),
            Disguise("protection", "UPDATE item SET protection = 2 WHERE number = ?1"),
            Disguise("synchronizable", "UPDATE item SET flags = 1 WHERE number = ?1"),
            Disguise("tombstone", "UPDATE item SET flags = 2 WHERE number = ?1"),
            Disguise("presence", "UPDATE item SET flags = 256 WHERE number = ?1"),
            Disguise("password", "UPDATE item SET flags = 1024 WHERE number = ?1"),
        ]
    }

    static let service = PasswordService(
        service: "service", accessGroup: nil, isSynchronizable: false,
        protectionClass: .whenUnlocked)

    let keychain = TestKeychain()
    let one: StoredItem
    private var store: ItemStore { keychain.store }
    private var caller: Caller { keychain.caller }

    init() throws {
        one = try keychain.add(.generic("one", [.label: .text("l")]))
        try keychain.add(.generic("two"))
    }

    /// Searches that lead to item one in different ways, for local items of its class alone.
    private static let queries: [ItemQuery] = {
        let attributes: [ItemAttributes] = [
            [.account: .text("one"), .service: .text("service")], [.account: .text("one")],
            [.label: .text("l")], [.label: .text("l"), .service: .text("service")],
        ]
        return attributes.map { attributes in
            var query = ItemQuery.generic(attributes, .localOnly)
            query.protectionClass = .whenUnlocked
            return query
        }
    }()

    // Promise: 1.5
    @Test(arguments: Disguise.all)
    func `A row with another sort of item is damaged whatever leads to it`(_ disguise: Disguise)
        throws
    {
        try keychain.tamper(disguise.sql, one.parameter)
        for query in Self.queries + [ItemQuery(one.reference)] {
            #expect(failure { _ = try keychain.items(query) } == .damaged)
            #expect(failure { _ = try store.contains(query, for: caller) } == .damaged)
            #expect(failure { try keychain.update(query, ItemChanges(), "new") } == .damaged)
        }
        #expect(try keychain.value(named: "two") == "value")
    }

    // Promise: 1.5
    @Test(arguments: Disguise.all)
    func `A row with another sort of item is reported in a search for several`(_ disguise: Disguise)
        throws
    {
        try keychain.tamper(disguise.sql, one.parameter)
        for attributes: ItemAttributes in [[:], [.service: .text("service")]] {
            var query = ItemQuery.generic(attributes, .localOnly)
            query.protectionClass = .whenUnlocked
            let found = try store.copy(query, .attributes, for: caller).parts
            #expect(found.items.map(\.account) == ["two"])
            #expect(found.damage?.code == .damaged)
        }
        let accounts = try store.accounts(of: Self.service, for: caller).parts
        #expect(accounts.items == [.text("two")])
        #expect(accounts.damage?.code == .damaged)
        let several = failure {
            _ = try store.values(of: ["one", "two"], in: Self.service, for: caller)
        }
        #expect(several == .damaged)
    }

    @Test func `A row with another sort of item counts as one if its names say so`() throws {
        try keychain.add(.generic("other", as: .afterFirstUnlock))
        try keychain.add(.generic("synchronized", isSynchronizable: true))
        try keychain.add(.generic("gone", isSynchronizable: true))
        try keychain.delete(.exact("gone", .any))
        for account in ["other", "synchronized", "gone"] {
            var query = ItemQuery.exact(account)
            query.protectionClass = .whenUnlocked
            #expect(failure { _ = try keychain.value(query) } == .itemNotFound)
            #expect(failure { _ = try keychain.value(named: account) } == .itemNotFound)
            #expect(try !store.contains(query, for: caller))
        }
        var all = ItemQuery.generic([:], .localOnly)
        all.protectionClass = .whenUnlocked
        let found = try store.copy(all, [.attributes, .value], for: caller).parts
        #expect(found.items.map(\.account) == ["one", "two"] && found.damage == nil)
        let accounts = try store.accounts(of: Self.service, for: caller).parts
        #expect(accounts.items.count == 2 && accounts.damage == nil)
    }
}

@Suite struct `A row that says it is another sort of item, in a locked keychain` {
    private let epochs = TestKeychain()
    private var store: ItemStore { epochs.store }

    private func value(_ account: String, as protectionClass: ProtectionClass) throws {
        var query = ItemQuery.exact(account)
        query.protectionClass = protectionClass
        _ = try store.value(of: query, for: epochs.caller)
    }

    /// What is locked cannot be looked into, and items of other classes are no reason to ask.
    @Test
    func `A row with another sort of item in a locked keychain is found out after the unlock`()
        throws
    {
        try store.keychain.setPasscode(TestKeychain.passcode("the passcode"))
        try epochs.addItems([.whenUnlocked, .afterFirstUnlock])
        try store.keychain.lock(all: false)
        #expect(failure { try value("whenUnlocked", as: .afterFirstUnlock) } == .itemNotFound)
        // An epoch that the keychain does not have has no key at all.
        try epochs.tamper("UPDATE item SET epoch = epoch + 9 WHERE protection = 2")
        #expect(
            failure { try value("afterFirstUnlock", as: .afterFirstUnlock) } == .damaged)
        try epochs.tamper(
            "UPDATE item SET epoch = epoch - 9, protection = 1 WHERE protection = 2")
        #expect(
            failure { try value("afterFirstUnlock", as: .afterFirstUnlock) } == .itemNotFound)
        try store.keychain.unlock(TestKeychain.passcode("the passcode"))
        #expect(
            failure { try value("afterFirstUnlock", as: .afterFirstUnlock) } == .damaged)
    }
}
