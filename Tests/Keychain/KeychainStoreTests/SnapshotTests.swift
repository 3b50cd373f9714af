// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite struct `What became of a service's items` {
    private let keychain = TestKeychain()
    private let service = PasswordService(
        service: "service", accessGroup: nil, isSynchronizable: false,
        protectionClass: .whenUnlocked)

    private var store: ItemStore { keychain.store }

    private func set(_ item: NewItem, in store: ItemStore? = nil) throws {
        try (store ?? self.store).set(
            Addition(item, value: .text("value")), for: keychain.caller)
    }

    private func snapshot() throws -> ServiceSnapshot {
        try store.snapshot(of: service, for: keychain.caller)
    }

    private func changes(_ snapshot: inout ServiceSnapshot) throws -> Set<AccountChange> {
        Set(try store.changes(since: &snapshot, of: service, for: keychain.caller))
    }

    @Test func `Items that existed before are not reported as changes`() throws {
        try set(.generic("a"))
        var snapshot = try snapshot()
        #expect(try changes(&snapshot) == [])
    }

    @Test func `Without a keychain there are no changes, and then those of a new keychain`() throws
    {
        var snapshot = try snapshot()
        try set(.generic("a"))
        #expect(try changes(&snapshot) == [.stored(.text("a"))])
    }

    @Test func `A change by this process or another one is reported once`() throws {
        try set(.generic("a"))
        var snapshot = try snapshot()
        try set(.generic("b"))
        try set(.generic("a"), in: keychain.otherProcess())
        #expect(try changes(&snapshot) == [.stored(.text("a")), .stored(.text("b"))])
        #expect(try changes(&snapshot) == [])
    }

    @Test func `A removed item is reported although another one has a name that looks alike`()
        throws
    {
        try set(.generic("é"))
        try set(.generic("e\u{301}"))
        var snapshot = try snapshot()
        _ = try store.delete(.exact("é"), for: keychain.caller)
        #expect(try changes(&snapshot) == [.removed(.text("é"))])
    }

    @Test func `A removed item of a service is reported as removed`() throws {
        try set(.generic("a"))
        try set(.generic("b"))
        var snapshot = try snapshot()
        _ = try store.delete(.exact("a"), for: keychain.caller)
        #expect(try changes(&snapshot) == [.removed(.text("a"))])
    }

    @Test func `An item that was removed and added again is reported as stored`() throws {
        try set(.generic("a"))
        var snapshot = try snapshot()
        _ = try store.delete(.exact("a"), for: keychain.caller)
        try set(.generic("a"))
        #expect(try changes(&snapshot) == [.stored(.text("a"))])
    }

    @Test func `An item that was added and removed again is not reported`() throws {
        var snapshot = try snapshot()
        try set(.generic("a"))
        _ = try store.delete(.exact("a"), for: keychain.caller)
        #expect(try changes(&snapshot) == [])
    }

    @Test(arguments: [
        NewItem.generic("a", service: "another"), .generic("a", as: .afterFirstUnlock),
        .generic("a", isSynchronizable: true), .internet("a"),
    ])
    func `Items of other services are not reported`(_ item: NewItem) throws {
        try set(.generic("b"))
        var snapshot = try snapshot()
        try set(item)
        #expect(try changes(&snapshot) == [])
    }

    @Test func `Items in any access group of the application are reported`() throws {
        var snapshot = try snapshot()
        try set(.generic("a").inGroup("one"))
        try set(.generic("b").inGroup("two"))
        #expect(try changes(&snapshot) == [.stored(.text("a")), .stored(.text("b"))])
    }

    @Test func `A renamed item is reported under both names`() throws {
        try set(.generic("a"))
        var snapshot = try snapshot()
        _ = try store.update(
            .exact("a"), ItemChanges(attributes: [.account: .text("b")]), value: nil,
            for: keychain.caller)
        #expect(try changes(&snapshot) == [.stored(.text("b")), .removed(.text("a"))])
    }
}

@Suite struct `What became of items under lock` {
    private let keychain = TestKeychain()
    private let service = PasswordService(
        service: "service", accessGroup: nil, isSynchronizable: false,
        protectionClass: .whenUnlocked)
    private let passcode: Passcode

    init() throws {
        passcode = try TestKeychain.passcode("correct")
        try keychain.add("a")
        try keychain.add("b")
        try keychain.store.keychain.setPasscode(passcode)
    }

    private func changes(_ snapshot: inout ServiceSnapshot) throws -> Set<AccountChange> {
        Set(try keychain.store.changes(since: &snapshot, of: service, for: keychain.caller))
    }

    private func snapshot() throws -> ServiceSnapshot {
        try keychain.store.snapshot(of: service, for: keychain.caller)
    }

    @Test func `New keys are not reported as changes of items`() throws {
        var snapshot = try snapshot()
        try keychain.store.keychain.rotateKeys(passcode)
        #expect(try changes(&snapshot) == [])
    }

    @Test func `A removed known item is reported by name while locked`() throws {
        var snapshot = try snapshot()
        try keychain.store.keychain.lock(all: false)
        _ = try keychain.store.delete(.exact("a"), for: keychain.caller)
        #expect(try changes(&snapshot) == [.removed(.text("a"))])
    }

    @Test func `A removed unknown item is reported without a name while locked`() throws {
        try keychain.store.keychain.lock(all: false)
        var snapshot = try snapshot()
        _ = try keychain.store.delete(.exact("a"), for: keychain.caller)
        #expect(try changes(&snapshot) == [.removedUnknown])
    }

    @Test func `An unlock is not reported as a change of items`() throws {
        try keychain.store.keychain.lock(all: false)
        var snapshot = try snapshot()
        try keychain.store.keychain.unlock(passcode)
        #expect(try changes(&snapshot) == [])
        _ = try keychain.store.delete(.exact("a"), for: keychain.caller)
        #expect(try changes(&snapshot) == [.removed(.text("a"))])
    }

    @Test func `Changes before the first unlock are reported later`() throws {
        var snapshot = try snapshot()
        try keychain.add("c")
        try keychain.store.keychain.lock(all: true)
        #expect(failure { _ = try changes(&snapshot) } == .locked)
        try keychain.store.keychain.unlock(passcode)
        #expect(try changes(&snapshot) == [.stored(.text("c"))])
    }

    @Test func `A change is reported once it can be read`() throws {
        var snapshot = try snapshot()
        try keychain.add("c")
        try keychain.store.keychain.lock(all: false)
        #expect(try changes(&snapshot) == [])
        try keychain.store.keychain.unlock(passcode)
        #expect(try changes(&snapshot) == [.stored(.text("c"))])
    }
}
