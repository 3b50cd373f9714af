// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// Flipped bits in any page, of the database or of its log: docs/FORMAT.md §2.2, §7.1.
@Suite struct `A keychain with a damaged page` {
    /// Every table and index that has rows.
    static let names = [
        "sqlite_schema", "keychain", "keybag", "place", "place_by_hash", "place_by_group", "item",
        "item_by_place", "item_by_account", "item_by_change", "attribute", "sync_mark",
    ]
    /// More services than have places with positive ids.
    static let serviceCount = 70

    private static let sample = Result { try makeSample() }

    let keychain: TestKeychain

    init() throws {
        keychain = try TestKeychain(copying: Self.sample.get())
    }

    private static func makeSample() throws -> TestKeychain {
        let keychain = TestKeychain()
        for number in 0..<Self.serviceCount {
            try keychain.add(
                .generic(
                    "a\(number)", service: "s\(number)", [.label: .text("l\(number)")],
                    isSynchronizable: number % 10 == 0), "v\(number)")
        }
        try keychain.store.set(
            Addition(.generic("noted"), value: .text("v")),
            for: Caller(applicationIdentifier: "app", accessGroups: ["one"]))
        keychain.store.close()
        return keychain
    }

    private func change(_ file: String, _ change: (inout Data) throws -> Void) throws {
        let path = URL(fileURLWithPath: keychain.folder + "/" + file)
        var bytes = try Data(contentsOf: path)
        try change(&bytes)
        let file = try FileHandle(forUpdating: path)
        try file.write(contentsOf: bytes)
        try file.close()
    }

    /// Every way to an item: the right answer, or damage.
    private func checkAnswers(_ what: String) {
        for number in stride(from: 0, to: Self.serviceCount, by: 7) {
            let (account, service) = ("a\(number)", "s\(number)")
            let right = "v\(number)"
            let isShared = number % 10 == 0
            expect(what) {
                try keychain.value(
                    named: account, service: service, isSynchronizable: isShared) == right
            }
            expect(what) { try keychain.value(.exact(account, service: service, .any)) == right }
            let searches: [ItemAttributes] = [
                [.account: .text(account)], [.service: .text(service)],
                [.label: .text("l\(number)")],
            ]
            for attributes in searches {
                expect(what) { try keychain.items(.generic(attributes)).map(\.text) == [right] }
            }
        }
        expect(what) { try keychain.items(.generic()).count == Self.serviceCount + 1 }
        expect(what) {
            try keychain.set(.generic("a1", service: "s1", [.label: .text("l1")]), "set")
            return try keychain.value(.exact("a1", service: "s1")) == "set"
        }
        expect(what) {
            try keychain.add(.generic("new", service: "new", [.label: .text("new")]), "new")
            return try keychain.accounts(.generic([.label: .text("new")])) == ["new"]
        }
        expect(what) { try keychain.delete(.exact("a2", service: "s2")) == 1 }
    }

    private func expect(_ what: String, _ isRight: () throws -> Bool) {
        do {
            #expect(try isRight(), "\(what)")
        } catch let error as KeychainFailure {
            #expect([.keychainDamaged, .damaged].contains(error.code), "\(what): \(error)")
        } catch {
            Issue.record(error, "\(what)")
        }
    }

