// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite struct `Moving items` {
    let keychain = TestKeychain()

    private func move(_ items: [NewItem], _ versions: [ItemVersion]) throws {
        let additions = items.map { Addition($0, value: .text("moved")) }
        try keychain.store.perform(
            ItemTransfer(additions: additions, deletions: versions), for: keychain.caller)
    }

    @Test func `Moving items adds and deletes at once`() throws {
        let old = try keychain.add(.generic("a"))
        try move([.generic("b"), .generic("c")], [old.version])
        #expect(try keychain.accounts(.generic()) == ["b", "c"])
    }

    @Test func `Moved items may take the names of those that go`() throws {
        let old = [try keychain.add(.generic("a")), try keychain.add(.generic("b"))]
        try move([.generic("b"), .generic("a")], old.map(\.version))
        #expect(try keychain.accounts(.generic()).sorted() == ["a", "b"])
        #expect(try keychain.value(.exact("a")) == "moved")
    }

    @Test func `Moving items does nothing if one of them exists at the destination`() throws {
        let old = try keychain.add(.generic("a"))
        try keychain.add(.generic("b"))
        let call = { try move([.generic("c"), .generic("b")], [old.version]) }
        #expect(failure(call) == .duplicateItem)
        #expect(try keychain.accounts(.generic()).sorted() == ["a", "b"])
    }

    // Promise: 13.12
    @Test func `Moving items does nothing if a source is gone`() throws {
        let old = try keychain.add(.generic("a"))
        try keychain.delete(.exact("a"))
        #expect(failure { try move([.generic("b")], [old.version]) } == .itemNotFound)
        #expect(try keychain.accounts(.generic()) == [])
    }

    // Promise: 13.4
    @Test func `Moving items does not delete a value that was stored after the read`() throws {
        let old = try keychain.add(.generic("a"), "old")
        try keychain.update(.exact("a"), ItemChanges(), "newer")
        #expect(failure { try move([.generic("b")], [old.version]) } == .itemNotFound)
        #expect(try keychain.accounts(.generic()) == ["a"])
        #expect(try keychain.value(.exact("a")) == "newer")
    }
}

@Suite struct `Changing the class of items where they are` {
    let keychain = TestKeychain()

    private func change(
        _ items: [StoredItem], to protectionClass: ProtectionClass = .afterFirstUnlock,
        adding additions: [Addition] = []
    ) throws {
        let changes = items.map { item in
            var new = NewItem.generic(item.account ?? "", as: protectionClass)
            new.isSynchronizable = item.isSynchronizable
            return ItemTransfer.Change(item.version, to: new, value: .text("as it was read"))
        }
        try keychain.store.perform(
            ItemTransfer(additions: additions, changes: changes), for: keychain.caller)
    }

    @Test(arguments: [false, true])
    func `Changing the class of items keeps value, attributes, group and reference`(
        _ isSynchronizable: Bool
    ) throws {
        let item = NewItem.generic("a", [.label: .text("l")], isSynchronizable: isSynchronizable)
        let old = try keychain.add(item.inGroup("two"), "value")
        try change([old])
        let found = try keychain.items(.exact("a", .any))
        #expect(found.map(\.reference) == [old.reference])
        #expect(found.map(\.accessGroup) == ["two"])
        #expect(found.map(\.protectionClass) == [.afterFirstUnlock])
        #expect(found.map(\.isSynchronizable) == [isSynchronizable])
        #expect(found.first?.attributes[.label] == .text("l"))
        #expect(try keychain.value(.exact("a", .any)) == "value")
        #expect(try keychain.number("SELECT count(*) FROM item") == 1)
    }

    @Test func `Changing the class of an item without a value leaves it without one`() throws {
        let addition = Addition(.generic("a"), value: nil)
        let old = try keychain.store.add(addition, for: keychain.caller)
        try change([old])
        #expect(try keychain.item(.exact("a"))?.valueByteCount == nil)
        #expect(try keychain.item(.exact("a"))?.protectionClass == .afterFirstUnlock)
    }

    // Promise: 13.4
    @Test func `Changing the class of items does nothing if one of them has changed`() throws {
        let items = try ["a", "b"].map { try keychain.add(.generic($0), "value of \($0)") }
        try keychain.update(.exact("b"), ItemChanges(), "newer")
        #expect(failure { try change(items) } == .itemNotFound)
        let classes = try keychain.items(.generic()).map(\.protectionClass)
        #expect(classes == [.whenUnlocked, .whenUnlocked])
        #expect(try keychain.value(.exact("b")) == "newer")
    }

