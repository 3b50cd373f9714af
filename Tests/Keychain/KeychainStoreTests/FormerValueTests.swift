// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// A keychain that a person and programs use: docs/FORMAT.md §8.
struct History {
    let epochs = TestKeychain()

    var keychain: TestKeychain { epochs }
    var store: ItemStore { epochs.store }
    var program: Caller { epochs.caller }
    /// Keeps what it changes, as the verbs of the command do.
    var person: Caller {
        var caller = program
        caller.keepsHistory = true
        return caller
    }

    func set(
        _ values: String..., name: String = "a", as protectionClass: ProtectionClass = .whenUnlocked
    ) throws {
        for value in values {
            let item = NewItem.generic(name, as: protectionClass)
            try store.set(Addition(item, value: .text(value)), for: person)
        }
    }

    func limit(_ number: Int) throws {
        var caller = Caller(applicationIdentifier: "app", accessGroups: ["valet.settings"])
        caller.keepsHistory = true
        let value = SecretValue.text("\(number)")
        try store.set(Addition(KeychainSetting.history.item, value: value), for: caller)
    }

    func former(_ name: String = "a") throws -> [FormerItem] {
        try store.formerItems([.exact(name)], for: program)
    }

    /// The former values, the last one first; "damaged" for a damaged one.
    func values(_ name: String = "a") throws -> [String] {
        try former(name).map { former in
            guard former.item != nil else { return "damaged" }
            return try store.formerValue(former).map {
                String(decoding: $0.value.array, as: UTF8.self)
            } ?? ""
        }
    }

    /// The item without its value, which may need the user.
    func item(_ name: String = "a") throws -> StoredItem? {
        do throws(KeychainFailure) {
            let found = try store.copy(
                .exact(name), .attributes, for: program, PresenceAccess(.naming))
            guard case .found(let items) = found else { return nil }
            return try items.items.first
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return nil
        }
    }

    /// What the verb `undo` does.
    func undo(_ number: Int = 1, _ name: String = "a") throws {
        try store.restore([former(name)[number - 1]], over: item(name)?.version, for: person)
    }

    func guarded(_ value: String, name: String = "a") throws {
        let accessControl = try TestKeychain.accessControl(.devicePasscode)
        let item = TestKeychain.item(name, accessControl)
        try store.set(Addition(item, value: .text(value)), for: program)
    }

    func setPasscode() throws {
        try store.keychain.setPasscode(TestKeychain.passcode(TestKeychain.passcode))
    }

    /// The values of the present items, as their owner reads them.
    func present(_ name: String = "a") throws -> Reading {
        epochs.read(name, try epochs.passcodeProof())
    }

    /// What sync does when another device replaces a value.
    func replaced(_ values: String...) throws {
        for value in values {
            _ = try store.writeRows("join") { (rows) throws(KeychainFailure) in
                let item = NewItem.generic("a").inGroup("one")
                let content = ItemContent(
                    accessGroup: "one", attributes: item.attributes,
                    valueByteCount: value.utf8.count)
                try rows.keepReplaced(
                    item.itemClass, RowKind(protectionClass: item.protectionClass, flags: []),
                    rows.hashed(content, item.itemClass, []), value: .text(value))
            }
        }
    }

    func column(_ sql: StaticString) throws -> Int64 { try keychain.number(sql) }
}

@Suite struct `Former values of an item` {
    private let history = History()

    /// Dates follow a clock that is corrected, and the order does not.
    @Test func `The last values are kept after a clock that was ahead`() throws {
        let clock = history.keychain.clock
        let now = clock.nanoseconds
        clock.advance(seconds: 31_536_000)
        try history.set("ahead 1", "ahead 2", "ahead 3", "ahead 4")
        clock.nanoseconds = now
        try history.set("1", "2", "3")
        #expect(try history.values() == ["2", "1", "ahead 4"])
    }

    @Test func `A row from the end of time does not stop writers`() throws {
        try history.set("1", "2")
        try history.keychain.tamper("UPDATE former SET kept = 9223372036854775807")
        try history.set("3", "4")
        #expect(try history.values() == ["damaged", "3", "2"])
    }

