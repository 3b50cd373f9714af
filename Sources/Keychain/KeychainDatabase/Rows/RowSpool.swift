// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainModel
internal import ValetSealing
package import ValetSystem

/// All rows and former rows of one moment, still sealed, read in one short transaction.
///
/// Slow work on the rows afterwards, even in a stopped program, thus keeps no transaction open. An
/// open transaction would keep every process from shortening the log
/// (https://www.sqlite.org/wal.html, §6).
package final class RowSpool {
    /// The bytes that stay in memory; the rest is in a file without a name.
    private static let memoryByteCount = 32 << 20

    private var spool: Spool
    private(set) var count = 0

    /// Copies all rows. Call it in a read transaction.
    ///
    /// - Parameter folders: Where the file may be, in the order of preference.
    /// - Throws: ``SystemError``.
    package init(
        copying store: RowConnection, _ hasher: IndexHasher, folders: [String]
    ) throws(SystemError) {
        spool = Spool(memoryByteCount: Self.memoryByteCount, folders: folders)
        let run = try store.all.start()
        while try run.step() { try append(FoundRow(run), kept: 0, nil) }
        let formerRun = try store.formerFrom.start()
        try formerRun.bind(Int64.min, at: 1)
        while try formerRun.step() {
            let former = try FormerRow(formerRun, hasher)
            guard !former.isSetAside else { continue }
            let row = former.sound.map(FoundRow.row) ?? .damaged(number: former.row.number)
            try append(row, kept: former.kept, former.reason)
        }
    }

    private func append(
        _ row: FoundRow, kept: Int64, _ reason: FormerReason?
    ) throws(SystemError) {
        let record = row.record
        var head: [UInt8] = [reason?.rawValue ?? 0]
        head.append(bigEndian: kept)
        head.append(bigEndian: UInt32(record.count))
        try spool.append(head)
        try spool.append(record)
        count += 1
    }

    /// The next row, those of items before former ones; nil after the last. `former` says when and
    /// why a row became a former one.
    ///
    /// - Throws: ``SystemError/Code/inputOutput``.
    package func next() throws(SystemError) -> (
        row: FoundRow, former: (kept: Int64, reason: FormerReason)?
    )? {
        guard count > 0 else { return nil }
        count -= 1
        var head = ByteReader(try spool.read(13), malformed: Self.cut)
        let reason = FormerReason(rawValue: try head.integer())
        let kept: Int64 = try head.integer()
        var record = ByteReader(
            try spool.read(Int(try head.integer(UInt32.self))), malformed: Self.cut)
        return (try FoundRow(&record), reason.map { (kept, $0) })
    }

    private static var cut: SystemError {
        SystemError(.inputOutput, during: "read the copied rows")
    }
}

extension FoundRow {
    /// All fields of the row, in an encoding that only this process reads.
    fileprivate var record: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: number)
        guard case .row(let row) = self else { return bytes }
        let header = row.header
        bytes.reserveCapacity(256 + row.names.count + (row.secret?.count ?? 0))
        for value in [
            header.salt, header.version, row.logicalTime, Int64(header.flags.rawValue),
            header.epoch.column, row.placeID,
        ] {
            bytes.append(bigEndian: value)
        }
        bytes += [header.itemClass.rawValue, header.protectionClass.rawValue]
        bytes += header.placeHash.bytes + header.accountHash.bytes
        bytes += row.groupHash.bytes + row.serviceHash.bytes + row.nonce.bytes
        for part in [row.hashes, row.names] { bytes.append(part: part) }
        bytes.append(row.secret == nil ? 0 : 1)
        if let secret = row.secret { bytes.append(part: secret) }
        bytes.append(row.changeNumber == nil ? 0 : 1)
        if let number = row.changeNumber { bytes.append(bigEndian: number) }
        return bytes
    }

    /// Parses a ``record``.
    fileprivate init(_ record: inout ByteReader<SystemError>) throws(SystemError) {
        let number: Int64 = try record.integer()
        guard !record.isAtEnd else {
            self = .damaged(number: number)
            return
        }
        var numbers: [Int64] = []
        for _ in 0..<6 { numbers.append(try record.integer()) }
        guard let flags = RowFlags(column: numbers[3]),
            let itemClass = ItemClass(rawValue: try record.integer()),
            let protectionClass = ProtectionClass(rawValue: try record.integer())
        else { throw record.malformed }
        let header = RowHeader(
            number: number, salt: numbers[0], version: numbers[1], itemClass: itemClass,
            protectionClass: protectionClass, flags: flags, epoch: Epoch(column: numbers[4]),
            placeHash: try record.fixedBytes(), accountHash: try record.fixedBytes())
        var row = SealedRow(
            header: header, placeID: numbers[5], groupHash: try record.fixedBytes(),
            serviceHash: try record.fixedBytes(), hashes: [], nonce: try record.fixedBytes(),
            names: [], secret: nil, changeNumber: nil, logicalTime: numbers[2])
        row.hashes = try record.part()
        row.names = try record.part()
        row.secret = try record.integer(UInt8.self) == 0 ? nil : try record.part()
        row.changeNumber = try record.integer(UInt8.self) == 0 ? nil : try record.integer()
        self = .row(row)
    }
}

extension [UInt8] {
    fileprivate mutating func append(part: [UInt8]) {
        append(bigEndian: UInt32(part.count))
        self += part
    }
}

extension ByteReader<SystemError> {
    fileprivate mutating func part() throws(SystemError) -> [UInt8] {
        try bytes(Int(try integer(UInt32.self)))
    }
}
