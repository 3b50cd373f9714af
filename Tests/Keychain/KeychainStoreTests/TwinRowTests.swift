// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// An index that kept its earlier content hides a row, and the item is stored again.
@Suite struct `Two rows of one name` {
    private let history = History()
    private var keychain: TestKeychain { history.keychain }

    init() throws {
        try keychain.add(.generic("first", service: "other"), "first")
    }

    private func makeTwins(_ indexes: [String]) throws {
        try keychain.losingWrites(of: indexes) { try history.set("old") }
        try history.set("new")
        try history.set("second", name: "b")
    }

    private func checkNames() throws {
        #expect(try history.epochs.value("a") == "new")
        #expect(try history.epochs.value("b") == "second")
        #expect(try keychain.value(named: "first", service: "other") == "first")
    }

    // Promise: 14.6
    @Test(arguments: [
        ["item_by_place"], ["place_by_hash"], ["place_by_hash", "place_by_group"],
        ["item_by_place", "place_by_hash", "place_by_group"],
    ])
    func `are one item after a repair, and the hidden one is a former value`(
        _ indexes: [String]
    ) throws {
        try makeTwins(indexes)
        try checkNames()
        let repair = try history.store.keychain.repairIndexes()
        #expect(repair.rowCount == 4 && repair.formerCount == 1)
        #expect(repair.damagedCount == 0 && !repair.mayLackRows)
        try checkNames()
        #expect(try history.values() == ["old"])
        #expect(keychain.damage() == [])
        try history.undo()
        #expect(try history.epochs.value("a") == "old")
    }

    // Promise: 14.6
    /// A row with a smaller number may be the later one.
    @Test func `are the one that was found before the repair`() throws {
        try history.set("renamed", name: "b")
        try keychain.losingWrites(of: ["item_by_place"]) { try history.set("old") }
        try keychain.update(.exact("b"), ItemChanges(attributes: [.account: .text("a")]))
        #expect(try history.epochs.value("a") == "renamed")
        #expect(try history.store.keychain.repairIndexes().formerCount == 1)
        #expect(try history.epochs.value("a") == "renamed")
        #expect(try history.values() == ["old"])
        #expect(keychain.damage() == [])
    }

    /// No index says which one was found.
    @Test func `are the one that was written last if their index is lost`() throws {
        keychain.clock.advance(seconds: 1)
        try history.set("renamed", name: "b")
        try keychain.losingWrites(of: ["item_by_place"]) { try history.set("old") }
        keychain.clock.advance(seconds: 1)
        try keychain.update(.exact("b"), ItemChanges(attributes: [.account: .text("a")]))
        for page in try keychain.pages(of: "item_by_place") {
            try keychain.change(page: page) { bytes in bytes = .init(repeating: 7, count: 4096) }
        }
        #expect(try history.store.keychain.repairIndexes().formerCount == 1)
        #expect(try history.epochs.value("a") == "renamed")
        #expect(try history.values() == ["old"])
    }

    // Promise: 14.6
    @Test func `are the one that opens`() throws {
        try makeTwins(["item_by_place"])
        try keychain.tamper("UPDATE item SET names = zeroblob(72) WHERE number = 2")
        let repair = try history.store.keychain.repairIndexes()
        #expect(repair.formerCount == 1 && repair.damagedCount == 0)
        try checkNames()
        #expect(try history.values() == ["damaged"])
        #expect(keychain.damage() == [])
    }

    @Test func `are one damaged item if neither opens`() throws {
        try makeTwins(["item_by_place"])
        try keychain.tamper("UPDATE item SET names = zeroblob(72) WHERE number IN (2, 3)")
        let repair = try history.store.keychain.repairIndexes()
        #expect(repair.formerCount == 1 && repair.damagedCount == 1)
        #expect(failure { _ = try history.epochs.value("a") } == .damaged)
        #expect(try history.epochs.value("b") == "second")
    }

    // Promise: 14.11
    @Test(arguments: [["item_by_place"], ["place_by_hash"]], [false, true])
    func `stop a change of keys, which names the damage`(
        _ indexes: [String], _ skips: Bool
    ) throws {
        try makeTwins(indexes)
        let before = try keychain.seals()
        let error = #expect(throws: KeychainFailure.self) {
            try history.store.keychain.rotateKeys(
                nil, KeyChangeOptions(skippingDamaged: skips))
        }
        #expect(error?.code == .keychainDamaged && error?.hint == "run `valet doctor`")
        #expect(try keychain.seals() == before)
        let hints = history.store.keychain.diagnose().compactMap(\.hint)
        #expect(hints.contains { $0.contains("--repair-indexes") })
        try checkNames()
    }

    /// A later change may have got the number of the hidden one.
    // Promise: 14.6
    @Test func `of which the index of changes hid one are both seen by sync`() throws {
        let changed = { (name: String) in
            try keychain.set(.generic(name, isSynchronizable: true), "value")
        }
        try changed("seen")
        try keychain.losingWrites(of: ["item_by_change"]) { try changed("hidden") }
        try changed("later")
        let hidden = try keychain.rows().map(\.changeNumber)
        #expect(hidden == [nil, 1, 2, 2])
        try keychain.tamper("INSERT OR REPLACE INTO sync_mark VALUES (1, 2, 0)")
        #expect(try history.store.keychain.repairIndexes().damagedCount == 0)
        #expect(try keychain.rows().map(\.changeNumber) == [nil, 1, 3, 2])
        #expect(keychain.damage() == [])
    }

    /// The number of a row that its table has lost was given again.
    @Test func `of which the table has lost one are no sound table`() throws {
        try keychain.losingWrites(of: ["item"]) { try history.set("lost") }
        try history.set("second", name: "b")
        #expect(failure { _ = try history.epochs.value("a") } == .damaged)
        #expect(failure { _ = try history.store.keychain.repairIndexes() } == .keychainDamaged)
        #expect(try history.store.keychain.repairIndexes(acceptingLoss: true).mayLackRows)
        #expect(try history.epochs.value("b") == "second")
    }
}
