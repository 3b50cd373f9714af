// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// All rows as one moment had them, sealed as they are, read in one short transaction.
///
/// Whatever takes long afterwards, even a stopped program, keeps no transaction open: an open one
/// would keep every process from shortening the log (https://www.sqlite.org/wal.html, §6).
package final class RowSpool {
    /// What stays in memory; the rest is in a file without a name.
    private static let memoryByteCount = 32 << 20

    private var spool: Spool
    private(set) var count = 0

    /// Copies all rows; belongs into a read transaction.
    ///
    /// - Parameter folders: Where the file may be, in the order of preference.
    /// - Throws: ``SystemError``; ``KeychainFailure/Code/outOfMemory``.
    package init(copying store: RowConnection, folders: [String]) throws {
        spool = Spool(memoryByteCount: Self.memoryByteCount, folders: folders)
        let run = try store.all.start()
        while try run.step() {
            let record = try FoundRow(run).record
            var length: [UInt8] = []
            length.append(bigEndian: UInt32(record.count))
            try spool.append(length)
            try spool.append(record)
            count += 1
        }
    }

    /// The next row; nil after the last.
    ///
    /// - Throws: ``SystemError/Code/inputOutput``.
    package func next() throws -> FoundRow? {
        guard count > 0 else { return nil }
        count -= 1
        var length = ByteReader(try spool.read(4), malformed: Self.cut)
        var record = ByteReader(
            try spool.read(Int(try length.integer(UInt32.self))), malformed: Self.cut)
        return try FoundRow(&record)
    }

    private static var cut: SystemError {
        SystemError(.inputOutput, during: "read rows that were put aside")
    }
}

extension FoundRow {
    /// Everything about the row, in a form of this process.
    fileprivate var record: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: number)
        guard case .row(let row) = self else { return bytes }
        let header = row.header
        bytes.reserveCapacity(256 + row.names.count + row.details.count + (row.secret?.count ?? 0))
        for value in [header.salt, header.version, row.logicalTime, Int64(header.flags.rawValue)] {
            bytes.append(bigEndian: value)
        }
        bytes += [header.itemClass.rawValue, header.protectionClass.rawValue]
        bytes += header.keyID.bytes + header.primaryKey.bytes
        bytes += row.accountHash.bytes + row.groupHash.bytes + row.placeHash.bytes
        for part in [row.hashes, row.names, row.details] { bytes.append(part: part) }
        bytes.append(row.secret == nil ? 0 : 1)
        if let secret = row.secret { bytes.append(part: secret) }
        bytes.append(row.changeNumber == nil ? 0 : 1)
        if let number = row.changeNumber { bytes.append(bigEndian: number) }
        return bytes
    }

    /// Takes a ``record`` apart.
    fileprivate init(_ record: inout ByteReader<SystemError>) throws(SystemError) {
        let number: Int64 = try record.integer()
        guard !record.isAtEnd else {
            self = .damaged(number: number)
            return
        }
        let numbers: [Int64] = [
            try record.integer(), try record.integer(), try record.integer(), try record.integer(),
        ]
        guard let flags = RowFlags(column: numbers[3]),
            let itemClass = ItemClass(rawValue: try record.integer()),
            let protectionClass = ProtectionClass(rawValue: try record.integer())
        else { throw record.malformed }
        let header = RowHeader(
            number: number, salt: numbers[0], version: numbers[1], itemClass: itemClass,
            protectionClass: protectionClass, flags: flags, keyID: try record.fixedBytes(),
            primaryKey: try record.fixedBytes())
        self = .row(
            SealedRow(
                header: header, accountHash: try record.fixedBytes(),
                groupHash: try record.fixedBytes(), placeHash: try record.fixedBytes(),
                hashes: try record.part(), names: try record.part(), details: try record.part(),
                secret: try record.integer(UInt8.self) == 0 ? nil : try record.part(),
                changeNumber: try record.integer(UInt8.self) == 0 ? nil : try record.integer(),
                logicalTime: numbers[2]))
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
