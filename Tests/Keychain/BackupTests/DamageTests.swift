// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetKeychainStore

/// A file whose bytes a test changes while a reader has it open.
private struct ChangingFile {
    let handle: FileHandle

    init(_ path: String) throws {
        handle = try #require(FileHandle(forUpdatingAtPath: path))
    }

    func put(_ bytes: [UInt8], at offset: Int) throws {
        try handle.seek(toOffset: UInt64(offset))
        try handle.write(contentsOf: Data(bytes))
    }

    func cut(to byteCount: Int) throws { try handle.truncate(atOffset: UInt64(byteCount)) }
}

@Suite struct `A damaged backup` {
    let folder: TestFolder
    let good: [UInt8]

    init() throws {
        folder = try TestFolder()
        // Two chunks and a bit: the first item fills one, and begins in it.
        let items = [
            try BackupItem.sample("a", value: .init(repeating: 1, count: 100_000)),
            try .sample("b", value: .init(repeating: 2, count: 40_000)), try .sample("c"),
        ]
        try TestBackup.write(items, to: folder.backup)
        good = try folder.read()
    }

    private var chunks: [[UInt8]] {
        stride(from: 236, to: good.count, by: TestBackup.chunkByteCount).map {
            Array(good[$0..<($0 + TestBackup.chunkByteCount)])
        }
    }

    /// Every byte of both ends of a chunk, where the item and the tag are, and some of the padding.
    private func places(in range: Range<Int>) -> [Int] {
        range.filter {
            $0 - range.lowerBound < 1_024 || range.upperBound - $0 < 256 || $0 % 13 == 0
        }
    }

    private func write(_ chunks: [[UInt8]]) throws {
        try folder.write(Array(good.prefix(236)) + chunks.joined())
    }

    private func expect(
        _ code: BackupFault, at place: String?,
        _ location: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: KeychainFailure.self, sourceLocation: location) {
            try TestBackup.open(folder.backup).verify()
        }
        #expect(error?.fault == code, sourceLocation: location)
        #expect(error?.place == place, sourceLocation: location)
        #expect(error?.path == folder.backup, sourceLocation: location)
    }

    // Promise: 10.2
    @Test func `A damaged backup is refused whichever byte of the header has changed`() throws {
        for index in 0..<236 {
            for bit in [0x01, 0x80] as [UInt8] {
                var bytes = Array(good.prefix(236))
                bytes[index] ^= bit
                let error = #expect(throws: KeychainFailure.self) {
                    try BackupHeader(parsing: bytes, path: "-", costs: .any)
                }
                switch index {
                case 0..<8: #expect(error?.fault == .notABackup)
                case 8, 9: #expect([.newer, .damaged].contains(error?.fault))
                default: #expect(error?.fault == .damaged)
                }
            }
        }
    }

    // Promise: 10.2
    @Test func `A damaged backup is refused whichever byte of a chunk has changed`() throws {
        try TestBackup.write([.sample("a")], to: folder.path("small"))
        let bytes = try folder.read("small")
        let file = try ChangingFile(folder.path("small"))
        let reader = try TestBackup.open(folder.path("small"))
        _ = try reader.verify()
        for index in places(in: 236..<bytes.count) {
            try file.put([bytes[index] ^ 1 << UInt8(index % 8)], at: index)
            let error = #expect(throws: KeychainFailure.self) { try reader.verify() }
            #expect(error?.fault == .damaged)
            #expect(error?.place == "in chunk 0")
            try file.put([bytes[index]], at: index)
        }
        _ = try reader.verify()
    }

    // Promise: 10.2
    @Test func `A damaged backup is refused wherever it was cut off`() throws {
        try TestBackup.write([.sample("a")], to: folder.path("small"))
        let bytes = try folder.read("small")
        let file = try ChangingFile(folder.path("small"))
        let reader = try TestBackup.open(folder.path("small"))
        for byteCount in places(in: 236..<bytes.count).reversed() {
            try file.cut(to: byteCount)
            let error = #expect(throws: KeychainFailure.self) { try reader.verify() }
            #expect(error?.fault == .truncated)
            #expect(error?.place == "in chunk 0")
        }
        for byteCount in 0..<236 {
            let error = #expect(throws: KeychainFailure.self) {
                try BackupHeader(parsing: Array(bytes.prefix(byteCount)), path: "-", costs: .any)
            }
            #expect(error?.fault == (byteCount < 8 ? .notABackup : .truncated))
        }
    }

    @Test func `A damaged backup is refused between chunks, too`() throws {
        for count in 0..<chunks.count {
            try write(Array(chunks.prefix(count)))
            expect(.truncated, at: "in chunk \(count)")
        }
        try folder.write(Array(good.dropLast()))
        expect(.truncated, at: "in chunk \(chunks.count - 1)")
    }

    // Promise: 10.2
    @Test(arguments: [1, 2, 16, 65_553, 70_000])
    func `A damaged backup is refused with bytes after its end`(_ count: Int) throws {
        try folder.write(good + [UInt8](repeating: 0, count: count))
        expect(.damaged, at: "after the last chunk")
    }

    @Test func `A damaged backup is refused with its last chunk twice`() throws {
        try write(chunks + chunks.suffix(1))
        expect(.damaged, at: "after the last chunk")
    }

    // Promise: 10.2
    @Test(arguments: [[1, 0, 2], [0, 2, 1], [0, 0, 1, 2], [0, 1, 1, 2], [1, 2], [0, 2], [2]])
    func `A damaged backup is refused with chunks swapped, doubled or left out`(_ order: [Int])
        throws
    {
        try write(order.map { chunks[$0] })
        let place = zip(order + [-1], 0...).first { $0 != $1 }?.1 ?? 0
        expect(.damaged, at: "in chunk \(place)")
    }

    // Promise: 10.2
    @Test(arguments: [0, 1, 2])
    func `A damaged backup is refused with a chunk of another backup`(_ index: Int) throws {
        try TestBackup.write(
            [.sample("a", value: .init(repeating: 1, count: 140_000))], to: folder.path("other"))
        let other = try folder.read("other")
        #expect(other.count == good.count)
        let start = 236 + index * TestBackup.chunkByteCount
        var spliced = good
        let end = start + TestBackup.chunkByteCount
        spliced.replaceSubrange(start..<end, with: other[start..<end])
        try folder.write(spliced)
        expect(.damaged, at: "in chunk \(index)")
    }

    @Test func `A damaged backup is refused with the header of another backup`() throws {
        try TestBackup.write([], to: folder.path("other"))
        try folder.write(Array(folder.read("other").prefix(236)) + good.dropFirst(236))
        expect(.damaged, at: "in chunk 0")
    }

    @Test(arguments: [10, 26, 59, 60, 120, 179])
    func `A damaged backup is refused with a header whose checksum was forged`(_ index: Int) throws
    {
        var bytes = Array(good.prefix(204))
        bytes[index] ^= 1
        try folder.write(bytes + Digest(of: bytes.span).bytes + good.dropFirst(236))
        let error = #expect(throws: KeychainFailure.self) { try TestBackup.open(folder.backup) }
        switch index {
        case 59: #expect(error?.fault == .newer)
        // The keychain's id makes the key, and the commitment says which key it is.
        case 10, 76..<108: #expect(error?.fault == .wrongPassphrase)
        default: #expect(error?.fault == .damaged)
        }
    }

    @Test func `A damaged backup is refused with the stream header forged`() throws {
        var bytes = Array(good.prefix(204))
        bytes[180] ^= 1
        try folder.write(bytes + Digest(of: bytes.span).bytes + good.dropFirst(236))
        expect(.damaged, at: "in chunk 0")
    }
}

