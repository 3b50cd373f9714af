// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetSync

/// The bytes of docs/SYNC.md §2 and §3, made by a program that knows nothing but that page.
@Suite struct `The vectors of messages` {
    @Test(arguments: try Vector.sync("seal"))
    func `The vector of a seal has the same key and bytes`(_ vector: Vector) throws {
        let key = try vector.key("key", as: Purpose.Circle.self)
        let (data, plaintext) = (try vector.bytes("data"), try vector.bytes("plaintext"))
        let derived: CircleKey = KeyedHash.derive(from: key, .syncBatch)
        #expect(try derived.array == vector.bytes("derived_key"))
        let random = try vector.random
        let sealed = HedgedSeal.seal(
            plaintext.span, .syncBatch, associatedData: data.span, under: key, random: random)
        #expect(try sealed == vector.bytes("sealed"))
        let opened = try HedgedSeal.open(
            sealed.span, .syncBatch, associatedData: data.span, under: key)
        #expect(opened.array == plaintext)
    }

    @Test(arguments: try Vector.sync("hash"))
    func `The vector of a hash has the same digest`(_ vector: Vector) throws {
        let parts = try vector.list("part")
        let digest = UnkeyedHash.digest(.syncDevice) { hash in
            for part in parts { hash.append(part) }
        }
        #expect(try digest.bytes == vector.bytes("hash"))
    }

