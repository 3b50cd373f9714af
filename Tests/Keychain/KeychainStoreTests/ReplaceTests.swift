// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite struct `Replacing what a query finds` {
    let keychain = TestKeychain()

    private func replace(
        _ query: ItemQuery, _ item: NewItem, _ value: String
    ) throws(KeychainFailure) {
        try keychain.store.replace(
            query, with: Addition(item, value: .text(value)), for: keychain.caller)
    }

    @Test func `Replacing a missing item adds it`() throws {
        try replace(.exact("a"), .generic("a"), "new")
        #expect(try keychain.value(.exact("a")) == "new")
    }

    @Test func `Replacing an item keeps its attributes, group and reference`() throws {
        let old = try keychain.add(.generic("a", [.label: .text("l")]).inGroup("two"), "old")
        try replace(.exact("a"), .generic("a", as: .afterFirstUnlock), "new")
        let found = try keychain.items(.exact("a"))
        #expect(found.map(\.reference) == [old.reference])
        #expect(found.map(\.accessGroup) == ["two"])
        #expect(found.map(\.protectionClass) == [.afterFirstUnlock])
        #expect(found.first?.attributes[.label] == .text("l"))
        #expect(try keychain.value(.exact("a")) == "new")
    }

    @Test func `Replacing several items leaves the one with the same synchronization`() throws {
        try keychain.add(.generic("a"), "1")
        try keychain.add(.generic("a").inGroup("two"), "2")
        let cloud = try keychain.add(.generic("a", isSynchronizable: true), "3")
        try replace(.exact("a", .any), .generic("a", isSynchronizable: true), "new")
        #expect(try keychain.items(.exact("a", .any)).map(\.reference) == [cloud.reference])
        #expect(try keychain.value(.exact("a", .any)) == "new")
    }

    @Test(arguments: `A damaged item`.damages)
    func `Replacing a damaged item sets it aside`(_ sql: StaticString) throws {
        let item = try keychain.add(.generic("a"), "old")
        try keychain.tamper(sql, item.parameter)
        try replace(.exact("a"), .generic("a"), "new")
        #expect(try keychain.value(.exact("a")) == "new")
        #expect(try keychain.store.keychain.status().quarantinedRowCount == 1)
    }

    /// spec/secitem.md §9.3: a locked item can be deleted.
    @Test func `Replacing a locked item stores the new one if its class is open`() throws {
        let epochs = TestKeychain()
        try epochs.store.keychain.setPasscode(TestKeychain.passcode("word"))
        for isSynchronizable in [false, true] {
            try epochs.add(.generic("a", isSynchronizable: isSynchronizable), "old")
        }
        try epochs.store.keychain.lock(all: false)
        let item = NewItem.generic("a", as: .afterFirstUnlock)
        func replace(_ query: ItemQuery, _ item: NewItem) throws(KeychainFailure) {
            try epochs.store.replace(
                query, with: Addition(item, value: .text("new")), for: epochs.caller)
        }
        #expect(failure { try replace(.exact("a"), .generic("a")) } == .locked)
        try replace(.exact("a"), item)
        #expect(try epochs.value("a") == "new")
        // The tombstone of a synchronizable item would need its names.
        #expect(failure { try replace(.exact("a", .any), item) } == .locked)
        #expect(epochs.damage() == [])
    }

    // Promise: 13.11
    @Test func `A failed replacement changes nothing`() throws {
        try keychain.add(.generic("a"), "1")
        try keychain.add(.generic("a").inGroup("two"), "2")
        let item = NewItem.generic("a", as: .whenPasscodeSetThisDeviceOnly)
        #expect(failure { try replace(.exact("a"), item, "new") } == .passcodeNotSet)
        #expect(
            failure { try replace(.exact("a", group: "x"), .generic("a").inGroup("x"), "new") }
                == .missingEntitlement)
        #expect(try keychain.value(.exact("a", group: "one")) == "1")
        #expect(try keychain.value(.exact("a", group: "two")) == "2")
    }
}
