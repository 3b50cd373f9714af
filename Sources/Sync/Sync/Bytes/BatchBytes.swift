// SPDX-License-Identifier: Apache-2.0

// Batches as the plaintext of a message: docs/SYNC.md §3.

internal import ValetKeychainModel
package import ValetSealing

extension Batch {
    /// The most records of a batch.
    package static let maximalRecordCount = 4096
    /// The most covers of a batch.
    package static let maximalCoverCount = 8192

    /// How many bytes the plaintext has. At most ``MessageFormat/maximalPlaintextByteCount`` fit.
    package var byteCount: Int {
        8 + 2 + EncodedTable.byteCount(table.count) + 2 + covers.count * EncodedTable.dotByteCount
            + 2 + records.reduce(0) { $0 + $1.byteCount }
    }

    /// Builds the message that `header` begins. Lists may have any order, without repetitions.
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
        writer.append(milliseconds)
        writer.append(reads)
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
            // An author may cover records of its own logs above its table: it may have had to set
            // its position back.
            let isRead = dot.number <= table.table[dot.log]?.number ?? 0
            guard isRead || dot.log.belongs(to: header.device) else { throw reader.refusal(.dot) }
            covers.append(dot)
        }
        return covers
    }

    private func readRecords(from reader: inout OpenedReader) throws(SyncError) -> [SyncRecord] {
        var records: [SyncRecord] = []
        var last: Range<Int>?
        for _ in 0..<(try reader.count(upTo: Batch.maximalRecordCount)) {
            let start = reader.position
            records.append(try SyncRecord(from: &reader, in: header.scope))
            let place = start..<reader.position
            if let last, !reader.isRising(last, place) { throw reader.refusal(.order) }
            last = place
        }
        return records
    }
}

/// A table with the order in which dots name its logs.
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
        indices = Dictionary(
            uniqueKeysWithValues: logs.enumerated().map { ($1, UInt16($0)) })
    }

    /// Reads a table, in which the log of the message stands with the message before.
    init(from reader: inout OpenedReader, of header: MessageHeader) throws(SyncError) {
        var table: LogTable = [:]
        var last: LogID?
        for _ in 0..<(try reader.count(upTo: MessageFormat.maximalLogCount)) {
            let log = try reader.id(LogID.self)
            guard last.map({ $0 < log }) ?? true else { throw reader.refusal(.order) }
            let position = LogPosition(
                number: try reader.integer(), hash: try reader.hash())
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
        for log in logs {
            let position = table[log] ?? .start
            writer.append(log.bytes)
            writer.append(position.number)
            writer.append(position.hash.bytes)
        }
    }

    func write(_ dot: Dot, to writer: inout SecretWriter) {
        guard let index = indices[dot.log] else {
            preconditionFailure("the table names the log of each dot")
        }
        writer.append(index)
        writer.append(dot.number)
        writer.append(dot.tag)
    }

    func readDot(from reader: inout OpenedReader) throws(SyncError) -> Dot {
        let index = Int(try reader.integer(UInt16.self))
        let number = try reader.integer(UInt64.self)
        guard index < logs.count, number > 0 else { throw reader.refusal(.dot) }
        return Dot(log: logs[index], number: number, tag: try reader.integer())
    }
}
