// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystem
import ValetSystemSupport
import ValetTestValues

@testable import ValetDatabase

@Suite struct `The checksum of a page` {
    static let rowCount = 60

    let folder: TestFolder
    let directory: PrivateDirectory
    let connection: Connection

    init() throws {
        folder = try TestFolder()
        directory = try folder.directory()
        connection = try directory.makeDatabase()
        try insertRows(from: 0)
    }

    private func insertRows(from first: Int) throws {
        let transaction = try Transaction(on: connection)
        try insertRows(inTransactionFrom: first)
        try transaction.commit()
    }

    private func insertRows(inTransactionFrom first: Int) throws {
        for number in first..<first + Self.rowCount {
            try connection.insert(key(number), .init(repeating: UInt8(number % 256), count: 500))
        }
    }

    private func key(_ number: Int) -> [UInt8] { [UInt8(number / 256), UInt8(number % 256)] }

    /// Reads every row, and every page of the table with it.
    private func readAll(_ connection: Connection) throws -> Int {
        let run = try Statement("SELECT k, v FROM t ORDER BY k", on: connection).start()
        var count = 0
        while try run.step() {
            let value = run.blob(1)
            #expect(value == .init(repeating: run.blob(0)[1], count: value.count))
            count += 1
        }
        return count
    }

