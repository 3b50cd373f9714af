// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetKeychainStore

@Suite struct `What was put into a backup` {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// Writes, reads, and expects the same items and the same summary.
    private func expectSame(
        _ items: [BackupItem], _ location: SourceLocation = #_sourceLocation
    ) throws {
        let written = try TestBackup.write(items, to: folder.backup)
        let reader = try TestBackup.open(folder.backup)
        let (read, summary) = try reader.all()
        #expect(read.map(\.record) == items.map(\.record), sourceLocation: location)
        #expect(summary == written, sourceLocation: location)
        #expect(summary.itemCount == UInt64(items.count), sourceLocation: location)
        #expect(try reader.verify() == summary, sourceLocation: location)
        #expect(try reader.origin == TestBackup.origin(), sourceLocation: location)
    }

    @Test(arguments: [0, 1, 2, 1_000])
    func `What a backup contains comes out again`(_ count: Int) throws {
        try expectSame((0..<count).map { try .sample("account \($0)") })
    }

    @Test(arguments: [[], nil, [0], [UInt8](repeating: 0x80, count: 70_000)] as [[UInt8]?])
    func `What a backup contains keeps its value, or has none`(_ value: [UInt8]?) throws {
        try expectSame([.sample("a", value: value), .sample("b")])
        let (items, _) = try TestBackup.open(folder.backup).all()
        #expect(items[0].value?.byteCount == value?.count)
    }

    @Test func `What a backup contains may have a value of 16 MiB`() throws {
        let value = SecretBytes(randomByteCount: 16 << 20)
        let whole = SecretValue(value)
        let properties = try BackupItem.sample("a").properties
        let item = try BackupItem(properties, logicalTime: 1, value: whole)
        let written = try TestBackup.write([item], to: folder.backup)
        var reading = try TestBackup.open(folder.backup).items()
        let read = try #require(try reading.next()?.value)
        #expect(
            read.withBytes { read in
                whole.withBytes { whole in
                    SecretBytes(copying: read).isEqual(to: SecretBytes(copying: whole))
                }
            })
        #expect(try reading.end() == written)
    }

    @Test(arguments: [65_522, 65_523, 65_524, 65_535, 65_536, 131_058, 131_059, 131_060])
    func `What a backup contains may end anywhere in a chunk`(_ contentByteCount: Int) throws {
        let empty = try BackupItem.sample("a", value: []).record.count
        let value = [UInt8](repeating: 5, count: contentByteCount - empty)
        try expectSame([.sample("a", value: value)])
        let chunks = (contentByteCount + 13 + 65_535) / 65_536
        #expect(try folder.read().count == 236 + chunks * TestBackup.chunkByteCount)
    }

    @Test func `What a backup contains keeps attributes of every type, byte for byte`() throws {
        let composed = "Zo\u{eb} \u{1f5dd}"
        let decomposed = "Zoe\u{308} \u{1f5dd}"
        let attributes: ItemAttributes = [
            .account: .text(composed), .service: .text(decomposed), .label: .text(""),
            .generic: .bytes([0, 255]), .comment: .bytes([]), .creator: .number(.min),
            .type: .number(-1), .isInvisible: .number(.max), .creationDate: .date(-0.0),
            .modificationDate: .date(.infinity), .itemDescription: .text("a\u{0}b"),
        ]
        var properties = NewItem(
            .genericPassword, attributes: attributes, accessGroup: AccessGroup(decomposed),
            isSynchronizable: true, protectionClass: .always)
        var items = [try BackupItem(properties, logicalTime: .min, value: nil)]
        properties.isSynchronizable = false
        properties.protectionClass = .afterFirstUnlock
        items.append(try BackupItem(properties, logicalTime: .max, value: nil))
        let internet = NewItem(
            .internetPassword,
            attributes: [.server: .text("s"), .port: .number(443), .path: .bytes([1])],
            accessGroup: AccessGroup(""))
        items.append(try BackupItem(internet, logicalTime: 0, value: nil))
        try expectSame(items)
        let (read, _) = try TestBackup.open(folder.backup).all()
        #expect(read.map(\.properties) == items.map(\.properties))
        #expect(read.map(\.logicalTime) == [.min, .max, 0])
        guard case .text(let text) = read[0].properties.attributes[.service] else {
            Issue.record("the service is no text")
            return
        }
        #expect(Array(text.utf8) == Array(decomposed.utf8))
    }

    // Promise: 10.1
    @Test func `What a backup contains is nowhere in the file`() throws {
        let name = "an account that can be told from noise"
        let value = Array("a value that can be told from noise".utf8)
        try TestBackup.write([.sample(name, value: value)], to: folder.backup)
        let file = try folder.read()
        for needle in [Array(name.utf8), value, Array("com.example.app".utf8)] {
            #expect(!file.contains(needle))
            #expect((Array(repeating: 0, count: 99) + needle + [1]).contains(needle))
        }
    }

    @Test func `Two backups of the same items have nothing in common`() throws {
        let items = [try BackupItem.sample("a")]
        try TestBackup.write(items, to: folder.backup)
        try TestBackup.write(items, to: folder.path("other"))
        let (one, two) = (try folder.read(), try folder.read("other"))
        #expect(one.count == two.count)
        let same = zip(one.dropFirst(59), two.dropFirst(59)).count { $0 == $1 }
        // One byte in 256 is the same by chance: about 257.
        #expect(same < 600)
    }

    // Promise: 10.1
    @Test(arguments: [0, 1, 300])
    func `What a backup contains does not show in the size`(_ count: Int) throws {
        try TestBackup.write((0..<count).map { try .sample("\($0)") }, to: folder.backup)
        #expect(try folder.read().count == 236 + TestBackup.chunkByteCount)
    }
}

extension [UInt8] {
    fileprivate func contains(_ needle: [UInt8]) -> Bool {
        guard let first = needle.first, count >= needle.count else { return false }
        return (0...(count - needle.count)).contains { start in
            self[start] == first && self[start..<(start + needle.count)] == needle[...]
        }
    }
}
