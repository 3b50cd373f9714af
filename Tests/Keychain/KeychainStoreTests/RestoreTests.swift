// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite struct `Restoring a backup` {
    let file = BackupPath()

    @Test func `Restoring a backup brings everything into another keychain`() throws {
        let old = try TestKeychain.withEverything()
        try old.backUp(to: file)
        let new = TestKeychain()
        new.clock.advance(seconds: 1_000_000)
        let report = try new.restore(file, .skipExisting)
        #expect(report == RestoreReport(addedCount: TestKeychain.migratableCount))
        let expected = try old.everything().filter(\.mayLeave)
        #expect(expected.count == TestKeychain.migratableCount)
        #expect(try new.everything() == expected)
        #expect(new.damage() == [])
    }

    @Test func `A restored item is found by every attribute`() throws {
        let old = try TestKeychain.withEverything()
        try old.backUp(to: file)
        let new = TestKeychain()
        try new.restore(file, .replace)
        #expect(try new.accounts(.generic([.label: .text("läbel")])) == ["decorated"])
        #expect(try new.value(named: "of class ak") == "value")
        #expect(try new.value(named: "synchronized", isSynchronizable: true) == "everywhere")
    }

    @Test func `Restoring a backup brings items into groups of any owner`() throws {
        let keychain = TestKeychain()
        let other = Caller(applicationIdentifier: "other")
        _ = try keychain.store.add(Addition(.generic("theirs"), value: .text("v")), for: other)
        try keychain.backUp(to: file)
        try keychain.store.delete(.exact("theirs"), for: other)
        #expect(try keychain.restore(file, .keepNewer).addedCount == 1)
        #expect(try keychain.store.contains(.exact("theirs"), for: other))
        #expect(try keychain.items(.exact("theirs")).isEmpty)
    }

    /// What is in the backup is older, newer, or as old as what is in the keychain.
    struct Case: CustomTestStringConvertible, Sendable {
        let policy: RestorePolicy
        let backupIsLaterBy: Double
        let isReplaced: Bool
        var testDescription: String { "\(policy), \(backupIsLaterBy) s" }
    }

    // Promise: 10.6
    @Test(arguments: [
        Case(policy: .replace, backupIsLaterBy: -5, isReplaced: true),
        Case(policy: .replace, backupIsLaterBy: 5, isReplaced: true),
        Case(policy: .replace, backupIsLaterBy: 0, isReplaced: true),
        Case(policy: .keepNewer, backupIsLaterBy: -5, isReplaced: false),
        Case(policy: .keepNewer, backupIsLaterBy: 5, isReplaced: true),
        Case(policy: .keepNewer, backupIsLaterBy: 0, isReplaced: false),
        Case(policy: .skipExisting, backupIsLaterBy: -5, isReplaced: false),
        Case(policy: .skipExisting, backupIsLaterBy: 5, isReplaced: false),
        Case(policy: .skipExisting, backupIsLaterBy: 0, isReplaced: false),
    ])
    func `Restoring a backup treats existing items as requested`(_ sample: Case) throws {
        let source = TestKeychain()
        source.clock.advance(seconds: 100 + sample.backupIsLaterBy)
        try source.add(.generic("both", [.label: .text("l1")], as: .afterFirstUnlock), "backup")
        try source.add(.generic("new"))
        try source.backUp(to: file)
        let inBackup = try #require(try source.item(.exact("both")))

        let keychain = TestKeychain()
        keychain.clock.advance(seconds: 100)
        let there = try keychain.add(.generic("both", [.label: .text("l2")]), "keychain")
        try keychain.add(.generic("only here"), "stays")
        let before = try #require(try keychain.item(.exact("both")))
        let seals = try keychain.seals()

        let expected = RestoreReport(
            addedCount: 1, replacedCount: sample.isReplaced ? 1 : 0,
            keptCount: sample.isReplaced ? 0 : 1)
        #expect(try keychain.restore(file, sample.policy, isDryRun: true) == expected)
        #expect(try keychain.seals() == seals)
        #expect(try keychain.restore(file, sample.policy) == expected)

        let after = try #require(try keychain.item(.exact("both")))
        #expect(KnownItem(after) == KnownItem(sample.isReplaced ? inBackup : before))
        #expect(after.reference == there.reference)
        let labels = try keychain.accounts(.generic([.label: .text("l1")]))
        #expect(labels == (sample.isReplaced ? ["both"] : []))
        #expect(try keychain.value(.exact("only here")) == "stays")
        #expect(try keychain.accounts(.generic()) == ["both", "new", "only here"])
        #expect(keychain.damage() == [])
    }

    @Test func `Rehearsing a restore creates no keychain`() throws {
        let source = TestKeychain()
        try source.add(.generic("a"))
        try source.backUp(to: file)
        let keychain = TestKeychain()
        let report = try keychain.restore(file, .replace, isDryRun: true)
        #expect(report == RestoreReport(addedCount: 1))
        #expect(!FileManager.default.fileExists(atPath: keychain.folder))
    }

    @Test(arguments: RestorePolicy.allCases)
    func `Restoring a backup repairs damaged items and keeps them in quarantine`(
        _ policy: RestorePolicy
    ) throws {
        let keychain = TestKeychain()
        let item = try keychain.add(.generic("a"), "good")
        try keychain.backUp(to: file)
        try keychain.tamper(
            "UPDATE item SET secret = zeroblob(72) WHERE number = ?1", item.parameter)
        let expected = RestoreReport(repairedCount: 1)
        #expect(try keychain.restore(file, policy, isDryRun: true) == expected)
        #expect(try keychain.store.keychain.status().quarantinedRowCount == 0)
        #expect(try keychain.restore(file, policy) == expected)
        #expect(try keychain.value(.exact("a")) == "good")
        #expect(try keychain.store.keychain.status().quarantinedRowCount == 1)
        #expect(keychain.damage() == [])
    }

    @Test(arguments: RestorePolicy.allCases)
    func `Restoring a backup brings deleted items back`(_ policy: RestorePolicy) throws {
        let keychain = TestKeychain()
        try keychain.add(.generic("a", isSynchronizable: true), "v")
        try keychain.backUp(to: file)
        keychain.clock.advance(seconds: 10)
        try keychain.delete(.exact("a", .synchronizedOnly))
        let tombstone = try #require(try keychain.rows().first)
        #expect(tombstone.header.flags.contains(.tombstone))
        #expect(try keychain.restore(file, policy) == RestoreReport(addedCount: 1))
        #expect(try keychain.value(.exact("a", .synchronizedOnly)) == "v")
        let row = try #require(try keychain.rows().first)
        #expect(try keychain.rows().count == 1)
        #expect(row.logicalTime > tombstone.logicalTime)
    }

    @Test func `A restored item keeps its age if it is added and is new if it replaces`() throws {
        let source = TestKeychain()
        try source.add(.generic("a"))
        try source.backUp(to: file)
        let written = try #require(try source.rows().first).logicalTime
        let later = TestKeychain()
        later.clock.advance(seconds: 1000)
        try later.restore(file, .replace)
        #expect(try later.rows().map(\.logicalTime) == [written])
        try later.restore(file, .replace)
        #expect(try later.rows().map(\.logicalTime) == [later.store.now.logicalTime])
        // Also where the clock was ahead when the backup was made: later writes count on.
        let earlier = TestKeychain()
        earlier.clock.advance(seconds: -1000)
        try earlier.restore(file, .replace)
        #expect(try earlier.rows().map(\.logicalTime) == [written])
        try earlier.set(.generic("a"), "later")
        #expect(try earlier.rows().map(\.logicalTime) == [written + 1])
        #expect(try earlier.restore(file, .keepNewer).keptCount == 1)
        #expect(try earlier.value(.exact("a")) == "later")
    }

    private static let tenYears = 315_360_000.0

    /// What was written while the clock was ten years ahead is older than what came after.
    @Test func `Restoring a backup keeps the latest item after a clock that was ahead`() throws {
        let keychain = TestKeychain()
        keychain.clock.advance(seconds: Self.tenYears)
        try keychain.set(.generic("a"), "in ten years")
        try keychain.backUp(to: file)
        keychain.clock.advance(seconds: -Self.tenYears)
        try keychain.set(.generic("a"), "now")
        #expect(try keychain.restore(file, .keepNewer) == RestoreReport(keptCount: 1))
        #expect(try keychain.value(.exact("a")) == "now")

        // The other way round: the backup has what came after.
        let older = TestKeychain()
        try older.restore(file, .replace)
        try keychain.backUp(to: file, replacing: true)
        #expect(try older.restore(file, .keepNewer) == RestoreReport(replacedCount: 1))
        #expect(try older.value(.exact("a")) == "now")
    }

    @Test func `Restoring a backup of a wrong clock keeps the existing items`() throws {
        let wrong = TestKeychain()
        wrong.clock.advance(seconds: Self.tenYears)
        try wrong.set(.generic("a"), "of a clock that was ahead")
        try wrong.backUp(to: file)
        let keychain = TestKeychain()
        try keychain.set(.generic("a"), "here")
        #expect(try keychain.restore(file, .keepNewer) == RestoreReport(keptCount: 1))
        #expect(try keychain.value(.exact("a")) == "here")
        #expect(try keychain.restore(file, .replace) == RestoreReport(replacedCount: 1))
    }
}