    private func checkAllIsWell() throws {
        for number in 0..<Self.serviceCount {
            #expect(
                try keychain.value(.exact("a\(number)", service: "s\(number)", .any))
                    == "v\(number)")
            #expect(
                try keychain.accounts(.generic([.label: .text("l\(number)")])) == ["a\(number)"])
        }
        #expect(keychain.damage() == [])
    }

    // Promise: 14.6
    @Test(arguments: names)
    func `A flipped bit in a page is damage or nothing to every call, and a repair undoes it`(
        _ name: String
    ) throws {
        let whole = try Self.sample.get().folder
        for (index, page) in try keychain.pages(of: name).map(Int.init).enumerated() {
            keychain.reopen()
            let offset = [0, 4, 9, 1500, 4000, 4085][(index + page) % 6]
            try restore(whole)
            try change("keychain.db") { $0[4096 * (page - 1) + offset] ^= 1 << (page % 8) }
            #expect(!keychain.damage().isEmpty, "page \(page)")
            checkAnswers("page \(page), byte \(offset)")
            keychain.reopen()
            try restore(whole)
            try change("keychain.db") { $0[4096 * (page - 1) + offset] ^= 1 << (page % 8) }
            let repair = try keychain.store.keychain.repairIndexes()
            #expect(repair.rowCount == Self.serviceCount + 1 && repair.damagedCount == 0)
            try checkAllIsWell()
        }
    }

    private func restore(_ folder: String) throws {
        let data = try Data(contentsOf: URL(fileURLWithPath: folder + "/keychain.db"))
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: keychain.folder + "/keychain.db" + suffix)
        }
        let path = keychain.folder + "/keychain.db"
        try data.write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    // Promise: 14.6
    @Test func `A flipped bit in the log is damage to every call, and a repair undoes it`() throws {
        // A program that has the log open: nobody reads it anew and drops the frame.
        let other = keychain.otherProcess()
        for number in 0..<Self.serviceCount {
            let item = NewItem.generic(
                "a\(number)", service: "s\(number)", isSynchronizable: number % 10 == 0)
            try other.set(Addition(item, value: .text("v\(number)")), for: keychain.caller)
        }
        let frames = try frames()
        #expect(frames.count > 5)
        for frame in frames {
            let offset = 32 + 4120 * frame + 24 + 2048
            try change("keychain.db-wal") { $0[offset] ^= 4 }
            keychain.reopen()
            for number in stride(from: 0, to: Self.serviceCount, by: 7) {
                expect("frame \(frame)") {
                    try keychain.value(.exact("a\(number)", service: "s\(number)", .any))
                        == "v\(number)"
                }
            }
            #expect(!keychain.damage().isEmpty)
            try change("keychain.db-wal") { $0[offset] ^= 4 }
        }
        try change("keychain.db-wal") { $0[32 + 4120 * frames[0] + 24 + 2048] ^= 4 }
        keychain.reopen()
        _ = try keychain.store.keychain.repairIndexes()
        try checkAllIsWell()
        other.close()
    }

    /// The frames that readers need: the last one of each page.
    private func frames() throws -> [Int] {
        let bytes = [UInt8](
            try Data(contentsOf: URL(fileURLWithPath: keychain.folder + "/keychain.db-wal")))
        var last: [[UInt8]: Int] = [:]
        for start in stride(from: 32, to: bytes.count - 4120, by: 4120)
        where bytes[start + 8..<start + 16] == bytes[16..<24] {
            last[Array(bytes[start..<start + 4])] = (start - 32) / 4120
        }
        return last.values.sorted()
    }

    /// Finds bytes of a row in table `item`, and not those in an index.
    private func place(of bytes: [UInt8]) throws -> Int {
        let pages = try keychain.pages(of: "item").map(Int.init)
        let whole = try Data(contentsOf: URL(fileURLWithPath: keychain.folder + "/keychain.db"))
        let found = pages.compactMap { page in
            whole.range(of: Data(bytes), in: 4096 * (page - 1)..<4096 * page)
        }
        return try #require(found.count == 1 ? found[0].lowerBound : nil)
    }

    private func row(_ account: String, _ service: String) throws -> SealedRow {
        let item = try keychain.item(.exact(account, service: service))
        return try keychain.row(try #require(item))
    }

    // Promise: 14.6
    /// In front of the hash of the account is the place, one byte.
    @Test(arguments: [0, -1])
    func `A repair finds the name of a row in its index`(_ offset: Int) throws {
        let hash = try row("a3", "s3").header.accountHash
        keychain.reopen()
        let place = try place(of: Array(hash.bytes))
        try change("keychain.db") { $0[place + offset] ^= 0x42 }
        #expect(
            failure { _ = try keychain.value(.exact("a3", service: "s3")) } == .keychainDamaged)
        let repair = try keychain.store.keychain.repairIndexes()
        #expect(repair.rowCount == Self.serviceCount + 1 && repair.damagedCount == 0)
        try checkAllIsWell()
    }

    // Promise: 14.6
    @Test func `A row that a repair cannot open is damaged, not absent`() throws {
        let names = try row("a3", "s3").names
        keychain.reopen()
        let place = try place(of: names)
        try change("keychain.db") { bytes in
            for offset in 0..<8 { bytes[place + offset] ^= 0x55 }
        }
        let repair = try keychain.store.keychain.repairIndexes()
        #expect(repair.rowCount == Self.serviceCount + 1 && repair.damagedCount == 1)
        #expect(keychain.damage().count == 1)
        let queries: [ItemQuery] = [
            .exact("a3", service: "s3"), .generic([.account: .text("a3")]),
            .generic([.label: .text("l3")]), .generic([.service: .text("s3")]),
        ]
        for query in queries {
            #expect(failure { _ = try keychain.value(query) } == .damaged)
        }
        #expect(failure { _ = try keychain.value(named: "a3", service: "s3") } == .damaged)
        for number in 0..<Self.serviceCount where number != 3 {
            let value = try keychain.value(.exact("a\(number)", service: "s\(number)", .any))
            #expect(value == "v\(number)")
        }
        try keychain.set(.generic("a3", service: "s3", [.label: .text("l3")]), "v3")
        #expect(try keychain.value(named: "a3", service: "s3") == "v3")
        #expect(keychain.damage() == [])
    }
}
