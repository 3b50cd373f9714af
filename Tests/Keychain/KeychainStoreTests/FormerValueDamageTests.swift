// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §8, *Order*.
@Suite struct `The order of former values` {
    private let history = History()
    private static let tenYears = 315_360_000.0

    // Promise: 16.5
    @Test func `The value that was replaced last comes first after a clock that was ahead`()
        throws
    {
        let clock = history.keychain.clock
        clock.advance(seconds: Self.tenYears)
        try history.set("1", "2", "3", "4")
        clock.advance(seconds: -Self.tenYears)
        try history.set("5")
        #expect(try history.values() == ["4", "3", "2"])
        try history.set("other 1", "other 2", "other 3", name: "b")
        #expect(try history.values("b") == ["other 2", "other 1"])
        try history.undo()
        #expect(try history.epochs.value("a") == "4")
        try history.undo()
        #expect(try history.epochs.value("a") == "5")
    }

    // Promise: 16.5
    @Test func `Rows from the end of time do not displace the value that is replaced`() throws {
        try history.set("1", "2", "3", "4")
        try history.keychain.tamper("UPDATE former SET kept = 9223372036854775807 - kept % 1000")
        #expect(try history.values() == ["damaged", "damaged", "damaged"])
        try history.set("5")
        #expect(try history.values() == ["damaged", "damaged", "damaged", "4"])
        try history.set("6")
        #expect(try history.values() == ["damaged", "damaged", "damaged", "5"])
    }

    @Test func `No former value takes the place of another one`() throws {
        try history.set("1", "2")
        try history.set("1", "2", "3", name: "b")
        // The clock stands still, so both names have numbers in a row.
        try history.set("3")
        #expect(try history.values() == ["2", "1"])
        #expect(try history.values("b") == ["2", "1"])
    }

    @Test func `A row from the beginning of time is seen`() throws {
        try history.set("1", "2")
        try history.keychain.tamper("UPDATE former SET kept = -9223372036854775808")
        #expect(try history.values() == ["damaged"])
        #expect(failure { try history.undo() } == .damaged)
        #expect(history.keychain.damage().count == 1)
        #expect(failure { try history.store.keychain.rotateKeys(nil) } == .damaged)
    }
}

@Suite struct `A damaged former value` {
    private let history = History()

    // Promise: 16.5
    @Test(
        arguments: [
            "UPDATE former SET flags = 2 WHERE kept = (SELECT max(kept) FROM former)",
            "UPDATE former SET flags = 1 WHERE kept = (SELECT max(kept) FROM former)",
            "UPDATE former SET flags = 256 WHERE kept = (SELECT max(kept) FROM former)",
            "UPDATE former SET flags = -1 WHERE kept = (SELECT max(kept) FROM former)",
            "UPDATE former SET class = 2 WHERE kept = (SELECT max(kept) FROM former)",
            "UPDATE former SET class = 9 WHERE kept = (SELECT max(kept) FROM former)",
            "UPDATE former SET protection = 2 WHERE kept = (SELECT max(kept) FROM former)",
            "UPDATE former SET protection = 0 WHERE kept = (SELECT max(kept) FROM former)",
            "UPDATE former SET nonce = x'00' WHERE kept = (SELECT max(kept) FROM former)",
            "UPDATE former SET hashes = x'00' WHERE kept = (SELECT max(kept) FROM former)",
            "UPDATE former SET epoch = 77 WHERE kept = (SELECT max(kept) FROM former)",
            "UPDATE former SET service_hash = NULL WHERE kept = (SELECT max(kept) FROM former)",
            "UPDATE former SET group_hash = x'01' WHERE kept = (SELECT max(kept) FROM former)",
            "UPDATE former SET number = number + 1 WHERE kept = (SELECT max(kept) FROM former)",
        ] as [StaticString])
    func `is in its place, so that undo takes no older one`(_ sql: StaticString) throws {
        try history.set("1", "2", "3")
        try history.keychain.tamper(sql)
        #expect(try history.values() == ["damaged", "1"])
        #expect(failure { try history.undo() } == .damaged)
        #expect(try history.epochs.value("a") == "3")
        try history.undo(2)
        #expect(try history.epochs.value("a") == "1")
    }

