// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetSync

/// The rules of docs/SYNC.md §3.2 about the parts of a base.
@Suite struct `Parts of a base` {
    /// A part whose fields can be wrong.
    struct RawPart {
        var count: UInt32?
        var entries: [[UInt8]] = []

        var bytes: [UInt8] {
            var bytes: [UInt8] = []
            bytes.append(bigEndian: count ?? UInt32(entries.count))
            return bytes + entries.flatMap(\.self)
        }
    }

    private static func record(_ time: UInt64) throws -> SyncRecord {
        let content = RawContent().bytes
        return SyncRecord(
            time: time, salt: RecordSalt(high: 1, low: 2),
            content: SecretValue(copying: content.span))
    }

    private static func entry(
        number: UInt64, _ record: SyncRecord, lives: UInt8 = 1, tag: UInt64? = nil
    ) -> [UInt8] {
        RawDot(index: 0, number: number, tag: tag ?? record.tag).bytes + [lives]
            + (lives == 1 ? record.bytes : [])
    }

    /// Seals plaintexts as the parts of a base that says `dotCount`.
    private static func read(_ parts: [[UInt8]], dotCount: UInt32) throws -> SyncError? {
        let author = TestAuthor()
        let key = try TestAuthor.key()
        let header = try author.header(.base)
        var base = Base(
            milliseconds: 1, reads: 1,
            table: [TestAuthor.log: TestAuthor.before, TestAuthor.other: .start],
            own: [Base.OwnMessage(number: 3, hashStart: 1)], dotCount: dotCount, parts: [])
        var sealed: [[UInt8]] = []
        for (index, part) in parts.enumerated() {
            var padded = part
            Padding.pad(&padded, toMultipleOf: MessageFormat.largeStep)
            var data = header.circle.bytes + [header.scope.rawValue] + header.name.log.bytes
            data.append(bigEndian: header.name.number)
            data.append(bigEndian: UInt32(index))
            data += header.keyID.bytes
            sealed.append(
                HedgedSeal.seal(
                    padded.span, .syncPart, associatedData: data.span, under: key,
                    random: .random()))
        }
        base.parts = sealed.map { bytes in
            SyncHash(UnkeyedHash.digest(.syncPart) { $0.append(bytes) })
        }
        return try read(sealed, of: base, header)
    }

    private static func read(
        _ parts: [[UInt8]], of base: Base, _ header: MessageHeader
    ) throws -> SyncError? {
        let key = try TestAuthor.key()
        var reader = BasePartReader(base, header)
        do throws(SyncError) {
            for part in parts { _ = try reader.read(part, under: key) }
            return nil
        } catch {
            return error
        }
    }

    @Test func `Parts of a base are read one after the other`() throws {
        let (one, two) = (try Self.record(1), try Self.record(2))
        let first = RawPart(entries: [Self.entry(number: 1, one)])
        let second = RawPart(entries: [
            Self.entry(number: 2, two), Self.entry(number: 4, one, lives: 0),
        ])
        #expect(try Self.read([first.bytes, second.bytes], dotCount: 3) == nil)
        // Rising through all parts.
        #expect(
            try Self.read([second.bytes, first.bytes], dotCount: 3)
                == SyncError(.invalid, .order, in: .part))
        #expect(
            try Self.read([first.bytes, first.bytes], dotCount: 2)
                == SyncError(.invalid, .order, in: .part))
    }

    @Test func `Parts of a base have the dots that their base counts`() throws {
        let record = try Self.record(1)
        let part = RawPart(entries: [Self.entry(number: 1, record)])
        let count = SyncError(.invalid, .count, in: .part)
        #expect(try Self.read([part.bytes], dotCount: 2) == count)
        #expect(try Self.read([RawPart(entries: []).bytes], dotCount: 1) == count)
        let many = RawPart(count: .max, entries: part.entries)
        #expect(try Self.read([many.bytes], dotCount: 1) == count)
        let error = try Self.read([many.bytes], dotCount: .max)
        #expect(error == SyncError(.invalid, .form, in: .part))
    }

    @Test func `Parts of a base that break a rule are invalid`() throws {
        let record = try Self.record(1)
        func refusal(_ entry: [UInt8]) throws -> SyncError.Rule? {
            let error = try Self.read([RawPart(entries: [entry]).bytes], dotCount: 1)
            #expect(error?.code == .invalid)
            return error?.rule
        }
        #expect(try refusal(Self.entry(number: 0, record)) == .dot)
        #expect(try refusal(RawDot(index: 2).bytes + [0]) == .dot)
        // The table ends with message 3.
        #expect(try refusal(Self.entry(number: 4, record)) == .dot)
        #expect(try refusal(Self.entry(number: 1, record, lives: 2)) == .form)
        #expect(try refusal(Self.entry(number: 1, record, tag: 7)) == .tag)
        #expect(try refusal(Self.entry(number: 1, record) + [0]) == .form)
        #expect(try refusal(Array(Self.entry(number: 1, record).dropLast())) == .form)
        #expect(try refusal(RawDot().bytes) == .form)
    }

    @Test func `Parts of a base open only at their index, in their base`() throws {
        let author = TestAuthor()
        let key = try TestAuthor.key()
        let header = try author.header(.base)
        let table = [TestAuthor.log: TestAuthor.before]
        let record = try Self.record(1)
        let part = BasePart(entries: [
            BasePart.Entry(Dot(log: TestAuthor.log, number: 1, tag: record.tag), record)
        ])
        var other = header
        other.name = MessageName(log: TestAuthor.log, number: 6)
        var base = Base(
            milliseconds: 1, reads: 1, table: table, own: [], dotCount: 1, parts: [])
        for (place, expected) in [
            (BasePart.Place(header, index: 0), nil),
            (BasePart.Place(header, index: 1), SyncError(.invalid, .seal, in: .part)),
            (BasePart.Place(other, index: 0), SyncError(.invalid, .seal, in: .part)),
        ] {
            let built = part.built(place, table: table, under: key, random: .random())
            base.parts = [built.hash]
            #expect(try Self.read([built.bytes], of: base, header) == expected)
            let flipped = built.bytes.dropLast() + [built.bytes[built.bytes.count - 1] ^ 1]
            #expect(
                try Self.read([Array(flipped)], of: base, header)
                    == SyncError(.tampered, .hash, in: .part))
        }
    }
}
