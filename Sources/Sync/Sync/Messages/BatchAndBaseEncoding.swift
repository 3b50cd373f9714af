// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

// Batches as the plaintext of a message: docs/SYNC.md §3.

extension Batch {
    package static let maximalRecordCount = 4096
    package static let maximalCoverCount = 8192

    /// The length of the plaintext in bytes. A message holds at most
    /// ``MessageFormat/maximalPlaintextByteCount``.
    package var byteCount: Int {
        8 + 2 + EncodedTable.byteCount(table.count) + 2 + covers.count * EncodedTable.dotByteCount
            + 2 + records.reduce(0) { $0 + $1.byteCount }
    }

    /// Builds the message that `header` begins. The lists may be in any order, but must not repeat
    /// an element.
    package func built(
        _ header: MessageHeader, under key: borrowing CircleKey,
        signedBy pair: borrowing SigningPair, random: HedgeBytes
    ) -> BuiltMessage {
        precondition(
            header.kind == .batch && byteCount <= MessageFormat.maximalPlaintextByteCount
                && records.count <= Self.maximalRecordCount
                && covers.count <= Self.maximalCoverCount,
            "a batch fits into its message")
        let table = EncodedTable(table)
        var writer = SecretWriter(
            byteCount: byteCount, paddedTo: MessageFormat.step(ofPlaintext: byteCount))
        writer.append([UInt8](fields: milliseconds, reads))
        table.write(to: &writer)
        writer.append(UInt16(covers.count))
        for dot in covers.sorted() { table.write(dot, to: &writer) }
        writer.append(UInt16(records.count))
        for record in records.sorted(by: SyncRecord.isRising) { record.write(to: &writer) }
        let plaintext = writer.finish()
        return plaintext.withBytes { plaintext in
            BuiltMessage(header, sealing: plaintext, under: key, signedBy: pair, random: random)
        }
    }
}

extension VerifiedMessage {
    /// Opens a batch.
    ///
    /// - Throws: ``SyncError``: `wrongKey`; `invalid`, with the rule that the author broke.
    package func batch(under key: borrowing CircleKey) throws(SyncError) -> Batch {
        precondition(header.kind == .batch, "a base is no batch")
        var reader = try open(under: key)
        let milliseconds = try reader.integer(UInt64.self)
        let reads = try reader.integer(UInt16.self)
        guard reads > 0 else { throw reader.refusal(.reads) }
        let table = try EncodedTable(from: &reader, of: header)
        let covers = try readCovers(from: &reader, table)
        let records = try readRecords(from: &reader)
        try reader.finish()
        return Batch(
            milliseconds: milliseconds, reads: reads, table: table.table, covers: covers,
            records: records)
    }

    private func readCovers(
        from reader: inout OpenedReader, _ table: EncodedTable
    ) throws(SyncError) -> [Dot] {
        var covers: [Dot] = []
        for _ in 0..<(try reader.count(upTo: Batch.maximalCoverCount)) {
            let dot = try table.readDot(from: &reader)
            guard covers.last.map({ $0 < dot }) ?? true else { throw reader.refusal(.order) }
            // An author may cover records of its own logs above the positions in its table, because
            // it may have set such a position back.
            let isRead = dot.number <= table.table[dot.log]?.number ?? 0
            guard isRead || dot.log.belongs(to: header.device) else { throw reader.refusal(.dot) }
            covers.append(dot)
        }
        return covers
    }

    private func readRecords(from reader: inout OpenedReader) throws(SyncError) -> [SyncRecord] {
        var records: [SyncRecord] = []
        for _ in 0..<(try reader.count(upTo: Batch.maximalRecordCount)) {
            let record = try SyncRecord(from: &reader, in: header.scope)
            if let last = records.last, !SyncRecord.isRising(last, record) {
                throw reader.refusal(.order)
            }
            records.append(record)
        }
        return records
    }
}

/// A table of logs, with the index by which dots refer to each log.
struct EncodedTable {
    static let dotByteCount = 2 + 8 + 8

    let table: LogTable
    let logs: [LogID]
    private let indices: [LogID: UInt16]

    static func byteCount(_ logCount: Int) -> Int { 2 + logCount * (16 + 8 + 32) }

    init(_ table: LogTable) {
        precondition(table.count <= MessageFormat.maximalLogCount, "a table has at most 1,024 logs")
        self.table = table
        logs = table.keys.sorted()
        indices = Dictionary(uniqueKeysWithValues: logs.enumerated().map { ($1, UInt16($0)) })
    }

    /// Reads a table. Its position in the log of the message must be that of the previous message.
    init(from reader: inout OpenedReader, of header: MessageHeader) throws(SyncError) {
        var table: LogTable = [:]
        var last: LogID?
        for _ in 0..<(try reader.count(upTo: MessageFormat.maximalLogCount)) {
            let log = try reader.field(16, as: LogID.self)
            guard last.map({ $0 < log }) ?? true else { throw reader.refusal(.order) }
            let position = try reader.field(40, as: LogPosition.self)
            guard (position.number == 0) == (position.hash == .zero) else {
                throw reader.refusal(.position)
            }
            table[log] = position
            last = log
        }
        guard let own = table[header.name.log], own.number < header.name.number,
            own.hash == header.previous
        else { throw reader.refusal(.table) }
        self.init(table)
    }

