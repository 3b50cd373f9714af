// SPDX-License-Identifier: Apache-2.0

// The parts of a replica as the bytes in which a keychain keeps them: docs/FORMAT.md §12.3.
// `ReplicaEntries` says which entry holds what.

package import ValetKeychainModel
package import ValetSealing

extension KeyScope: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        guard let scope = KeyScope(rawValue: try reader.integer()) else { throw reader.malformed }
        self = scope
    }

    package func append(to bytes: inout [UInt8]) { bytes.append(rawValue) }
}

// MARK: Logs

extension OwnLog {
    /// Everything except the messages and the unconfirmed one, which have entries of their own.
    var encoded: [UInt8] {
        [UInt8](
            fields: next, openBase, attempts, announced, awaited, named, owesBatch, owesBase,
            Int64(batchesSinceBase), Int64(batchByteCount), Int64(baseByteCount))
    }

    mutating func read(_ reader: inout ByteReader<SyncError>) throws(SyncError) {
        (next, openBase, attempts, announced, awaited, named, owesBatch, owesBase) =
            try reader.fields()
        let counts = try reader.fields(Int64.self, Int64.self, Int64.self)
        guard min(counts.0, counts.1, counts.2) >= 0 else { throw reader.malformed }
        (batchesSinceBase, batchByteCount) = (Int(counts.0), Int(counts.1))
        baseByteCount = Int(counts.2)
    }
}

extension RetiredLog {
    var encoded: [UInt8] { [UInt8](fields: firstNotCommon, renews, read) }

    init(_ own: OwnLog, from reader: inout ByteReader<SyncError>) throws(SyncError) {
        self.own = own
        (firstNotCommon, renews, read) = try reader.fields()
    }
}

extension OwnLog.Unconfirmed: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        (name, hash, entries) = try reader.fields()
    }

    package func append(to bytes: inout [UInt8]) {
        bytes += [UInt8](fields: name, hash, entries)
    }
}

extension BatchDraft.Entry: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        (key, source, covers, dot) = try reader.fields()
        if try Bool(from: &reader) { summary = try RecordSummary(of: key, from: &reader) }
    }

    package func append(to bytes: inout [UInt8]) {
        bytes += [UInt8](fields: key, source, covers, dot, summary != nil)
        bytes += summary?.encoded ?? []
    }
}

extension PendingSource: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        switch try reader.integer(UInt8.self) {
        case 0: self = .row(try SyncItemID(from: &reader))
        case 1: self = .aside(try SyncItemID(from: &reader))
        case 2:
            let key = try SyncItemID(from: &reader)
            self = .moved(key, time: try reader.integer(), to: try MessageName(from: &reader))
        case 3: self = .dot(try Dot(from: &reader))
        default: throw reader.malformed
        }
    }

    package func append(to bytes: inout [UInt8]) {
        switch self {
        case .row(let key): bytes += [UInt8](fields: 0 as UInt8, key)
        case .aside(let key): bytes += [UInt8](fields: 1 as UInt8, key)
        case .moved(let key, let time, let message):
            bytes += [UInt8](fields: 2 as UInt8, key, time, message)
        case .dot(let dot): bytes += [UInt8](fields: 3 as UInt8, dot)
        }
    }
}

// MARK: Items

extension SyncItemID: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        self.init(try reader.integer())
    }

    package func append(to bytes: inout [UInt8]) { bytes.append(bigEndian: number) }
}

extension RecordSummary {
    /// time:8 · whether the record is *moved*:1 · the message that it then names.
    package var encoded: [UInt8] { [UInt8](fields: time, moved) }

    init<E>(of key: SyncItemID, from reader: inout ByteReader<E>) throws(E) {
        self.key = key
        (time, moved) = try reader.fields()
    }

    /// Reads ``encoded``.
    ///
    /// - Throws: ``SyncError/Rule/form``.
    package init(of key: SyncItemID, parsing bytes: [UInt8]) throws(SyncError) {
        var reader = ByteReader(bytes, of: .keptReplica)
        try self.init(of: key, from: &reader)
        try reader.finish()
    }
}

extension PendingChange: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        switch try reader.integer(UInt8.self) {
        case 0: record = nil
        case 1: record = .row(time: try reader.integer())
        case 2: record = .aside(time: try reader.integer())
        case 3: record = .moved(time: try reader.integer(), to: nil)
        case 4:
            record = .moved(time: try reader.integer(), to: try MessageName(from: &reader))
        default: throw reader.malformed
        }
        (covers, coversItem) = try reader.fields()
    }

    package func append(to bytes: inout [UInt8]) {
        switch record {
        case nil: bytes.append(0)
        case .row(let time): bytes += [UInt8](fields: 1 as UInt8, time)
        case .aside(let time): bytes += [UInt8](fields: 2 as UInt8, time)
        case .moved(let time, nil): bytes += [UInt8](fields: 3 as UInt8, time)
        case .moved(let time, let message?): bytes += [UInt8](fields: 4 as UInt8, time, message)
        }
        bytes += [UInt8](fields: covers, coversItem)
    }
}

extension Renewal {
    var encoded: [UInt8] { [UInt8](fields: source) + summary.encoded + [UInt8](fields: covers) }

    init(of key: SyncItemID, from reader: inout ByteReader<SyncError>) throws(SyncError) {
        source = try Dot(from: &reader)
        summary = try RecordSummary(of: key, from: &reader)
        covers = try Set(from: &reader)
    }
}

extension Replica.Shown: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        scope = try KeyScope(from: &reader)
        switch try reader.integer(UInt8.self) {
        case 0: source = .row
        case 1: source = .aside
        case 2: source = .dot(try Dot(from: &reader))
        default: throw reader.malformed
        }
    }

    package func append(to bytes: inout [UInt8]) {
        switch source {
        case .row: bytes += [UInt8](fields: scope, 0 as UInt8)
        case .aside: bytes += [UInt8](fields: scope, 1 as UInt8)
        case .dot(let dot): bytes += [UInt8](fields: scope, 2 as UInt8, dot)
        }
    }
}
