// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// A change of a row that a disk can make. The row's indexes still lead to it.
struct RowDamage: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let sql: StaticString

    init(_ name: String, _ sql: StaticString) {
        (testDescription, self.sql) = (name, sql)
    }

    static let all = [
        RowDamage("names", "UPDATE item SET names = zeroblob(72) WHERE number = ?1"),
        RowDamage("salt", "UPDATE item SET salt = salt + 1 WHERE number = ?1"),
        RowDamage("unknown class", "UPDATE item SET protection = 99 WHERE number = ?1"),
        RowDamage("another class", "UPDATE item SET protection = 2 WHERE number = ?1"),
        RowDamage("a tombstone's flag", "UPDATE item SET flags = flags | 2 WHERE number = ?1"),
        RowDamage("hashes", "UPDATE item SET hashes = zeroblob(17) WHERE number = ?1"),
    ]
}

/// Damage does not decide which item a call takes: if a damaged row may be the wanted one, the
/// answer is "damaged".
@Suite struct `A damaged item beside a sound one of its name` {
    let keychain = TestKeychain()
    private var store: ItemStore { keychain.store }
    private let service = PasswordService(
        service: "service", accessGroup: nil, isSynchronizable: false,
        protectionClass: .whenUnlocked)

    private func damage(_ item: StoredItem, _ damage: RowDamage) throws {
        try keychain.tamper(damage.sql, item.parameter)
    }

    private func values(_ caller: Caller) throws -> String? {
        try store.values(of: ["a"], in: service, for: caller)["a"].map {
            String(decoding: $0.array, as: UTF8.self)
        }
    }

    // Promise: 14.2
    @Test(arguments: RowDamage.all)
    func `A damaged item in the first group does not make a search give that of another`(
        _ damage: RowDamage
    ) throws {
        let first = try keychain.add(.generic("a").inGroup("one"), "of one")
        try keychain.add(.generic("a").inGroup("two"), "of two")
        try self.damage(first, damage)
        #expect(failure { _ = try keychain.value(.exact("a")) } == .damaged)
        // Changed hashes do not keep a value from being read by its name.
        #expect((try? keychain.value(named: "a")) ?? "of one" == "of one")
        #expect(failure { _ = try values(keychain.caller) } == .damaged)
        #expect(failure { try keychain.update(.exact("a"), ItemChanges(), "new") } == .damaged)
        #expect(try keychain.value(.exact("a", group: "two")) == "of two")
    }

    // Promise: 14.2
    @Test(arguments: RowDamage.all)
    func `A damaged local item does not make a search give the shared one`(_ damage: RowDamage)
        throws
    {
        let local = try keychain.add(.generic("a"), "local")
        try keychain.add(.generic("a", isSynchronizable: true), "shared")
        try self.damage(local, damage)
        #expect(failure { _ = try keychain.value(.exact("a", .any)) } == .damaged)
        #expect(try keychain.value(.exact("a", .synchronizedOnly)) == "shared")
    }

    @Test(arguments: RowDamage.all)
    func `An item that comes before a damaged one is found`(_ damage: RowDamage) throws {
        try keychain.add(.generic("a").inGroup("one"), "of one")
        let second = try keychain.add(.generic("a").inGroup("two"), "of two")
        try self.damage(second, damage)
        #expect(try keychain.value(.exact("a")) == "of one")
        #expect(try keychain.value(named: "a") == "of one")
        #expect(try values(keychain.caller) == "of one")
    }

    @Test(arguments: RowDamage.all)
    func `Whether there is an item does not depend on a damaged one beside it`(_ damage: RowDamage)
        throws
    {
        let first = try keychain.add(.generic("a").inGroup("one"))
        try keychain.add(.generic("a").inGroup("two"))
        try self.damage(first, damage)
        #expect(try store.contains(.exact("a"), for: keychain.caller))
    }

    // Promise: 14.2
    @Test(arguments: RowDamage.all)
    func `A set replaces a damaged item of its own group and the values of others`(
        _ damage: RowDamage
    ) throws {
        let first = try keychain.add(.generic("a").inGroup("one"), "of one")
        try keychain.add(.generic("a").inGroup("two"), "of two")
        try self.damage(first, damage)
        try keychain.set(.generic("a"), "new")
        #expect(try keychain.value(named: "a") == "new")
        #expect(try keychain.value(.exact("a")) == "new")
        #expect(try keychain.value(.exact("a", group: "two")) == "new")
        #expect(try store.keychain.status().quarantinedRowCount == 1)
        #expect(keychain.damage() == [])
    }