/// What a restore replaces is not lost.
@Suite struct `A restore over an item that requires the user or a password` {
    private let file = BackupPath()

    private func makeBackup() throws {
        let source = TestKeychain()
        for name in ["guarded", "sealed", "plain"] { try source.add(.generic(name), "backup") }
        try source.backUp(to: file)
    }

    // Promise: 16.3
    @Test(arguments: [RestorePolicy.replace, .keepNewer], [false, true])
    func `leaves it as it is, and counts it`(_ policy: RestorePolicy, _ isDryRun: Bool) throws {
        let keychain = TestKeychain()
        keychain.clock.advance(seconds: -1000)
        try keychain.setPasscode()
        try keychain.add("guarded", TestKeychain.accessControl(.devicePasscode))
        try keychain.addSealed("sealed")
        try keychain.add("plain")
        let seals = try keychain.seals()
        let report = try keychain.restore(file, policy, isDryRun: isDryRun)
        #expect(
            report == RestoreReport(replacedCount: 1, accessControlledCount: 2))
        #expect(try keychain.value("plain") == (isDryRun ? "value of plain" : "backup"))
        #expect(keychain.read("guarded").isDemand)
        #expect(
            keychain.read("guarded", try keychain.passcodeProof()) == .value("value of guarded"))
        #expect(try keychain.open("sealed") == .value("value of sealed"))
        let stays = try Set(keychain.seals()).intersection(seals).count
        #expect(stays == (isDryRun ? 3 : 2))
        #expect(keychain.damage() == [])
    }

    init() throws { try makeBackup() }
}
