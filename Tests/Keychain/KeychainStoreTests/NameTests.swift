// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// The fast path, which must answer as a search does.
@Suite struct `Reading by name` {
    let keychain = TestKeychain()

    private func service(
        _ service: String = "service", group: AccessGroup? = nil, isSynchronizable: Bool = false,
        as protectionClass: ProtectionClass = .whenUnlocked
    ) -> PasswordService {
        PasswordService(
            service: service, accessGroup: group, isSynchronizable: isSynchronizable,
            protectionClass: protectionClass)
    }

    @Test func `Reading by name returns what a search returns`() throws {
        try keychain.add(.generic("a"), "va")
        try keychain.add(.generic("a", service: "other"), "vo")
        try keychain.add(.generic("a", isSynchronizable: true), "vs")
        try keychain.add(.generic("b").inGroup("two"), "vb")
        try keychain.add(.generic("c", as: .afterFirstUnlock), "vc")
        for _ in 0..<2 {
            #expect(try keychain.value(named: "a") == "va")
            #expect(try keychain.value(named: "a", service: "other") == "vo")
            #expect(try keychain.value(named: "a", isSynchronizable: true) == "vs")
            #expect(try keychain.value(named: "b") == "vb")
            #expect(try keychain.value(named: "b", group: "two") == "vb")
            #expect(try keychain.value(named: "c", as: .afterFirstUnlock) == "vc")
            #expect(failure { _ = try keychain.value(named: "b", group: "one") } == .itemNotFound)
            #expect(failure { _ = try keychain.value(named: "c") } == .itemNotFound)
            #expect(failure { _ = try keychain.value(named: "d") } == .itemNotFound)
            #expect(
                failure { _ = try keychain.value(named: "a", group: "x") }
                    == .missingEntitlement)
        }
    }

    @Test func `Reading by name sees every change at once`() throws {
        #expect(failure { _ = try keychain.value(named: "a") } == .itemNotFound)
        try keychain.add(.generic("a"), "1")
        #expect(try keychain.value(named: "a") == "1")
        try keychain.set(.generic("a"), "2")
        #expect(try keychain.value(named: "a") == "2")
        try keychain.update(.exact("a"), ItemChanges(attributes: [.account: .text("b")]))
        #expect(failure { _ = try keychain.value(named: "a") } == .itemNotFound)
        #expect(try keychain.value(named: "b") == "2")
        try keychain.delete(.exact("b"))
        #expect(failure { _ = try keychain.value(named: "b") } == .itemNotFound)
    }

    /// spec/secitem.md §2.1: names compare byte by byte, and are not normalised.
    @Test(arguments: [
        ("é", "e\u{301}"), ("a\u{323}\u{307}", "a\u{307}\u{323}"), ("A", "a"), ("K", "\u{212A}"),
    ])
    func `Reading by name distinguishes names that look alike`(_ one: String, _ two: String) throws
    {
        try keychain.add(.generic(one), "1")
        #expect(try keychain.value(named: one) == "1")
        #expect(failure { _ = try keychain.value(named: two) } == .itemNotFound)
        try keychain.add(.generic(two), "2")
        try keychain.add(.generic("x", service: one), "3")
        try keychain.add(.generic("x", service: two), "4")
        for _ in 0..<2 {
            #expect(try keychain.value(named: one) == "1")
            #expect(try keychain.value(named: two) == "2")
            #expect(try keychain.value(named: "x", service: one) == "3")
            #expect(try keychain.value(named: "x", service: two) == "4")
        }
    }

    @Test func `Reading by name distinguishes groups that look alike`() throws {
        let item = NewItem.generic("a").inGroup("é")
        let (store, value) = (keychain.store, SecretValue.text("v"))
        let composed = Caller(applicationIdentifier: "x", accessGroups: ["é"])
        let decomposed = Caller(applicationIdentifier: "x", accessGroups: ["e\u{301}"])
        _ = try store.add(Addition(item, value: value), for: composed)
        #expect(failure { _ = try store.value(of: .exact("a"), for: decomposed) } == .itemNotFound)
        #expect(
            failure { _ = try store.value(of: .exact("a", group: "é"), for: decomposed) }
                == .missingEntitlement)
    }

    @Test func `Reading by name finds items with a view hint or a token`() throws {
        try keychain.add(.generic("a", [.tokenID: .text("t")]), "v")
        #expect(try keychain.value(named: "a") == "v")
        try keychain.add(.generic("a"), "plain")
        #expect(try keychain.value(named: "a") == "plain")
    }

    @Test func `Reading by name distinguishes an empty value from none`() throws {
        try keychain.add(.generic("empty"), "")
        try keychain.add(.generic("none"), nil)
        #expect(try keychain.value(named: "empty") == "")
        #expect(try keychain.value(named: "none") == nil)
    }

    @Test func `Reading by name tells whether there is an item`() throws {
        try keychain.add(.generic("a"), "v")
        try keychain.add(.generic("h", [.syncViewHint: .text("h")]))
        let (store, caller) = (keychain.store, keychain.caller)
        #expect(try store.contains(PasswordName("a", in: service()), for: caller))
        #expect(try store.contains(PasswordName("h", in: service()), for: caller))
        #expect(try !store.contains(PasswordName("b", in: service()), for: caller))
        let other = service(as: .afterFirstUnlock)
        #expect(try !store.contains(PasswordName("a", in: other), for: caller))
        let foreign = PasswordName("a", in: service(group: "foreign"))
        #expect(failure { _ = try store.contains(foreign, for: caller) } == .missingEntitlement)
    }

    @Test func `Reading by name never shows a tombstone`() throws {
        try keychain.add(.generic("a", isSynchronizable: true))
        try keychain.delete(.exact("a", .any))
        #expect(
            failure { _ = try keychain.value(named: "a", isSynchronizable: true) }
                == .itemNotFound)
        let name = PasswordName("a", in: service(isSynchronizable: true))
        #expect(try !keychain.store.contains(name, for: keychain.caller))
    }

    @Test func `Listing by name gives the accounts of a service`() throws {
        let names = ["b", "a", "é", "e\u{301}", ""]
        for name in names { try keychain.add(.generic(name)) }
        try keychain.add(.generic("x", service: "other"))
        try keychain.add(.generic("y", isSynchronizable: true))
        try keychain.add(.generic("z", as: .afterFirstUnlock))
        try keychain.add(.generic("", [.account: .number(7)]))
        try keychain.add(.generic("two").inGroup("two"))
        let found = try keychain.store.accounts(of: service(), for: keychain.caller).parts
        #expect(found.items == names.map(AttributeValue.text) + [.number(7), .text("two")])
        #expect(found.damage == nil)
        let none = try keychain.store.accounts(of: service("none"), for: keychain.caller)
        #expect(none.isEmpty)
    }

    @Test func `Listing by name gives accounts whose rows are scattered`() throws {
        var expected: [AttributeValue] = []
        for number in 0..<40 {
            try keychain.add(.generic("\(number)", service: number % 5 == 0 ? "other" : "service"))
            if number % 5 != 0, number % 7 != 0 { expected.append(.text("\(number)")) }
        }
        for number in stride(from: 0, to: 40, by: 7) where number % 5 != 0 {
            try keychain.delete(.exact("\(number)"))
        }
        let found = try keychain.store.accounts(of: service(), for: keychain.caller).parts
        #expect(found.items == expected)
        #expect(found.damage == nil)
    }

    @Test func `A long list has all accounts in the order of adding beside a damaged row`() throws {
        let names = (0..<700).map { "name \($0 * 7919 % 1000)" }
        for name in names { try keychain.add(.generic(name)) }
        try keychain.tamper("UPDATE item SET names = secret WHERE number = 300")
        let found = try keychain.store.accounts(of: service(), for: keychain.caller).parts
        let others = names[..<299] + names[300...]
        #expect(found.items == others.map(AttributeValue.text))
        #expect(found.damage?.code == .damaged)
    }

    /// An attacker may number rows as no writer does.
    @Test func `Listing by name works beside a row with the last number`() throws {
        for name in ["a", "b", "c"] { try keychain.add(.generic(name)) }
        try keychain.tamper("UPDATE item SET number = 9223372036854775807 WHERE number = 2")
        try keychain.tamper("UPDATE item SET number = -9223372036854775808 WHERE number = 1")
        let found = try keychain.store.accounts(of: service(), for: keychain.caller).parts
        #expect(found.items == [.text("c")])
        #expect(found.damage?.code == .damaged)
    }

    @Test(arguments: DamageOfNames.allCases)
    func `Listing by name gives the readable accounts and says that there are others`(
        _ damage: DamageOfNames
    ) throws {
        let item = try keychain.add(.generic("a"))
        try keychain.add(.generic("b"))
        try keychain.tamper(damage.sql, item.parameter)
        let found = try keychain.store.accounts(of: service(), for: keychain.caller).parts
        #expect(found.items == [.text("b")])
        #expect(found.damage?.code == .damaged)
    }

    enum DamageOfNames: CaseIterable {
        case names, salt, account, hashes, key

        var sql: StaticString {
            switch self {
            case .names: "UPDATE item SET names = secret WHERE number = ?1"
            case .salt: "UPDATE item SET salt = 0 WHERE number = ?1"
            case .account: "UPDATE item SET account_hash = zeroblob(16) WHERE number = ?1"
            case .hashes: "UPDATE item SET hashes = zeroblob(17) WHERE number = ?1"
            case .key: "UPDATE item SET epoch = 1000 WHERE number = ?1"
            }
        }
    }
}