    @Test func `A former value that is locked is in the way of nothing`() throws {
        try history.setPasscode()
        try history.set("1", "2", "3", "4")
        try history.epochs.update(.exact("a"), ItemChanges(protectionClass: .afterFirstUnlock))
        try history.store.keychain.lock(all: false)
        try history.set("5", "6", "7", as: .afterFirstUnlock)
        #expect(try history.epochs.value("a") == "7")
        #expect(try history.values() == ["6", "5", "4"])
        #expect(history.keychain.damage() == [])
    }

    @Test func `A value that is removed while it is locked comes back`() throws {
        try history.setPasscode()
        try history.set("1")
        try history.store.keychain.lock()
        #expect(try history.store.delete(.exact("a"), for: history.person) == 1)
        #expect(failure { _ = try history.former() } == .locked)
        try history.store.keychain.unlock(TestKeychain.passcode(TestKeychain.passcode))
        try history.undo()
        #expect(try history.epochs.value("a") == "1")
    }

    @Test func `An item that comes back is the same item`() throws {
        try history.set("1")
        let before = try #require(try history.item())
        try history.store.delete(.exact("a"), for: history.person)
        try history.set("other", name: "b")
        try history.undo()
        let after = try #require(try history.item())
        #expect(after.reference == before.reference)
        #expect(try history.epochs.value("a") == "1")
        #expect(after.attributes == before.attributes)
        #expect(try history.values() == [])
        #expect(history.keychain.damage() == [])
    }

    @Test func `Two items that had one name change places`() throws {
        try history.set("old")
        try history.store.delete(.exact("a"), for: history.person)
        try history.set("new")
        for expected in ["old", "new", "old"] {
            try history.undo()
            #expect(try history.epochs.value("a") == expected)
            #expect(try history.values().count == 1)
        }
        #expect(history.keychain.damage() == [])
    }

    // Promise: 16.3
    @Test func `The present value is kept although the setting keeps none`() throws {
        try history.set("old", "present")
        try history.limit(0)
        try history.undo()
        #expect(try history.epochs.value("a") == "old")
        #expect(try history.values() == ["present"])
        try history.undo()
        #expect(try history.epochs.value("a") == "present")
    }

    // Promise: 16.3
    @Test func `A value that needs the user is not replaced`() throws {
        try history.setPasscode()
        try history.set("plain 1", "plain 2")
        try history.guarded("guarded")
        #expect(failure { try history.undo() } == .interactionNotAllowed)
        #expect(try history.present() == .value("guarded"))
        #expect(history.epochs.read("a").isDemand)
        #expect(try history.values() == ["plain 1"])
    }