    private func change(_ name: String, at offset: Int, _ change: (UInt8) -> UInt8) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder.path(name)))
        try file.seek(toOffset: UInt64(offset))
        let byte = try #require(try file.read(upToCount: 1)?.first)
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data([change(byte)]))
        try file.close()
    }

    private func number(ofBadPage name: String) throws -> Int? {
        let bytes = try folder.read(name)
        return stride(from: 0, to: bytes.count, by: 4096).first { offset in
            !fits(Array(bytes[offset..<offset + 4096]), UInt32(offset / 4096 + 1))
        }.map { $0 / 4096 + 1 }
    }

    private func fits(_ page: [UInt8], _ number: UInt32) -> Bool {
        unsafe page.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return unsafe PageChecksum.fits(start, number: number)
        }
    }

    private func putChecksum(into page: inout [UInt8], _ number: UInt32) {
        unsafe page.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe PageChecksum.put(into: start, number: number)
        }
    }

    /// docs/FORMAT.md §2.2.
    @Test(
        arguments: [
            ([UInt8](repeating: 0, count: 4096), 1, 0x9b5a_a0f9_7718_7302),
            ((0..<4096).map { UInt8($0 % 251) }, 7, 0xdd3f_10d1_fb5f_1aa4),
        ] as [([UInt8], UInt32, UInt64)])
    func `The checksum is that of the format`(
        _ page: [UInt8], _ number: UInt32, _ sum: UInt64
    ) {
        var page = page
        putChecksum(into: &page, number)
        #expect((0..<8).map { UInt64(page[4080 + $0]) << (8 * $0) }.reduce(0, |) == sum)
        #expect(fits(page, number) && !fits(page, number + 1))
    }

    // Promise: 1.8
    @Test func `A checksum sees every flipped bit, and bytes that change places`() {
        let page = (0..<4096).map { _ in UInt8.random(in: 0...255) }
        var whole = page
        putChecksum(into: &whole, 3)
        for bit in 0..<8 * 4088 {
            var changed = whole
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(!fits(changed, 3), "bit \(bit)")
        }
        for offset in stride(from: 0, to: 4080 - 64, by: 8)
        where whole[offset] != whole[offset + 64] {
            var changed = whole
            changed.swapAt(offset, offset + 64)
            #expect(!fits(changed, 3), "offset \(offset)")
        }
    }

    @Test func `Every page of a database has one, and of a copy`() throws {
        try connection.copy(to: "copy.db", in: directory)
        try connection.vacuum()
        try connection.checkpoint(.truncate)
        #expect(try number(ofBadPage: "keychain.db") == nil)
        #expect(try number(ofBadPage: "copy.db") == nil)
        #expect(try folder.read("copy.db").count > 4 * 4096)
    }

    // Promise: 1.8
    @Test(arguments: [0, 20, 1000, 4079, 4080, 4087])
    func `A changed byte of any page is damage`(_ offset: Int) throws {
        try connection.checkpoint(.truncate)
        try connection.close()
        let pageCount = try folder.read("keychain.db").count / 4096
        for page in 0..<pageCount {
            try change("keychain.db", at: 4096 * page + offset) { $0 ^ 0x10 }
            let error = #expect(throws: SystemError.self) { try readAll(directory.open()) }
            #expect(error?.code == .corrupt, "page \(page + 1)")
            try change("keychain.db", at: 4096 * page + offset) { $0 ^ 0x10 }
        }
        #expect(try readAll(directory.open()) == Self.rowCount)
    }

    // Promise: 1.8
    @Test func `A page in the place of another one is damage`() throws {
        try connection.checkpoint(.truncate)
        try connection.close()
        let whole = try folder.read("keychain.db")
        let count = whole.count / 4096
        for page in 1..<count {
            var bytes = whole
            let other = page == 1 ? 2 : page - 1
            bytes.replaceSubrange(
                4096 * page..<4096 * (page + 1), with: whole[4096 * other..<4096 * (other + 1)])
            try folder.write(bytes, to: "keychain.db")
            let error = #expect(throws: SystemError.self) { try readAll(directory.open()) }
            #expect(error?.code == .corrupt, "page \(page + 1)")
        }
    }

    // Promise: 1.8
    @Test func `A changed byte of the log is damage to programs that have it open`() throws {
        for frame in try lastFrames() {
            let offset = LogFormat.offset(ofFrame: frame) + 24 + 2000
            try change("keychain.db-wal", at: offset) { $0 ^ 1 }
            let error = #expect(throws: SystemError.self) { try readAll(directory.open()) }
            #expect(error?.code == .corrupt, "frame \(frame)")
            // A checkpoint would give the page a checksum that fits.
            let checkpoint = #expect(throws: SystemError.self) {
                try connection.checkpoint(.passive)
            }
            #expect(checkpoint?.code == .corrupt, "frame \(frame)")
            try change("keychain.db-wal", at: offset) { $0 ^ 1 }
        }
        #expect(try readAll(directory.open()) == Self.rowCount)
        try connection.checkpoint(.truncate)
        #expect(try number(ofBadPage: "keychain.db") == nil)
    }

    /// The numbers of the frames that readers need: the last one of each page.
    private func lastFrames() throws -> [Int] {
        let bytes = try folder.read("keychain.db-wal")
        var last: [UInt32: Int] = [:]
        for frame in 0..<connection.walFrameCount {
            last[LogFormat.number(bytes.span, at: LogFormat.offset(ofFrame: frame))] = frame
        }
        #expect(last.count > 4)
        return last.values.sorted()
    }

    /// A transaction that is larger than the cache writes pages to the log before it ends, and
    /// overwrites them there.
    @Test(arguments: [1, 40])
    func `The log's own checksums stay right, so that another process sees every commit`(
        _ roundCount: Int
    ) throws {
        try Statement("PRAGMA cache_size = 8", on: connection).execute()
        let transaction = try Transaction(on: connection)
        for number in 0..<roundCount {
            try insertRows(inTransactionFrom: Self.rowCount * (number + 1))
            try Statement(
                "UPDATE t SET v = CAST(v || v AS BLOB) WHERE length(v) < 900", on: connection
            ).execute()
        }
        try transaction.commit()
        try insertRows(from: Self.rowCount * 100)
        let other = try TestFolder()
        for name in ["keychain.db", "keychain.db-wal"] {
            try other.write(folder.read(name), to: name)
        }
        let copy = try other.directory().open()
        #expect(try readAll(copy) == Self.rowCount * (roundCount + 2))
        #expect(try copy.integrityProblems().isEmpty)
        #expect(try DamagedLog.find(on: copy) == nil)
        #expect(try copy.hasWholeLog())
    }

    @Test func `A repair reads damaged pages`() throws {
        try connection.checkpoint(.truncate)
        try connection.close()
        let bytes = try folder.read("keychain.db")
        let value = try #require(
            bytes.indices.dropFirst(8192).first { bytes[$0..<$0 + 100].allSatisfy { $0 == 5 } })
        try change("keychain.db", at: value + 50) { _ in 6 }
        #expect(throws: SystemError.self) { try readAll(directory.open()) }
        let repair = try directory.open(.repair)
        let run = try Statement("SELECT v FROM t WHERE k = ?1", on: repair).start()
        try run.bind(key(5), at: 1)
        #expect(try run.step())
        #expect(run.blob(0).count { $0 == 6 } == 1)
    }
}
