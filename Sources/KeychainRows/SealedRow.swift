// SPDX-License-Identifier: Apache-2.0

package import ValetDatabase
internal import ValetKeychainModel
package import ValetSealing
package import ValetSystem

/// A row as SQLite holds it; nothing in it has been opened.
package struct SealedRow: Sendable {
    /// The columns that the sealed parts are bound to.
    package var header: RowHeader
    /// The hash of the account.
    package var accountHash: IndexHash
    /// The hash of the access group.
    package var groupHash: IndexHash
    /// The hash of the service or the server.
    package var placeHash: IndexHash
    /// As in the column; empty for NULL.
    package var hashes: [UInt8]
    /// Part A.
    package var names: [UInt8]
    /// Part B.
    package var details: [UInt8]
    /// Part V; nil for an item without a value.
    package var secret: [UInt8]?
    /// nil for local items.
    package var changeNumber: Int64?
    /// Rises with every write of the item.
    package var logicalTime: Int64

    /// The hashes by which the row of one item is found.
    package var place: ItemPlace {
        ItemPlace(group: groupHash, place: placeHash, primaryKey: header.primaryKey)
    }
}

extension SealedRow {
    /// Reads the row that `run` is at, of a statement that selects all columns of `item`.
    ///
    /// - Throws: ``RowFailure/column`` if a column holds what no writer puts there.
    init(_ run: borrowing Statement.Run) throws(RowFailure) {
        header = try RowHeader(run)
        accountHash = try run.fixedBytes(Schema.Column.accountHash)
        groupHash = try run.fixedBytes(Schema.Column.groupHash)
        placeHash = try run.fixedBytes(Schema.Column.placeHash)
        hashes = run.blob(Schema.Column.hashes)
        names = run.blob(Schema.Column.names)
        details = run.blob(Schema.Column.details)
        secret = run.isNull(Schema.Column.secret) ? nil : run.blob(Schema.Column.secret)
        changeNumber =
            run.isNull(Schema.Column.changeNumber) ? nil : run.int64(Schema.Column.changeNumber)
        logicalTime = run.int64(Schema.Column.logicalTime)
    }

    /// Whether both are found by the same searches.
    func isIndexedAs(_ other: SealedRow) -> Bool {
        place == other.place && accountHash == other.accountHash && hashes == other.hashes
    }

    /// Binds the number and what is written when nothing changes by which the row is found.
    func bindSealed(to run: borrowing Statement.Run) throws(SystemError) {
        try run.bind(header.number, at: 1)
        try run.bind(header.version, at: 2)
        try run.bind(Int64(header.protectionClass.rawValue), at: 3)
        try run.bind(Int64(header.flags.rawValue), at: 4)
        try run.bind(header.keyID, at: 5)
        try run.bind(names, at: 6)
        try run.bind(details, at: 7)
        if let secret { try run.bind(secret, at: 8) } else { try run.bindNull(at: 8) }
        if let changeNumber { try run.bind(changeNumber, at: 9) } else { try run.bindNull(at: 9) }
        try run.bind(logicalTime, at: 10)
    }

    /// Binds all columns, for the insertion or for the update of the whole row.
    func bind(to run: borrowing Statement.Run) throws(SystemError) {
        try run.bind(header.number, at: 1)
        try run.bind(header.salt, at: 2)
        try run.bind(header.version, at: 3)
        try run.bind(Int64(header.itemClass.rawValue), at: 4)
        try run.bind(Int64(header.protectionClass.rawValue), at: 5)
        try run.bind(Int64(header.flags.rawValue), at: 6)
        try run.bind(header.keyID, at: 7)
        try run.bind(header.primaryKey, at: 8)
        try run.bind(names, at: 9)
        try run.bind(details, at: 10)
        if let secret { try run.bind(secret, at: 11) } else { try run.bindNull(at: 11) }
        try run.bind(accountHash, at: 12)
        try run.bind(groupHash, at: 13)
        try run.bind(placeHash, at: 14)
        if hashes.isEmpty { try run.bindNull(at: 15) } else { try run.bind(hashes, at: 15) }
        if let changeNumber { try run.bind(changeNumber, at: 16) } else { try run.bindNull(at: 16) }
        try run.bind(logicalTime, at: 17)
    }
}

extension RowHeader {
    /// Reads the header of the row that `run` is at.
    package init(_ run: borrowing Statement.Run) throws(RowFailure) {
        guard let itemClass = Self.number(run, Schema.Column.itemClass).flatMap(ItemClass.init),
            let protection = Self.number(run, Schema.Column.protection)
                .flatMap(ProtectionClass.init),
            let flags = RowFlags(column: run.int64(Schema.Column.flags))
        else { throw .column }
        number = run.int64(Schema.Column.number)
        salt = run.int64(Schema.Column.salt)
        version = run.int64(Schema.Column.version)
        self.itemClass = itemClass
        protectionClass = protection
        self.flags = flags
        keyID = try run.fixedBytes(Schema.Column.keyID)
        primaryKey = try run.fixedBytes(Schema.Column.primaryKey)
    }

    private static func number(_ run: borrowing Statement.Run, _ column: Int32) -> UInt8? {
        UInt8(exactly: run.int64(column))
    }
}

extension Statement.Run {
    /// The blob, which must have the length of its kind.
    package func fixedBytes<let byteCount: Int, Name>(
        _ column: Int32
    ) throws(RowFailure) -> FixedBytes<byteCount, Name> {
        var bytes = InlineArray<byteCount, UInt8>(repeating: 0)
        var target = bytes.mutableSpan
        guard self.byteCount(column) == byteCount, copyEnd(ofBlob: column, to: &target) else {
            throw .column
        }
        return FixedBytes(bytes)
    }

    /// The tag of a sealed part, which stands for all of it.
    package func tag(_ column: Int32) throws(RowFailure) -> PartTag {
        var bytes = InlineArray<16, UInt8>(repeating: 0)
        var target = bytes.mutableSpan
        guard copyEnd(ofBlob: column, to: &target) else { throw .seal }
        return PartTag(bytes)
    }

    /// Binds bytes of a fixed size.
    package func bind<let byteCount: Int, Name>(
        _ value: FixedBytes<byteCount, Name>, at index: Int32
    ) throws(SystemError) {
        try value.withBytes { (bytes: Span<UInt8>) throws(SystemError) in
            try bind(bytes, at: index)
        }
    }
}

extension RowHeader {
    /// Reads the header of the row that `run` is at, of ``RowConnection/value``.
    package init(
        value run: borrowing Statement.Run, primaryKey: IndexHash
    ) throws(RowFailure) {
        guard let number = UInt8(exactly: run.int64(3)),
            let protectionClass = ProtectionClass(rawValue: number),
            let flags = RowFlags(column: run.int64(4))
        else { throw .column }
        self.init(
            number: run.int64(0), salt: run.int64(1), version: run.int64(2),
            itemClass: .genericPassword, protectionClass: protectionClass, flags: flags,
            keyID: try run.fixedBytes(5), primaryKey: primaryKey)
    }
}