    // Promise: 16.3
    @Test func `A value that needs the user is kept, and comes back as it was`() throws {
        try history.setPasscode()
        try history.guarded("guarded")
        try history.store.delete(.exact("a"), for: history.person)
        // Its number is not given again: the value opens under that number alone.
        try history.set("next", name: "b")
        let former = try #require(try history.former().first)
        #expect(
            failure { _ = try history.store.formerValue(former) }
                == .interactionNotAllowed)
        try history.undo()
        #expect(history.epochs.read("a").isDemand)
        #expect(try history.present() == .value("guarded"))
        #expect(history.keychain.damage() == [])
    }

    @Test func `A value that needs the user stays beside the value that replaced it`() throws {
        try history.setPasscode()
        try history.guarded("guarded")
        try history.store.delete(.exact("a"), for: history.person)
        try history.set("plain")
        try history.undo()
        #expect(try history.present() == .value("guarded"))
        try history.undo()
        #expect(try history.epochs.value("a") == "plain")
    }

    @Test func `A deletion says whether the value is kept`() throws {
        try history.setPasscode()
        try history.guarded("guarded")
        let transfer = { ItemTransfer(deletions: [try #require(try history.item()).version]) }
        #expect(try history.store.perform(transfer(), for: history.person) == 1)
        try history.undo()
        try history.limit(0)
        #expect(try history.store.perform(transfer(), for: history.person) == 0)
    }

    @Test func `The newest replaced values are kept, and the oldest of 30 days`() throws {
        try history.set("mine")
        try history.replaced("first", "2", "3", "3", "4", "5")
        #expect(try history.values() == ["5", "4", "3", "first"])
        try history.set("mine, too")
        #expect(try history.values() == ["mine", "5", "4", "first"])
        history.keychain.clock.advance(seconds: 31 * 86_400)
        try history.replaced("6")
        #expect(try history.values() == ["6", "mine", "5"])
        try history.limit(0)
        try history.replaced("7", "8")
        #expect(try history.values() == ["6"])
        #expect(try history.former().map(\.reason) == [.replaced])
    }

    @Test func `A damaged row counts as a former value, and is never given out`() throws {
        try history.set("1", "2")
        try history.keychain.tamper("UPDATE item SET names = zeroblob(72)")
        try history.set("3", "4", "5")
        #expect(try history.values() == ["4", "3", "damaged"])
        let damaged = try history.former()[2]
        #expect(damaged.reason == .damaged)
        #expect(
            failure { try history.store.restore([damaged], for: history.person) }
                == .damaged)
        try history.set("6")
        #expect(try history.values() == ["5", "4", "3"])
    }

    // Promise: 16.5
    @Test(
        arguments: [
            "UPDATE former SET kept = kept + 1", "UPDATE former SET reason = 2",
            "UPDATE former SET reason = 9", "UPDATE former SET seal = NULL",
            "UPDATE former SET names = zeroblob(72)", "UPDATE former SET secret = zeroblob(72)",
        ] as [StaticString])
    func `A changed former row is damaged, and says so in its place`(_ sql: StaticString) throws {
        try history.set("1", "2")
        try history.keychain.tamper(sql)
        try history.set("3")
        #expect(try history.values() == ["2", "damaged"])
        #expect(history.keychain.damage().count == 1)
        #expect(failure { try history.undo(2) } == .damaged)
        #expect(try history.epochs.value("a") == "3")
    }

    @Test func `Former values follow a key change, those that need the user too`() throws {
        try history.setPasscode()
        try history.set("1", "2")
        try history.guarded("guarded", name: "b")
        try history.store.delete(.exact("b"), for: history.person)
        try history.store.keychain.rotateKeys(TestKeychain.passcode(TestKeychain.passcode))
        #expect(try history.values() == ["1"])
        #expect(try history.former("b").map(\.reason) == [.removed])
        #expect(history.keychain.damage() == [])
        try history.undo(1, "b")
        #expect(try history.present("b") == .value("guarded"))
        try history.store.delete(.exact("b"), for: history.person)
        try history.store.keychain.removePasscode(TestKeychain.passcode(TestKeychain.passcode))
        #expect(try history.former("b").isEmpty)
        #expect(try history.values() == ["1"])
    }

    @Test func `A damaged former value stops a key change, or is set aside`() throws {
        try history.set("1", "2")
        try history.keychain.tamper("UPDATE former SET names = zeroblob(72)")
        #expect(failure { try history.store.keychain.rotateKeys(nil) } == .damaged)
        let options = KeyChangeOptions(skippingDamaged: true)
        #expect(try history.store.keychain.rotateKeys(nil, options).setAsideCount == 1)
        #expect(try history.store.keychain.status().quarantinedRowCount == 1)
        #expect(history.keychain.damage() == [])
        #expect(try history.store.keychain.rotateKeys(nil).setAsideCount == 0)
    }

    @Test func `A repair keeps former values`() throws {
        try history.set("1", "2")
        _ = try history.store.keychain.repairIndexes()
        #expect(try history.values() == ["1"])
        try history.keychain.tamper("DELETE FROM item")
        #expect(try history.values() == ["1"])
    }
}

/// docs/FORMAT.md §8, *Moves*.
@Suite struct `Former values of an item that moves` {
    private let history = History()

    private func rename(_ name: String, to new: String) throws {
        try history.epochs.update(
            .exact(name), ItemChanges(attributes: [.account: .text(new)]))
    }

    // Promise: 16.4
    @Test func `Former values take the new name, and a purge leaves none`() throws {
        try history.set("1", "2", "3")
        try rename("a", to: "b")
        #expect(try history.values() == [])
        #expect(try history.values("b") == ["2", "1"])
        try history.undo(1, "b")
        #expect(try history.epochs.value("b") == "2")
        let item = try #require(try history.item("b"))
        try history.store.purge([item.version], [], for: history.person)
        #expect(try history.column("SELECT count(*) FROM former") == 0)
        #expect(try history.store.keychain.status().itemCount == 0)
    }

    // Promise: 16.2
    @Test func `A purge of former values alone refuses those of an item`() throws {
        try history.set("1", "2")
        let former = try history.former()
        let failure = #expect(throws: KeychainFailure.self) {
            try history.store.purge([], former, for: history.person)
        }
        #expect(failure?.code == .duplicateItem)
        #expect(try history.values() == ["1"])
        let item = try #require(try history.item())
        try history.store.purge([item.version], former, for: history.person)
        #expect(try history.column("SELECT count(*) FROM former") == 0)
    }

    // Promise: 16.2
    @Test func `A purge that searches deletes what is chosen, in the same transaction`() throws {
        try history.set("1", "2")
        let queries = [ItemQuery.exact("a")]
        let found = try history.store.purge(queries, former: queries, for: history.person) { _ in
            ([], [])
        }
        #expect(try found.items.items.count == 1)
        #expect(found.former.count == 1)
        #expect(try history.values() == ["1"])
        _ = try history.store.purge(queries, former: queries, for: history.person) { found in
            ((try? found.items.items) ?? [], found.former)
        }
        #expect(try history.item() == nil)
        #expect(try history.column("SELECT count(*) FROM former") == 0)
    }

    @Test func `Former values of a program's move go to the other group`() throws {
        try history.set("1", "2")
        _ = try history.store.update(
            .exact("a"), ItemChanges(accessGroup: "two"), value: nil,
            for: Caller(applicationIdentifier: "app", accessGroups: ["one", "two"]))
        let one = Caller(applicationIdentifier: "app", accessGroups: ["one"])
        #expect(try history.store.formerItems([.exact("a")], for: one).isEmpty)
        let other = Caller(applicationIdentifier: "app", accessGroups: ["two"])
        #expect(try history.store.formerItems([.exact("a")], for: other).count == 1)
    }

    // Promise: 16.4
    @Test(
        arguments: zip(
            [ProtectionClass.afterFirstUnlock, .whenUnlocked, .whenUnlocked, .always],
            [
                ProtectionClass.whenUnlocked, .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly,
                .whenUnlockedThisDeviceOnly,
            ]))
    func `A former value is never weaker than it was, nor than the item`(
        _ old: ProtectionClass, _ new: ProtectionClass
    ) throws {
        try history.set("1", "2", as: old)
        try history.epochs.update(.exact("a"), ItemChanges(protectionClass: new))
        let kept = try #require(try history.former().first?.item).protectionClass
        #expect(kept.isClosedWhileLocked == (old.isClosedWhileLocked || new.isClosedWhileLocked))
        #expect(kept.isThisDeviceOnly == (old.isThisDeviceOnly || new.isThisDeviceOnly))
        #expect(try history.values() == ["1"])
        #expect(history.keychain.damage() == [])
    }

    // Promise: 16.4
    @Test func `The value of a weaker class is not readable while the new one is locked`() throws {
        try history.setPasscode()
        try history.set("secret", "other", "secret", as: .afterFirstUnlock)
        try history.epochs.update(.exact("a"), ItemChanges(protectionClass: .whenUnlocked))
        try history.store.keychain.lock()
        #expect(failure { _ = try history.values() } == .locked)
    }

    @Test func `A former value that needs the user stays, and a purge removes it`() throws {
        try history.setPasscode()
        try history.guarded("guarded 1")
        try history.set("guarded 2")
        // Its program gives up the access control.
        let update = ItemUpdate(
            query: .exact("a"), changes: ItemChanges(protectionClass: .whenUnlocked), value: nil)
        let proof = try history.epochs.passcodeProof()
        _ = try history.store.update(
            update, for: history.program, PresenceAccess(.demanding, proof: proof))
        #expect(try history.epochs.value("a") == "guarded 2")
        try rename("a", to: "b")
        #expect(try history.former().count == 1 && history.former("b").isEmpty)
        let item = try #require(try history.item("b"))
        try history.store.purge([item.version], [], for: history.person)
        #expect(try history.column("SELECT count(*) FROM former") == 0)
    }

    @Test func `A former value whose item lives on under another name is not lost`() throws {
        try history.setPasscode()
        try history.guarded("guarded 1")
        try history.set("guarded 2")
        let update = ItemUpdate(
            query: .exact("a"), changes: ItemChanges(protectionClass: .whenUnlocked), value: nil)
        let proof = try history.epochs.passcodeProof()
        _ = try history.store.update(
            update, for: history.program, PresenceAccess(.demanding, proof: proof))
        try rename("a", to: "b")
        #expect(failure { try history.undo() } == .interactionNotAllowed)
        #expect(try history.epochs.value("b") == "guarded 2")
        #expect(try history.former().count == 1)
    }
}