    func write(to writer: inout SecretWriter) {
        writer.append(UInt16(logs.count))
        for log in logs { writer.append([UInt8](fields: log, table[log] ?? .start)) }
    }

    func write(_ dot: Dot, to writer: inout SecretWriter) {
        guard let index = indices[dot.log] else {
            preconditionFailure("the table names the log of each dot")
        }
        writer.append([UInt8](fields: index, dot.number, dot.tag))
    }

    func readDot(from reader: inout OpenedReader) throws(SyncError) -> Dot {
        let index = Int(try reader.integer(UInt16.self))
        let number = try reader.integer(UInt64.self)
        guard index < logs.count, number > 0 else { throw reader.refusal(.dot) }
        return Dot(log: logs[index], number: number, tag: try reader.integer())
    }
}

// Bases and their parts as bytes: docs/SYNC.md §3. The parts go to the store before their base,
// which has their hashes.

extension Base {
    package static let maximalOwnCount = 4096
    package static let maximalPartCount = 2048

    private var byteCount: Int {
        8 + 2 + EncodedTable.byteCount(table.count) + 2 + own.count * 16 + 4 + 2 + parts.count * 32
    }

    /// Builds the message that `header` begins. The numbers of ``own`` must rise; ``parts`` are in
    /// the order of their indexes.
    package func built(
        _ header: MessageHeader, under key: borrowing CircleKey,
        signedBy pair: borrowing SigningPair, random: HedgeBytes
    ) -> BuiltMessage {
        precondition(
            header.kind == .base && own.count <= Self.maximalOwnCount
                && parts.count <= Self.maximalPartCount,
            "a base fits into its message")
        var writer = SecretWriter(
            byteCount: byteCount, paddedTo: MessageFormat.step(ofPlaintext: byteCount))
        writer.append([UInt8](fields: milliseconds, reads))
        EncodedTable(table).write(to: &writer)
        writer.append(UInt16(own.count))
        for message in own { writer.append([UInt8](fields: message.number, message.hashStart)) }
        writer.append([UInt8](fields: dotCount, UInt16(parts.count)))
        for part in parts { writer.append(part.bytes) }
        let plaintext = writer.finish()
        return plaintext.withBytes { plaintext in
            BuiltMessage(header, sealing: plaintext, under: key, signedBy: pair, random: random)
        }
    }
}

extension VerifiedMessage {
    /// Opens a base, without its parts.
    ///
    /// - Throws: ``SyncError``: `wrongKey`; `invalid`, with the rule that the author broke.
    package func base(under key: borrowing CircleKey) throws(SyncError) -> Base {
        precondition(header.kind == .base, "a batch is no base")
        var reader = try open(under: key)
        let milliseconds = try reader.integer(UInt64.self)
        let reads = try reader.integer(UInt16.self)
        guard reads > 0 else { throw reader.refusal(.reads) }
        let table = try EncodedTable(from: &reader, of: header).table
        let own = try readOwn(from: &reader, table)
        let dotCount = try reader.integer(UInt32.self)
        let partCount = try reader.count(upTo: Base.maximalPartCount)
        // Each part has at least one dot.
        guard (dotCount == 0) == (partCount == 0), Int(dotCount) >= partCount else {
            throw reader.refusal(.count)
        }
        var parts: [SyncHash] = []
        for _ in 0..<partCount { parts.append(try reader.field(32)) }
        try reader.finish()
        return Base(
            milliseconds: milliseconds, reads: reads, table: table, own: own, dotCount: dotCount,
            parts: parts)
    }

    private func readOwn(
        from reader: inout OpenedReader, _ table: LogTable
    ) throws(SyncError) -> [Base.OwnMessage] {
        var own: [Base.OwnMessage] = []
        for _ in 0..<(try reader.count(upTo: Base.maximalOwnCount)) {
            let message = Base.OwnMessage(
                number: try reader.integer(), hashStart: try reader.integer())
            guard message.number > own.last?.number ?? 0 else { throw reader.refusal(.order) }
            own.append(message)
        }
        // The last one is the previous message, whose position is in the table.
        let before = table[header.name.log] ?? .start
        guard own.last?.number ?? 0 == before.number,
            own.last?.hashStart ?? 0 == before.hash.first
        else { throw reader.refusal(.own) }
        return own
    }
}

extension BasePart {
    package static let maximalPlaintextByteCount = MessageFormat.maximalPlaintextByteCount
    package static let emptyByteCount = 4

    /// What a part is bound to: the base's header, which has no hash yet, and the index.
    package struct Place: Sendable {
        let header: MessageHeader
        /// The index of the part, from 0.
        let index: UInt32

        package init(_ header: MessageHeader, index: UInt32) {
            (self.header, self.index) = (header, index)
        }

        fileprivate var associatedData: [UInt8] {
            [UInt8](fields: header.circle, header.scope, header.name, index, header.keyID)
        }
    }