    @Test(arguments: `A damaged item`.damages)
    func `Changing the class of items does nothing if one of them is damaged`(_ sql: StaticString)
        throws
    {
        let items = try ["a", "b"].map { try keychain.add(.generic($0), "value of \($0)") }
        try keychain.tamper(sql, items[1].parameter)
        let code = failure { try change(items) }
        #expect(code == .damaged || code == .itemNotFound)
        #expect(try keychain.item(.exact("a"))?.protectionClass == .whenUnlocked)
        #expect(try keychain.store.keychain.status().quarantinedRowCount == 0)
    }

    @Test func `Changing the class of items does nothing if the class is not available`() throws {
        let old = try keychain.add(.generic("a"), "value")
        let call = { try change([old], to: .whenPasscodeSetThisDeviceOnly) }
        #expect(failure(call) == .passcodeNotSet)
        #expect(try keychain.value(.exact("a")) == "value")
    }

    @Test func `Changing the class of items does nothing if an addition exists already`() throws {
        let old = try keychain.add(.generic("a"), "value")
        try keychain.add(.generic("b"), "value")
        let addition = Addition(.generic("b"), value: .text("other"))
        #expect(failure { try change([old], adding: [addition]) } == .duplicateItem)
        #expect(try keychain.item(.exact("a"))?.protectionClass == .whenUnlocked)
    }
}

/// spec/secitem.md §10.
@Suite struct `Changing the class of items that need a person` {
    let epochs: TestKeychain

    init() throws { epochs = try TestKeychain.withPasscode() }

    /// The item, as a program sees it that asks nobody.
    private func version(_ account: String) throws -> ItemVersion {
        let access = PresenceAccess(.naming, enrolment: .known([]))
        let found = try epochs.store.get(
            epochs.store.copy(.exact(account), .attributes, for: epochs.caller, access))
        return try #require(found.items.first).version
    }

    private func change(_ account: String, _ item: NewItem, _ value: String?) throws {
        let version = try version(account)
        let change = ItemTransfer.Change(version, to: item, value: value.map(SecretValue.text))
        try epochs.store.perform(ItemTransfer(changes: [change]), for: epochs.caller)
    }

    @Test func `Changing the class of an item that needs the user keeps the value that was opened`()
        throws
    {
        try epochs.add("a", TestKeychain.accessControl(.devicePasscode))
        try change("a", .generic("a", as: .afterFirstUnlock), "value of a")
        #expect(try epochs.value("a") == "value of a")
        let item = try #require(try epochs.items(.exact("a")).first)
        #expect(item.accessControl == nil && item.protectionClass == .afterFirstUnlock)
    }

    @Test func `Changing the class of an item that needs the user requires its value`() throws {
        try epochs.add("a", TestKeychain.accessControl(.devicePasscode))
        let code = failure { try change("a", .generic("a", as: .afterFirstUnlock), nil) }
        #expect(code == .interactionNotAllowed)
        #expect(epochs.read("a", try epochs.passcodeProof()) == .value("value of a"))
    }

    @Test func `Changing the class of a plain item to an access control guards it`() throws {
        try epochs.add("a")
        let control = try TestKeychain.accessControl(
            .devicePasscode, as: .whenPasscodeSetThisDeviceOnly)
        try change("a", TestKeychain.item("a", control), nil)
        #expect(epochs.read("a") == .demanded([control]))
        #expect(epochs.read("a", try epochs.passcodeProof()) == .value("value of a"))
    }

    @Test func `Changing the class of an item that needs the user does nothing while it is locked`()
        throws
    {
        try epochs.add("a")
        let version = try version("a")
        try epochs.store.keychain.lock(all: false)
        let change = ItemTransfer.Change(
            version, to: .generic("a", as: .afterFirstUnlock), value: nil)
        let code = failure {
            try epochs.store.perform(ItemTransfer(changes: [change]), for: epochs.caller)
        }
        #expect(code == .locked)
        try epochs.store.keychain.unlock(TestKeychain.passcode(TestKeychain.passcode))
        #expect(try epochs.value("a") == "value of a")
    }
}

extension StoredItem {
    /// The item as it was read.
    var version: ItemVersion {
        ItemVersion(reference, modificationDate: date(.modificationDate))
    }
}
