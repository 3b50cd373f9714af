// SPDX-License-Identifier: Apache-2.0

// Bases and their parts as bytes: docs/SYNC.md §3. The parts go to the store before their base,
// which has their hashes.

internal import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

extension Base {
    /// The most messages that ``own`` names.
    package static let maximalOwnCount = 4096
    /// The most parts of a base.
    package static let maximalPartCount = 2048

    private var byteCount: Int {
        8 + 2 + EncodedTable.byteCount(table.count) + 2 + own.count * 16 + 4 + 2 + parts.count * 32
    }

    /// Builds the message that `header` begins. ``own`` must rise; parts are in their order.
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
        writer.append(milliseconds)
        writer.append(reads)
        EncodedTable(table).write(to: &writer)
        writer.append(UInt16(own.count))
        for message in own {
            writer.append(message.number)
            writer.append(message.hashStart)
        }
        writer.append(dotCount)
        writer.append(UInt16(parts.count))
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
        // Each part has a dot.
        guard (dotCount == 0) == (partCount == 0), Int(dotCount) >= partCount else {
            throw reader.refusal(.count)
        }
        var parts: [SyncHash] = []
        for _ in 0..<partCount { parts.append(try reader.hash()) }
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
        // The last one is the message before, which the table has.
        let before = table[header.name.log] ?? .start
        guard own.last?.number ?? 0 == before.number,
            own.last?.hashStart ?? 0 == before.hash.first
        else { throw reader.refusal(.own) }
        return own
    }
}

extension BasePart {
    /// The most bytes of a part's plaintext.
    package static let maximalPlaintextByteCount = MessageFormat.maximalPlaintextByteCount
    /// The size of the plaintext of a part without dots.
    package static let emptyByteCount = 4

    /// What a part is bound to: the base's header, which has no hash yet, and the index.
    package struct Place: Sendable {
        let header: MessageHeader
        let index: UInt32

        /// The part `index` of the base that `header` begins.
        package init(_ header: MessageHeader, index: UInt32) {
            self.header = header
            self.index = index
        }

        fileprivate var associatedData: [UInt8] {
            [UInt8](fields: header.circle, header.scope, header.name, index, header.keyID)
        }
    }

    /// Builds the part at `place`. `table` is the base's; the entries must rise.
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
    /// How many bytes the entry takes up in the plaintext of a part.
    package var byteCount: Int { EncodedTable.dotByteCount + 1 + (record?.byteCount ?? 0) }
}

/// A part that this device built.
package struct BuiltPart: Sendable {
    /// What the store keeps.
    package let bytes: [UInt8]
    /// What the base has.
    package let hash: SyncHash

    fileprivate init(_ bytes: [UInt8]) {
        self.bytes = bytes
        hash = Self.hash(of: bytes)
    }

    /// What the base has for a part of these bytes.
    package static func hash(of bytes: [UInt8]) -> SyncHash {
        SyncHash(UnkeyedHash.digest(.syncPart) { $0.append(bytes) })
    }
}

/// Opens the parts of a base, which must come in their order.
package struct BasePartReader: Sendable {
    private let header: MessageHeader
    private let base: Base
    private let table: EncodedTable
    private var index: UInt32 = 0
    private var dotCount: UInt32 = 0
    private var last: Dot?

    /// Starts before the first part of `base`, whose message has `header`.
    package init(_ base: Base, _ header: MessageHeader) {
        self.base = base
        self.header = header
        table = EncodedTable(base.table)
    }

    /// Whether every part was read.
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
            // A cover of such a record would make the reader's own batch invalid.
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