    /// Builds the part at `place`. `table` is the base's; the dots of the entries must rise.
    package func built(
        _ place: Place, table: LogTable, under key: borrowing CircleKey, random: HedgeBytes
    ) -> BuiltPart {
        let byteCount = entries.reduce(Self.emptyByteCount) { $0 + $1.byteCount }
        precondition(
            byteCount <= Self.maximalPlaintextByteCount && place.header.keyID == key.id,
            "a part fits into its bytes, and its base names its key")
        let table = EncodedTable(table)
        var writer = SecretWriter(byteCount: byteCount, paddedTo: MessageFormat.largeStep)
        writer.append(UInt32(entries.count))
        for entry in entries {
            table.write(entry.dot, to: &writer)
            writer.append(entry.record == nil ? 0 : 1 as UInt8)
            entry.record?.write(to: &writer)
        }
        let plaintext = writer.finish()
        return BuiltPart(
            plaintext.withBytes { plaintext in
                HedgedSeal.seal(
                    plaintext, .syncPart, associatedData: place.associatedData.span, under: key,
                    random: random)
            })
    }
}

extension BasePart.Entry {
    package var byteCount: Int { EncodedTable.dotByteCount + 1 + (record?.byteCount ?? 0) }
}

package struct BuiltPart: Sendable {
    package let bytes: [UInt8]
    package let hash: SyncHash

    fileprivate init(_ bytes: [UInt8]) {
        self.bytes = bytes
        hash = Self.hash(of: bytes)
    }

    package static func hash(of bytes: [UInt8]) -> SyncHash {
        SyncHash(UnkeyedHash.digest(.syncPart) { $0.append(bytes) })
    }
}

/// Opens the parts of a base. They must come in the order of their indexes.
package struct BasePartReader: Sendable {
    private let header: MessageHeader
    private let base: Base
    private let table: EncodedTable
    private var index: UInt32 = 0
    private var dotCount: UInt32 = 0
    private var last: Dot?

    /// Starts before the first part of `base`, whose message has `header`.
    package init(_ base: Base, _ header: MessageHeader) {
        (self.base, self.header) = (base, header)
        table = EncodedTable(base.table)
    }

    package var isComplete: Bool { index == base.parts.count }

    /// Opens the next part. There must be one.
    ///
    /// - Throws: ``SyncError``: `malformed`, `limit`; `tampered`, `hash`, for bytes that are not
    ///   this part; `invalid`, with the rule that the author broke.
    package mutating func read(
        _ bytes: [UInt8], under key: borrowing CircleKey
    ) throws(SyncError) -> BasePart {
        precondition(!isComplete, "a base has no more parts than it says")
        guard bytes.count <= MessageFormat.maximalByteCount else {
            throw SyncError(.malformed, .limit, in: .part)
        }
        guard BuiltPart.hash(of: bytes) == base.parts[Int(index)] else {
            throw SyncError(.tampered, .hash, in: .part)
        }
        guard key.id == header.keyID else { throw SyncError(.wrongKey, .seal, in: .part) }
        let plaintext: SecretBytes
        do {
            plaintext = try HedgedSeal.open(
                bytes.span, .syncPart,
                associatedData: BasePart.Place(header, index: index).associatedData.span,
                under: key)
        } catch {
            throw SyncError(error, .invalid, in: .part)
        }
        var reader = try OpenedReader(plaintext, paddedTo: MessageFormat.largeStep, in: .part)
        let part = try readEntries(from: &reader)
        try reader.finish()
        index += 1
        if isComplete, dotCount != base.dotCount { throw reader.refusal(.count) }
        return part
    }

    private mutating func readEntries(
        from reader: inout OpenedReader
    ) throws(SyncError) -> BasePart {
        let count = try reader.integer(UInt32.self)
        guard count > 0, count <= base.dotCount - dotCount else { throw reader.refusal(.count) }
        var entries: [BasePart.Entry] = []
        for _ in 0..<count {
            let dot = try table.readDot(from: &reader)
            guard last.map({ $0 < dot }) ?? true else { throw reader.refusal(.order) }
            last = dot
            let record = try readRecord(of: dot, from: &reader)
            // A reader that covered a record above the table would build an invalid batch.
            let isRead = dot.number <= base.table[dot.log]?.number ?? 0
            guard record == nil || isRead else { throw reader.refusal(.dot) }
            entries.append(BasePart.Entry(dot, record))
        }
        dotCount += count
        return BasePart(entries: entries)
    }

    private func readRecord(
        of dot: Dot, from reader: inout OpenedReader
    ) throws(SyncError) -> SyncRecord? {
        switch try reader.integer(UInt8.self) {
        case 0: return nil
        case 1:
            let record = try SyncRecord(from: &reader, in: header.scope)
            guard record.tag == dot.tag else { throw reader.refusal(.tag) }
            return record
        default: throw reader.refusal(.form)
        }
    }
}