    // Promise: 16.2
    @Test(
        arguments: [
            "UPDATE former SET flags = -1", "UPDATE former SET class = 9",
            "UPDATE former SET place_hash = NULL",
        ] as [StaticString], [true, false])
    func `does not outlive a purge`(_ sql: StaticString, _ isRemoved: Bool) throws {
        try history.set("1", "2")
        if isRemoved { try history.store.delete(.exact("a"), for: history.person) }
        try history.keychain.tamper(sql)
        let items = try history.item().map { [$0.version] } ?? []
        try history.store.purge(items, history.former(), for: history.person)
        #expect(try history.column("SELECT count(*) FROM former") == 0)
    }
}

/// docs/FORMAT.md §8.2.
@Suite struct `A damaged setting` {
    private let history = History()

    // Promise: 16.7
    @Test(
        arguments: [
            "UPDATE item SET names = zeroblob(72) WHERE protection = 5",
            "UPDATE item SET secret = zeroblob(72) WHERE protection = 5",
            "UPDATE item SET flags = -1 WHERE protection = 5",
            "UPDATE item SET flags = 2 WHERE protection = 5",
        ] as [StaticString], [0, 10])
    func `is no other number`(_ sql: StaticString, _ number: Int) throws {
        try history.limit(number)
        try history.set("1", "2", "3", "4", "5", "6")
        let before = try history.values()
        try history.keychain.tamper(sql)
        for _ in 0..<2 {
            #expect(failure { try history.set("7") } == .damaged)
            #expect(
                failure { try history.store.delete(.exact("a"), for: history.person) } == .damaged)
            #expect(try history.epochs.value("a") == "6")
            #expect(try history.values() == before)
            // A repair does not make it another one.
            _ = try history.store.keychain.repairIndexes()
        }
        try history.replaced("other")
        #expect(try history.values() == ["other"] + before)
        try history.limit(number)
        try history.set("7")
        #expect(try history.values().count == (number == 0 ? 1 : 7))
    }

    @Test func `keeps no program from its items`() throws {
        try history.limit(10)
        try history.set("1", "2")
        try history.keychain.tamper("UPDATE item SET names = zeroblob(72) WHERE protection = 5")
        try history.keychain.set(.generic("a"), "3")
        #expect(try history.epochs.value("a") == "3")
        #expect(try history.keychain.delete(.exact("a")) == 1)
        #expect(try history.values() == ["1"])
    }
}

/// docs/FORMAT.md §4.4: what a key change destroys is announced.
@Suite struct `Former values that need the passcode` {
    private let history = History()

    // Promise: 16.1
    @Test func `are counted before the passcode is removed`() throws {
        try history.setPasscode()
        try history.set("1", "2", "3", as: .whenPasscodeSetThisDeviceOnly)
        try history.guarded("guarded", name: "b")
        try history.store.delete(.exact("b"), for: history.person)
        try history.set("1", "2", name: "c")
        let loss = try history.store.keychain.lossWithoutPasscode()
        #expect(loss == ItemLoss(itemCount: 1, formerCount: 3))
        let before = try history.column("SELECT count(*) FROM former")
        try history.store.keychain.removePasscode(TestKeychain.passcode(TestKeychain.passcode))
        #expect(try history.column("SELECT count(*) FROM former") == before - 3)
    }

    // Promise: 14.12
    @Test func `are counted before a recovery`() throws {
        try history.setPasscode()
        try history.set("1", "2", "3", as: .whenPasscodeSetThisDeviceOnly)
        let key = try history.store.keychain.createRecoveryKey(
            TestKeychain.passcode(TestKeychain.passcode))
        try history.store.delete(.exact("a"), for: history.person)
        // A setting is not one of the user's items.
        try history.limit(5)
        let lost = try history.store.keychain.itemsLostByRecovery(settingPasscode: false)
        #expect(lost.count == 0 && lost.formerCount == 3)
        try history.store.keychain.recover(with: key, settingPasscode: nil)
        #expect(try history.store.keychain.status().quarantinedRowCount == 3)
    }
}
