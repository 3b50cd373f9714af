// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

// Promise: 14.6
/// Bytes that are changed in what follows from the rows: `doctor --repair-indexes`.
@Suite struct `A keychain with a damaged index` {
    static let indexes = [
        "item_by_place", "item_by_account", "item_by_change", "attribute", "place_by_hash",
        "place_by_group",
    ]
    static let itemCount = 150
    /// Items without attributes that searches look for. Their values are set in place.
    static let plainCount = 15
    static let rowCount = itemCount + plainCount

    private static let sample = Result { try makeSample() }

    let keychain: TestKeychain

    init() throws {
        keychain = try TestKeychain(copying: Self.sample.get())
    }

    private static func makeSample() throws -> TestKeychain {
        let keychain = TestKeychain()
        for number in 0..<Self.itemCount {
            try keychain.add(
                .generic(
                    "a\(number)", [.label: .text("l\(number)")],
                    isSynchronizable: number % 10 == 0), "v\(number)")
        }
        for number in 0..<Self.plainCount { try keychain.add(.generic("p\(number)"), "v") }
        keychain.store.close()
        return keychain
    }

    /// What the keychain gives for each item; nil for one that it refuses or does not find.
    private func values() -> [String?] {
        (0..<Self.itemCount).map { number in
            try? keychain.value(.exact("a\(number)", .any))
        }
    }

    private var expected: [String?] { (0..<Self.itemCount).map { "v\($0)" } }

    private func labels() -> [[String]?] {
        (0..<Self.itemCount).map { number in
            try? keychain.accounts(.generic([.label: .text("l\(number)")]))
        }
    }

    private func checkAllIsWell() throws {
        #expect(values() == expected)
        #expect(labels() == (0..<Self.itemCount).map { ["a\($0)"] })
        #expect(keychain.damage() == [])
        try keychain.set(.generic("new", [.label: .text("fresh")]), "new")
        #expect(try keychain.value(named: "new") == "new")
        #expect(try keychain.accounts(.generic([.label: .text("fresh")])) == ["new"])
        #expect(try keychain.delete(.exact("new")) == 1)
    }

    /// Changes a byte of a page, while no program has the file open.
    private func flip(page: Int64, offset: Int, mask: UInt8 = 0xFF) throws {
        try keychain.change(page: page) { $0[offset] ^= mask }
    }