    // Promise: 14.2
    @Test(arguments: RowDamage.all, [true, false])
    func `A set is found where a damaged item of another group comes first`(
        _ damage: RowDamage, _ hasThird: Bool
    ) throws {
        let caller = Caller(applicationIdentifier: "app", accessGroups: ["one", "two", "three"])
        func add(_ group: AccessGroup) throws -> StoredItem {
            let item = NewItem.generic("a").inGroup(group)
            return try store.add(Addition(item, value: .text("old")), for: caller)
        }
        let second = try add("two")
        if hasThird { _ = try add("three") }
        try self.damage(second, damage)
        try store.set(Addition(.generic("a"), value: .text("new")), for: caller)
        #expect(try values(caller) == "new")
        for group: AccessGroup in hasThird ? ["two", "three"] : ["two"] {
            let found = try store.value(of: .exact("a", group: group), for: caller)
            #expect(found?.array == Array("new".utf8))
        }
        // As if the item were sound: no new one is made in the caller's own group.
        #expect(
            failure { _ = try store.value(of: .exact("a", group: "one"), for: caller) }
                == .itemNotFound)
    }

    // Promise: 14.2
    @Test(arguments: RowDamage.all, [true, false])
    func `A replacement is found, or refused`(_ damage: RowDamage, _ isLocal: Bool) throws {
        let items = [false, true].map { NewItem.generic("a", isSynchronizable: $0) }
        let stored = try items.map { try keychain.add($0, "old") }
        try self.damage(stored[isLocal ? 0 : 1], damage)
        let versions: StaticString = "SELECT sum(version) FROM item"
        for item in items {
            let before = try keychain.number(versions)
            let code = failure {
                try store.replace(
                    .exact("a", .any), with: Addition(item, value: .text("new")),
                    for: keychain.caller)
            }
            if let code {
                #expect(code == .damaged)
                #expect(try keychain.number(versions) == before)
            } else {
                #expect(try keychain.value(.exact("a", .any)) == "new")
            }
        }
    }

    @Test(arguments: RowDamage.all)
    func `All services that have an item of a name are told, damaged or not`(_ damage: RowDamage)
        throws
    {
        let services = ["service", "other"].map {
            PasswordService(
                service: $0, accessGroup: nil, isSynchronizable: false,
                protectionClass: .whenUnlocked)
        }
        let first = try keychain.add(.generic("a"), "first")
        try keychain.add(.generic("a", service: "other"), "second")
        try self.damage(first, damage)
        let found = try store.services(having: "a", among: services, for: keychain.caller)
        #expect(found == services)
        let nothing = Placement("a", .text("new"), among: services) { _ in .nothing }
        #expect(try store.place(nothing, for: keychain.caller).found.count == 2)
    }
}

@Suite struct `A damaged item among several` {
    let keychain = TestKeychain()
    private var store: ItemStore { keychain.store }
    private let damaged: StoredItem

    init() throws {
        damaged = try keychain.add(.generic("a", [.label: .text("l")]))
        try keychain.add(.generic("b"))
    }

    // Promise: 14.2
    @Test(arguments: RowDamage.all)
    func `A search for one item fails if the first match is damaged`(_ damage: RowDamage) throws {
        try keychain.tamper(damage.sql, damaged.parameter)
        #expect(failure { _ = try keychain.value(.generic([:], .localOnly)) } == .damaged)
    }

    // Promise: 14.2
    @Test(arguments: RowDamage.all)
    func `A deletion that cannot tell whether a row matches deletes nothing`(_ damage: RowDamage)
        throws
    {
        try keychain.tamper(damage.sql, damaged.parameter)
        for query in [ItemQuery.exact("a"), .generic([:], .localOnly)] {
            let code = failure { try keychain.delete(query) }
            #expect(code == nil || code == .damaged)
            if code == nil {
                #expect(failure { _ = try keychain.value(query) } == .itemNotFound)
                return
            }
            #expect(try keychain.value(.exact("b")) == "value")
        }
    }

    // Promise: 14.3
    @Test(arguments: RowDamage.all)
    func `A damaged item is not reported as removed to watchers`(_ damage: RowDamage) throws {
        let service = PasswordService(
            service: "service", accessGroup: nil, isSynchronizable: false,
            protectionClass: .whenUnlocked)
        var accounts = try store.snapshot(of: service, for: keychain.caller)
        var items = ItemSnapshot<String>()
        _ = try store.changes(since: &items) { $0.account }
        try keychain.tamper(damage.sql, damaged.parameter)
        try keychain.set(.generic("b"), "new")
        let changed = try store.changes(since: &accounts, of: service, for: keychain.caller)
        #expect(changed == [.stored(.text("b"))])
        let changes = try store.changes(since: &items) { $0.account }
        guard case .changed("b")? = changes.first, changes.count == 1 else {
            Issue.record("\(changes)")
            return
        }
    }
}

/// What the Secret Service stores.
@Suite struct `A damaged item with lookup attributes` {
    let keychain = TestKeychain()
    private var store: ItemStore { keychain.store }
    private let lookup = LookupAttributes(["n": "1"])?.attributeValue ?? .bytes([])
    private let damaged: StoredItem

    init() throws {
        damaged = try keychain.add(.generic("a", [.lookupAttributes: lookup]))
    }

    // Promise: 14.2
    @Test(arguments: RowDamage.all)
    func `Storing by attributes adds no second item beside a damaged one`(_ damage: RowDamage)
        throws
    {
        try keychain.tamper(damage.sql, damaged.parameter)
        let item = NewItem.generic("new", [.lookupAttributes: lookup])
        let code = failure {
            _ = try store.replaceByLookup(
                Addition(item, value: .text("new")), for: keychain.caller)
        }
        #expect(code == .damaged)
        #expect(try keychain.number("SELECT count(*) FROM item") == 1)
    }
}
