// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §8.1. The verbs that show former values have tests of their own.
@Suite struct `Former values of an item` {
    let epochs = EpochStore()
    var keychain: TestStore { epochs.keychain }

    private func person(_ group: AccessGroup = "one") -> Caller {
        var caller = Caller(applicationIdentifier: "app", accessGroups: [group])
        caller.keepsHistory = true
        return caller
    }

    private func set(
        _ values: String..., as protectionClass: ProtectionClass = .whenUnlocked,
        in store: ItemStore? = nil
    ) throws {
        for value in values {
            try (store ?? epochs.store).set(
                Addition(.generic("a", as: protectionClass), value: .text(value)), for: person())
        }
    }

    /// The former values, the last one first.
    private func former(
        _ group: AccessGroup = "one", _ store: ItemStore? = nil
    ) throws -> [String] {
        let groups = FormerValueSlot.all(of: group, isSynchronizable: false).map(\.accessGroup)
        do throws(KeychainFailure) {
            return try (store ?? epochs.store).copy(
                .exact("a"), [.attributes, .value],
                for: Caller(applicationIdentifier: "app", accessGroups: groups)
            ).items.sorted { $0.logicalTime > $1.logicalTime }.compactMap(\.text)
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return []
        }
    }

    /// Dates follow a clock that is corrected, and logical times do not.
    @Test func `The last values are kept after a clock that was ahead`() throws {
        let now = keychain.clock.nanoseconds
        keychain.clock.advance(seconds: 31_536_000)
        try set("ahead 1", "ahead 2", "ahead 3", "ahead 4")
        keychain.clock.nanoseconds = now
        try set("1", "2", "3")
        #expect(try former() == ["2", "1", "ahead 4"])
    }

    @Test func `A former value that is locked is in the way of nothing`() throws {
        try epochs.store.keychain.setPasscode(EpochStore.passcode("word"))
        try set("1", "2", "3", "4")
        _ = try epochs.store.update(
            .exact("a"), ItemChanges(protectionClass: .afterFirstUnlock), value: nil,
            for: person())
        try epochs.store.keychain.lock(all: false)
        try set("5", "6", "7", as: .afterFirstUnlock)
        #expect(try epochs.value("a") == "7")
        #expect(try former() == ["6", "5", "4"])
        #expect(keychain.damage() == [])
    }

    @Test(arguments: RestorePolicy.allCases)
    func `A restore refuses nothing and loses nothing because of former values`(
        _ policy: RestorePolicy
    ) throws {
        let keychain = TestStore()
        try set("1", "2", in: keychain.store)
        let file = BackupPath()
        try keychain.backUp(to: file)
        try set("3", "4", "5", in: keychain.store)
        let before = try former("one", keychain.store)
        #expect(before == ["4", "3", "2"])
        let report = try keychain.restore(file, policy)
        #expect(report.addedCount == 0 && report.replacedCount + report.keptCount == 1)
        #expect(try Set(former("one", keychain.store)) == Set(before + ["1"]))
        // What is there already is not there twice.
        try keychain.restore(file, policy)
        #expect(try former("one", keychain.store).count == 4)
    }

    @Test func `An item that was removed comes back with a restore that refuses items`() throws {
        let keychain = TestStore()
        try set("1", "2", in: keychain.store)
        let file = BackupPath()
        try keychain.backUp(to: file)
        try keychain.store.delete(.exact("a"), for: person())
        #expect(try former("one", keychain.store) == ["2", "1"])
        #expect(try keychain.restore(file, nil).addedCount == 1)
        #expect(try keychain.value(.exact("a")) == "2")
        #expect(try former("one", keychain.store) == ["2", "1"])
    }

    /// To Swift, the dot and the mark after it are one character.
    @Test(arguments: ["\u{301}app", "a.\u{301}b", "", "1s.x"])
    func `The group of a former value gives that of the item`(_ name: String) {
        for isSynchronizable in [false, true] {
            for slot in FormerValueSlot.all(
                of: AccessGroup(name), isSynchronizable: isSynchronizable)
            {
                #expect(FormerValueSlot(slot.accessGroup) == slot)
                #expect(slot.accessGroup.isOfKeychain)
            }
        }
        #expect(!AccessGroup(name).isOfKeychain)
    }
}