@Suite struct `A backup that changes while it is read` {
    @Test func `A backup being read is noticed by the second reading`() throws {
        let folder = try TestFolder()
        try TestBackup.write(
            [.sample("a", value: .init(repeating: 1, count: 70_000)), .sample("b")],
            to: folder.backup)
        let reader = try TestBackup.open(folder.backup)
        let first = try reader.verify()
        #expect(first.itemCount == 2)
        var second = reader.items()
        #expect(try second.next() != nil)
        // Another backup under the same passphrase, sound in itself, and as long.
        try TestBackup.write(
            [.sample("c", value: .init(repeating: 1, count: 70_000))], to: folder.path("other"))
        try ChangingFile(folder.backup).put(folder.read("other"), at: 0)
        let error = #expect(throws: KeychainFailure.self) { try reader.verify() }
        #expect(error?.fault == .damaged)
        #expect(error?.place == "in chunk 0")
    }

    @Test func `A backup being read is still the one that was opened when its name is another's`()
        throws
    {
        let folder = try TestFolder()
        let written = try TestBackup.write([.sample("a")], to: folder.backup)
        let reader = try TestBackup.open(folder.backup)
        var writer = try TestBackup.writer(folder.backup, replacing: true)
        try writer.append(.sample("b"))
        let other = try writer.finish()
        #expect(try reader.verify() == written)
        #expect(try TestBackup.open(folder.backup).verify() == other)
        #expect(written != other)
    }

    @Test func `A backup being read goes on throwing once it has thrown`() throws {
        let folder = try TestFolder()
        try TestBackup.write(
            [.sample("a", value: .init(repeating: 1, count: 70_000))], to: folder.backup)
        try ChangingFile(folder.backup).cut(to: 70_000)
        var reading = try TestBackup.open(folder.backup).items()
        var codes: [BackupFault?] = []
        for _ in 0..<2 {
            do throws(KeychainFailure) {
                _ = try reading.next()
                codes.append(nil)
            } catch {
                codes.append(error.fault)
            }
        }
        do throws(KeychainFailure) {
            _ = try reading.end()
            codes.append(nil)
        } catch {
            codes.append(error.fault)
        }
        #expect(codes == [.truncated, .truncated, .truncated])
    }
}
