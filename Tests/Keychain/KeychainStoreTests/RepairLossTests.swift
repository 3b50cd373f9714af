// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §7.1: a repair that would lose a row changes nothing.
@Suite struct `A repair of a keychain that has lost rows` {
    private let history = History()

    /// Takes cells off a leaf: one byte, but two bits of it.
    private func shorten(_ table: String) throws {
        for page in try history.keychain.pages(of: table) {
            var isDone = false
            try history.keychain.change(page: page) { bytes in
                // Two bits, so that the checksum does not tell which. A leaf without rows is damage
                // to SQLite, too.
                let count = bytes[4]
                guard bytes[0] == 13, count > 1,
                    let less = (1..<count).first(where: { ($0 ^ count).nonzeroBitCount == 2 })
                else { return }
                bytes[4] = less
                isDone = true
            }
            if isDone { return }
        }
        Issue.record("no leaf of \(table) has enough rows")
    }

    private var contents: Data {
        get throws {
            try Data(contentsOf: URL(fileURLWithPath: history.keychain.folder + "/keychain.db"))
        }
    }

    /// - Returns: What a repair that accepts the loss has done.
    private func checkRefusal() throws -> IndexRepair {
        history.keychain.reopen()
        let before = try contents
        #expect(failure { _ = try history.store.keychain.repairIndexes() } == .keychainDamaged)
        history.keychain.reopen()
        #expect(try contents == before)
        return try history.store.keychain.repairIndexes(acceptingLoss: true)
    }

    // Promise: 14.6
    @Test func `is refused if former values are lost`() throws {
        for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
            try history.set("1", "2", "3", "4", name: name)
        }
        #expect(try history.column("SELECT count(*) FROM former") == 27)
        try shorten("former")
        #expect(try checkRefusal().mayLackRows)
        #expect(try (1..<27).contains(history.column("SELECT count(*) FROM former")))
        #expect(history.keychain.damage() == [])
    }

    // Promise: 14.6
    @Test(arguments: ["item_by_place", "attribute"])
    func `is refused if rows are lost, and a witness cannot be read`(_ index: String) throws {
        for number in 0..<30 {
            let item = NewItem.generic("a\(number)", [.label: .text("l\(number)")])
            try history.keychain.add(item, "v\(number)")
        }
        let root = try #require(try history.keychain.pages(of: index).first)
        try shorten("item")
        try history.keychain.change(page: root) { bytes in
            for offset in 0..<16 { bytes[offset] = 0 }
        }
        let repair = try checkRefusal()
        #expect(repair.mayLackRows && (1..<30).contains(repair.rowCount))
        #expect(history.keychain.damage() == [])
    }

    @Test func `is none if its index alone is damaged`() throws {
        for name in ["a", "b", "c"] { try history.set("1", "2", "3", "4", name: name) }
        for index in ["former_by_number", "item_by_place"] {
            for page in try history.keychain.pages(of: index) {
                try history.keychain.change(page: page) { bytes in
                    for offset in stride(from: 0, to: 4096, by: 64) { bytes[offset] ^= 0xFF }
                }
            }
        }
        let repair = try history.store.keychain.repairIndexes()
        #expect(!repair.mayLackRows && repair.rowCount == 3)
        for name in ["a", "b", "c"] { #expect(try history.values(name) == ["3", "2", "1"]) }
        #expect(history.keychain.damage() == [])
    }
}