    @Test(arguments: try Vector.sync("record"))
    func `The vector of a record is read and written`(_ vector: Vector) throws {
        let bytes = try vector.bytes("content")
        let content = SecretValue(copying: bytes.span)
        let record = SyncRecord(
            time: try vector.number("time"), salt: try vector.id("salt"), content: content)
        #expect(try record.bytes == vector.bytes("record"))
        #expect(try hexadecimal(record.tag) == vector.text("tag"))
        let scope = try vector.scope
        let parsed = try RecordContent(parsing: content, in: scope)
        #expect(parsed.encoded.array == content.array)
        let other: KeyScope = scope == .whileUnlocked ? .afterFirstUnlock : .whileUnlocked
        let error = #expect(throws: SyncError.self) {
            try RecordContent(parsing: content, in: other)
        }
        #expect(error == SyncError(.invalid, .protection, in: .record))
    }

    @Test(arguments: try Vector.sync("message"))
    func `The vector of a message is verified and opened`(_ vector: Vector) throws {
        let message = try ReceivedMessage(parsing: vector.bytes("bytes"))
        #expect(try message.hash == vector.hash("hash"))
        let header = message.header
        #expect(try header.scope == vector.scope)
        #expect(try header.device == vector.id("device"))
        #expect(try header.name.log == vector.id("log"))
        #expect(try header.name.number == vector.number("number"))
        #expect(try header.previous == vector.hash("previous"))
        let verified = try message.verified(by: Vector.author.member.signingKey(header.scope))
        let key = try vector.key("key", as: Purpose.Circle.self)
        let plaintext = try Self.plaintext(of: verified, under: key)
        #expect(try plaintext == vector.bytes("plaintext"))
        let name = StoredName(
            number: header.name.number, part: nil,
            hash: try StoreNames.hash(of: vector.bytes("bytes")))
        #expect(try StoreNames.path(of: name, in: header.place) == vector.text("file"))
    }

    @Test(arguments: try Vector.sync("message"))
    func `The vector of a message is built again`(_ vector: Vector) throws {
        let verified = try Self.verified(vector.bytes("bytes"))
        let built = try Self.rebuilt(verified, vector)
        #expect(try built.bytes == vector.bytes("bytes"))
        #expect(try built.hash == vector.hash("hash"))
    }

    @Test(arguments: try Vector.sync("message").filter { $0.description.contains("base") })
    func `The vector of a base has its parts`(_ vector: Vector) throws {
        let key = try vector.key("key", as: Purpose.Circle.self)
        let verified = try Self.verified(vector.bytes("bytes"))
        let base = try verified.base(under: key)
        #expect(try base.parts.map(\.bytes) == vector.list("part_hash"))
        var reader = BasePartReader(base, verified.header)
        var dots: [String] = []
        for (index, bytes) in try vector.list("part").enumerated() {
            let part = try reader.read(bytes, under: key)
            dots += part.entries.map(Self.text)
            let place = BasePart.Place(verified.header, index: UInt32(index))
            let random = try HedgeBytes(vector.list("part_random")[index])
            let built = part.built(place, table: base.table, under: key, random: random)
            #expect(built.bytes == bytes)
            #expect(built.hash == base.parts[index])
            let name = StoredName(
                number: verified.header.name.number, part: UInt32(index),
                hash: StoreNames.hash(of: bytes))
            let path = StoreNames.path(of: name, in: verified.header.place)
            #expect(path.hasSuffix(vector.texts("part_file")[index]))
        }
        #expect(reader.isComplete)
        #expect(dots == vector.texts("dot"))
    }

    @Test(arguments: try Vector.sync("bad-message"))
    func `The vectors of bad messages are refused as they say`(_ vector: Vector) throws {
        let sample = try Vector.sync(file: "message-first-batch.txt")
        let key = try sample.key("key", as: Purpose.Circle.self)
        try vector.check {
            let verified = try Self.verified(vector.bytes("bytes"))
            switch verified.header.kind {
            case .batch: _ = try verified.batch(under: key)
            case .base: _ = try verified.base(under: key)
            }
        }
    }

    @Test(arguments: try Vector.sync("bad-part"))
    func `The vectors of bad parts are refused as they say`(_ vector: Vector) throws {
        let sample = try Vector.sync(file: "message-first-batch.txt")
        let key = try sample.key("key", as: Purpose.Circle.self)
        let verified = try Self.verified(vector.bytes("base"))
        var reader = BasePartReader(try verified.base(under: key), verified.header)
        try vector.check { _ = try reader.read(vector.bytes("bytes"), under: key) }
    }

    @Test(arguments: try Vector.sync("bad-parts"))
    func `The vectors of other parts are refused as they say`(_ vector: Vector) throws {
        let sample = try Vector.sync(
            file: "message-base-in-parts-one-number-missing-before-it.txt")
        let key = try sample.key("key", as: Purpose.Circle.self)
        let verified = try Self.verified(sample.bytes("bytes"))
        var reader = BasePartReader(try verified.base(under: key), verified.header)
        let (bytes, byteCount) = (try vector.bytes("bytes"), try sample.list("part")[0].count)
        try vector.check {
            for start in stride(from: 0, to: bytes.count, by: byteCount) {
                _ = try reader.read(Array(bytes[start..<(start + byteCount)]), under: key)
            }
            guard reader.isComplete else { throw SyncError(.invalid, .count, in: .base) }
        }
    }

    private static func plaintext(
        of message: VerifiedMessage, under key: borrowing CircleKey
    ) throws -> [UInt8] {
        var reader = try message.open(under: key)
        return try reader.rest()
    }

    private static func rebuilt(
        _ message: VerifiedMessage, _ vector: Vector
    ) throws -> BuiltMessage {
        let random = try vector.random
        let author = try Vector.author.identity(message.header.scope)
        let key = try vector.key("key", as: Purpose.Circle.self)
        if message.header.kind == .base {
            let base = try message.base(under: key)
            return base.built(
                message.header, under: key, signedBy: author.signing, random: random)
        }
        let batch = try message.batch(under: key)
        return batch.built(message.header, under: key, signedBy: author.signing, random: random)
    }

    private static func verified(_ bytes: [UInt8]) throws -> VerifiedMessage {
        let message = try ReceivedMessage(parsing: bytes)
        return try message.verified(by: Vector.author.member.signingKey(message.header.scope))
    }

    private static func text(_ entry: BasePart.Entry) -> String {
        let log = hexadecimal(entry.dot.log.bytes)
        let tag = hexadecimal(entry.dot.tag)
        let record = entry.record.map { hexadecimal($0.bytes) } ?? "cloud"
        return "\(log) \(entry.dot.number) \(tag) \(record)"
    }

}

private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

private func hexadecimal(_ number: UInt64) -> String {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: number)
    return hexadecimal(bytes)
}