    private func contents() throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: keychain.folder + "/keychain.db"))
    }

    private func write(_ byte: UInt8, at place: Int) throws {
        let file = try FileHandle(
            forUpdating: URL(fileURLWithPath: keychain.folder + "/keychain.db"))
        try file.seek(toOffset: UInt64(place))
        try file.write(contentsOf: Data([byte]))
        try file.close()
    }

    /// The first bytes are the page's header, the last ones are in a cell.
    @Test(arguments: indexes, [0, 1, 3, 4, 5, 7, 9, 12, 4095, 4080, 4060])
    func `A repair makes a keychain with a damaged index whole`(_ name: String, _ offset: Int)
        throws
    {
        keychain.reopen()
        let page = try #require(try keychain.pages(of: name).last)
        try flip(page: page, offset: offset)
        let found = keychain.store.keychain.diagnose()
        if found.contains(where: { $0.severity == .damage }) {
            #expect(found.contains { $0.hint?.contains("--repair-indexes") == true })
        }
        for finding in found {
            #expect(finding.hint?.contains("run `valet doctor`") != true, "\(finding)")
        }
        let repair = try keychain.store.keychain.repairIndexes()
        #expect(repair.rowCount == Self.rowCount)
        #expect(repair.damagedCount == 0)
        try checkAllIsWell()
    }

    /// What SQLite says of an entry whose damaged header has a length of gigabytes.
    @Test func `A length that no value has is damage to what reads an index`() throws {
        let found: Int? = try unlessCorrupt { () throws(SystemError) in
            throw SystemError(.tooLarge, during: "read")
        }
        #expect(found == nil)
    }

    @Test(arguments: indexes)
    func `A repair makes a keychain with overwritten index pages whole`(_ name: String) throws {
        keychain.reopen()
        for page in try keychain.pages(of: name) {
            for offset in stride(from: 0, to: 4096, by: 64) {
                try flip(page: page, offset: offset)
            }
        }
        _ = try keychain.store.keychain.repairIndexes()
        try checkAllIsWell()
        #expect(keychain.store.keychain.diagnose().allSatisfy { $0.severity == .fine })
    }

    // Promise: 1.8
    @Test(arguments: indexes, Array(0..<32) + [3930, 3981, 4060, 4095])
    func `A keychain with a damaged index acknowledges no write that a search then misses`(
        _ name: String, _ offset: Int
    ) throws {
        keychain.reopen()
        for page in try keychain.pages(of: name) { try flip(page: page, offset: offset) }
        for number in 0..<Self.plainCount {
            for account in ["a\(9 * number)", "b\(number)", "p\(number)"] {
                do throws(KeychainFailure) {
                    let isPlain = account.hasPrefix("p")
                    let item = NewItem.generic(
                        account, isPlain ? [:] : [.label: .text("l\(number)")])
                    try keychain.store.set(
                        Addition(item, value: .text("set")), for: keychain.caller)
                } catch {
                    #expect(error.code == .keychainDamaged || error.code == .damaged, "\(error)")
                    continue
                }
                #expect(try keychain.value(named: account) == "set")
                #expect(try keychain.value(.exact(account)) == "set")
                try checkList(of: account)
            }
        }
    }

    /// A search for several items is whole or fails.
    private func checkList(of account: String) throws {
        do {
            let found = try keychain.items(.exact(account, group: "one")).map(\.text)
            #expect(found == ["set"])
        } catch let error as KeychainFailure {
            #expect(error.code == .keychainDamaged)
        }
    }

    @Test func `A keychain without search entries is read by name`() throws {
        keychain.reopen()
        for page in try keychain.pages(of: "attribute") { try flip(page: page, offset: 0) }
        #expect(try keychain.value(.exact("a1")) == "v1")
        #expect(try keychain.value(named: "a1") == "v1")
        #expect(failure { _ = try keychain.value(.exact("none")) } == .keychainDamaged)
        #expect(
            failure { try keychain.set(.generic("none", [.label: .text("l")]), "x") }
                == .keychainDamaged)
        try keychain.set(.generic("a1"), "x")
        #expect(try keychain.value(named: "a1") == "x")
    }

    @Test(arguments: [0, 1, 3, 4, 5, 8, 9, 11])
    func `A repair is refused if rows themselves are lost`(_ offset: Int) throws {
        keychain.reopen()
        let pages = try keychain.pages(of: "item")
        for page in [pages[0], pages[pages.count / 2]] {
            try flip(page: page, offset: offset, mask: 0x0F)
            let before = try contents()
            let code = failure { _ = try keychain.store.keychain.repairIndexes() }
            keychain.reopen()
            let hints = keychain.store.keychain.diagnose().compactMap(\.hint)
            #expect(!hints.contains { $0.contains("run `valet doctor`") })
            keychain.reopen()
            guard code == nil else {
                #expect(code == .keychainDamaged)
                #expect(try contents() == before)
                try flip(page: page, offset: offset, mask: 0x0F)
                continue
            }
            // Nothing was lost: the byte says where a page has room.
            #expect(values() == expected)
        }
    }

    @Test func `A repair refuses a table that shows fewer rows than exist`() throws {
        keychain.reopen()
        let pages = try keychain.pages(of: "item")
        // The count of cells in a leaf.
        let count = try contents()[Int(pages[pages.count / 2] - 1) * 4096 + 4]
        try flip(page: pages[pages.count / 2], offset: 4, mask: count ^ (count - 3))
        #expect(failure { _ = try keychain.store.keychain.repairIndexes() } == .keychainDamaged)
    }

    @Test func `A repair takes no broken entry for a row that is lost`() throws {
        let item = try #require(try keychain.item(.exact("a1")))
        let row = try keychain.row(item)
        // In front of the place, which is one byte, and the account are the kinds of the place, of
        // the account and of the number (SQLite, Database File Format, section 2.1). The account
        // becomes a byte shorter, and the number, which comes last, one that no row has.
        let hashCount = row.header.accountHash.bytes.count
        try changeEntry(
            of: row, [0: 0x80, -hashCount - 3: UInt8(12 + 2 * (hashCount - 1))])
        _ = try keychain.store.keychain.repairIndexes()
        try checkAllIsWell()
    }

    @Test func `A repair keeps rows that do not open unchanged`() throws {
        let item = try #require(try keychain.item(.exact("a1")))
        try keychain.tamper(
            "UPDATE item SET names = zeroblob(72) WHERE number = ?1", item.parameter)
        let before = try parts()
        keychain.reopen()
        for page in try keychain.pages(of: "attribute") { try flip(page: page, offset: 3) }
        _ = try keychain.store.keychain.repairIndexes()
        #expect(try parts() == before)
        #expect(keychain.damage().count == 1)
        #expect(failure { _ = try keychain.value(named: "a1") } == .damaged)
    }

    /// The sealed parts of all rows.
    private func parts() throws -> [[UInt8]] {
        try keychain.tamper { connection in
            let run = try Statement(
                "SELECT names, secret FROM item ORDER BY number", on: connection
            ).start()
            var parts: [[UInt8]] = []
            while try run.step() { parts += [run.blob(0), run.blob(1)] }
            return parts
        }
    }

    @Test func `A repair works beside programs that have the keychain open`() throws {
        let other = keychain.otherProcess()
        _ = try other.contains(.exact("a1"), for: keychain.caller)
        #expect(try keychain.store.keychain.repairIndexes().rowCount == Self.rowCount)
        #expect(try other.value(of: .exact("a1"), for: keychain.caller) != nil)
        try other.set(Addition(.generic("other"), value: .text("v")), for: keychain.caller)
        #expect(try keychain.value(named: "other") == "v")
        #expect(keychain.damage() == [])
        other.close()
    }

    // Promise: 14.6
    @Test func `A repair is refused while the keychain is locked, and nothing changes`() throws {
        let epochs = TestKeychain()
        let passcode = try TestKeychain.passcode("the passcode")
        try epochs.store.keychain.setPasscode(passcode)
        try epochs.addItems([.whenUnlocked, .afterFirstUnlock])
        try epochs.store.set(
            Addition(.generic("labelled", [.label: .text("l")]), value: .text("v")),
            for: epochs.caller)
        try epochs.tamper("DELETE FROM attribute")
        let damage = epochs.damage()
        #expect(!damage.isEmpty)
        try epochs.store.keychain.lock()
        let failure = #expect(throws: KeychainFailure.self) {
            try epochs.store.keychain.repairIndexes()
        }
        #expect(failure?.code == .locked && failure?.hint?.contains("valet unlock") == true)
        try epochs.store.keychain.unlock(passcode)
        #expect(epochs.damage() == damage)
        #expect(try epochs.store.keychain.repairIndexes().rowCount == 3)
        #expect(epochs.damage().isEmpty)
    }
}

extension `A keychain with a damaged index` {
    /// Changes the entry that leads to an item by its name: bytes by their place behind the primary
    /// key.
    private func changeEntry(of row: SealedRow, _ changes: [Int: UInt8]) throws {
        keychain.reopen()
        let bytes = try contents()
        let key = Data(row.header.accountHash.bytes)
        var count = 0
        for page in try keychain.pages(of: "item_by_place") {
            let range = Int(page - 1) * 4096..<Int(page) * 4096
            guard let found = bytes.range(of: key, in: range) else { continue }
            for (offset, byte) in changes { try write(byte, at: found.upperBound + offset) }
            count += 1
        }
        #expect(count == 1)
    }
}
