// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §11.4.
@Suite struct `Former values in backups` {
    private let history = History()
    private let file = BackupPath()

    private func backUp() throws -> BackupReport {
        var request = BackupRequest(path: file.path)
        (request.cost, request.isReplacing) = (.lowest, true)
        return try history.store.keychain.backUp(request, passphrase: BackupPath.secret())
    }

    // Promise: 16.4
    @Test func `A backup has former values, and counts them apart`() throws {
        try history.set("1", "2", "3", "4")
        try history.limit(5)
        let report = try backUp()
        #expect(report.itemCount == 1 && report.formerCount == 3)
        #expect(report.thisDeviceOnlyCount == 0)
        let backup = try history.keychain.open(file)
        #expect(try backup.verify() == report)
        var names: [AttributeValue?] = []
        try backup.forEachItem { names.append($0.properties.attributes[.account]) }
        #expect(names == [.text("a")])
        let other = History()
        let restored = try other.store.keychain.restore(
            other.keychain.open(file), nil)
        #expect(restored.addedCount == 1 && restored.formerCount == 3)
        #expect(try other.values() == ["3", "2", "1"])
        try other.undo()
        #expect(try other.epochs.value("a") == "3")
    }

    @Test(arguments: RestorePolicy.allCases)
    func `A restore refuses nothing and loses nothing because of former values`(
        _ policy: RestorePolicy
    ) throws {
        try history.set("1", "2")
        _ = try backUp()
        try history.set("3", "4")
        #expect(try history.values() == ["3", "2", "1"])
        try history.limit(4)
        try history.set("5")
        let before = try history.values()
        let report = try history.store.keychain.restore(history.keychain.open(file), policy)
        #expect(report.addedCount == 0 && report.replacedCount + report.keptCount == 1)
        // What is there already is not there twice, and what is replaced is kept.
        let expected = policy == .replace ? ["5"] + before.dropLast() : before
        #expect(try history.values() == expected && report.formerCount == 0)
    }

    @Test func `A restore adds former values where they were in the order`() throws {
        try history.set("1", "2")
        _ = try backUp()
        try history.limit(1)
        history.keychain.clock.advance(seconds: 60)
        try history.set("3", "4")
        try history.limit(3)
        let report = try history.store.keychain.restore(
            history.keychain.open(file), .skipExisting)
        #expect(report.formerCount == 1)
        #expect(try history.values() == ["3", "1"])
    }

    // Promise: 16.4
    @Test func `A keychain that keeps no former values gets none from a backup`() throws {
        try history.set("1", "2")
        try history.set("gone", name: "b")
        try history.store.delete(.exact("b"), for: history.person)
        _ = try backUp()
        let other = History()
        try other.limit(0)
        let report = try other.store.keychain.restore(other.keychain.open(file), nil)
        #expect(report.addedCount == 1 && report.formerCount == 0)
        #expect(try other.column("SELECT count(*) FROM former") == 0)
        #expect(try other.values() == [] && other.values("b") == [])
    }

    @Test(arguments: [0, 1, 2, 10])
    func `A rehearsal reports what the restore then does`(_ limit: Int) throws {
        try history.set("1", "2", "3", "4")
        _ = try backUp()
        let other = History()
        try other.limit(limit)
        try other.set("here")
        let backup = try other.keychain.open(file)
        let before = try other.keychain.seals()
        let rehearsed = try other.store.keychain.restore(backup, .replace, isDryRun: true)
        #expect(try other.keychain.seals() == before && other.values() == [])
        #expect(try other.store.keychain.restore(backup, .replace) == rehearsed)
        #expect(try other.values().count == min(limit, 4))
        if limit > 0 {
            try other.undo()
            #expect(try other.epochs.value("a") == "here")
        }
    }

    @Test func `An item that was removed comes back with a restore that refuses items`() throws {
        try history.set("1", "2")
        _ = try backUp()
        try history.store.delete(.exact("a"), for: history.person)
        #expect(try history.values() == ["2", "1"])
        let report = try history.store.keychain.restore(history.keychain.open(file), nil)
        #expect(report.addedCount == 1)
        #expect(try history.epochs.value("a") == "2")
        #expect(try history.values() == ["2", "1"])
    }

    // Promise: 16.4
    @Test(arguments: [0, 1, 2, 4])
    func `The latest former values come first where there is no room for all`(_ limit: Int) throws {
        try history.limit(6)
        try history.set("1", "2", "3", "4", "5")
        _ = try backUp()
        let other = History()
        try other.limit(limit)
        let backup = try other.keychain.open(file)
        let rehearsed = try other.store.keychain.restore(backup, nil, isDryRun: true)
        #expect(rehearsed.formerCount == limit)
        #expect(try other.store.keychain.restore(backup, nil) == rehearsed)
        #expect(try other.values() == Array(["4", "3", "2", "1"].prefix(limit)))
    }

    @Test func `A restore drops no former value of the keychain`() throws {
        try history.set("1", "2", "3", "4")
        _ = try backUp()
        let other = History()
        other.keychain.clock.advance(seconds: -60)
        try other.set("here 1", "here 2")
        other.keychain.clock.advance(seconds: 120)
        let report = try other.store.keychain.restore(other.keychain.open(file), .skipExisting)
        #expect(report.formerCount == 2)
        #expect(try other.values() == ["3", "2", "here 1"])
    }

    @Test func `A former value that an item had twice comes back twice`() throws {
        for value in ["A", "B", "A", "C"] {
            try history.set(value)
            history.keychain.clock.advance(seconds: 1)
        }
        _ = try backUp()
        let other = History()
        other.keychain.clock.advance(seconds: 60)
        let backup = try other.keychain.open(file)
        let rehearsed = try other.store.keychain.restore(backup, nil, isDryRun: true)
        #expect(rehearsed.formerCount == 3)
        #expect(try other.store.keychain.restore(backup, nil) == rehearsed)
        #expect(try other.values() == ["A", "B", "A"])
        try other.limit(10)
        #expect(try other.store.keychain.restore(backup, .keepNewer).formerCount == 0)
        #expect(try other.values() == ["A", "B", "A"])
    }

    @Test func `A rehearsal without a keychain applies the usual limit to each name`() throws {
        try history.limit(6)
        try history.set("1", "2", "3", "4", "5")
        try history.set("1", "2", name: "b")
        _ = try backUp()
        let other = History()
        let backup = try other.keychain.open(file)
        let rehearsed = try other.store.keychain.restore(backup, nil, isDryRun: true)
        #expect(rehearsed == RestoreReport(addedCount: 2, formerCount: 4))
        #expect(try other.store.keychain.restore(backup, nil) == rehearsed)
    }
}
