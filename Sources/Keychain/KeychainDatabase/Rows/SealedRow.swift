// SPDX-License-Identifier: Apache-2.0

package import ValetDatabase
internal import ValetKeychainModel
package import ValetSealing
package import ValetSystem

/// A row as SQLite holds it, with the hashes of its place. ``ItemCipher`` seals and opens rows.
package struct SealedRow: Sendable {
    /// The columns that the sealed parts are bound to.
    package var header: RowHeader
    /// The id of the row's place in this database.
    package var placeID: Int64
    /// The hash of the access group.
    package var groupHash: IndexHash
    /// The hash of the service or the server.
    package var serviceHash: IndexHash
    /// The bytes of column `hashes`; empty for NULL.
    package var hashes: [UInt8]
    /// The nonces of part N and part V are derived from it.
    package var nonce: RowNonce
    /// Part N.
    package var names: [UInt8]
    /// Part V; nil for an item without a value.
    package var secret: [UInt8]?
    /// nil for local items.
    package var changeNumber: Int64?
    /// Rises with every write of the item.
    package var logicalTime: Int64

    /// The hashes by which the row of one item is found.
    package var place: ItemPlace {
        ItemPlace(
            service: ServiceHashes(
                group: groupHash, service: serviceHash, place: header.placeHash),
            account: header.accountHash)
    }
}

extension SealedRow {
    /// Reads the current row of `run`, whose statement selects all columns of `item` and the hashes
    /// of the row's place.
    ///
    /// - Throws: ``SystemError``: `damagedColumn` if a column holds a value that no writer writes.
    init(_ run: borrowing Statement.Run) throws(SystemError) {
        let hashes = ServiceHashes(
            group: try run.fixedBytes(Schema.Column.groupHash),
            service: try run.fixedBytes(Schema.Column.serviceHash),
            place: try run.fixedBytes(Schema.Column.placeHash))
        try self.init(run, in: hashes)
    }

    /// Reads the current row of `run`, whose statement selects all columns of `item`.
    ///
    /// - Parameters:
    ///   - place: The assumed hashes of the row's place.
    ///   - account: The assumed hash of its account; nil for the one in the column.
    /// - Throws: ``SystemError``: `damagedColumn`.
    package init(
        _ run: borrowing Statement.Run, in place: ServiceHashes, account: IndexHash? = nil
    ) throws(SystemError) {
        header = try RowHeader(run, in: place.place, account: account)
        placeID = run.int64(Schema.Column.place)
        groupHash = place.group
        serviceHash = place.service
        nonce = try run.fixedBytes(Schema.Column.nonce)
        hashes = run.blob(Schema.Column.hashes)
        names = run.blob(Schema.Column.names)
        secret = run.isNull(Schema.Column.secret) ? nil : run.blob(Schema.Column.secret)
        changeNumber =
            run.isNull(Schema.Column.changeNumber) ? nil : run.int64(Schema.Column.changeNumber)
        logicalTime = run.int64(Schema.Column.logicalTime)
    }

    /// Whether the same searches find both rows.
    func isIndexedAs(_ other: SealedRow) -> Bool {
        placeID == other.placeID && place == other.place && hashes == other.hashes
    }

    /// Whether SQLite stores both rows in the same number of bytes, provided that the same searches
    /// find both.
    func isAsLong(as other: SealedRow) -> Bool {
        var header = header
        header.version = other.header.version
        // SQLite's integers have whole bytes: FORMAT of SQLite, §2.1.
        return header == other.header && names.count == other.names.count
            && secret?.count == other.secret?.count
            && self.header.version.bitCount == other.header.version.bitCount
            && changeNumber?.bitCount == other.changeNumber?.bitCount
            && logicalTime.bitCount == other.logicalTime.bitCount
    }

    /// Binds the row number, and the columns that an update writes when no hash of the row changes.
    func bindSealed(to run: borrowing Statement.Run) throws(SystemError) {
        try run.bind(header.number, at: 1)
        try run.bind(header.version, at: 2)
        try run.bind(Int64(header.protectionClass.rawValue), at: 3)
        try run.bind(Int64(header.flags.rawValue), at: 4)
        try run.bind(header.epoch.column, at: 5)
        try run.bind(nonce, at: 6)
        try run.bind(names, at: 7)
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
        try run.bind(header.epoch.column, at: 7)
        try run.bind(placeID, at: 8)
        try run.bind(header.accountHash, at: 9)
        try run.bind(nonce, at: 10)
        try run.bind(names, at: 11)
        if let secret { try run.bind(secret, at: 12) } else { try run.bindNull(at: 12) }
        if hashes.isEmpty { try run.bindNull(at: 13) } else { try run.bind(hashes, at: 13) }
        if let changeNumber { try run.bind(changeNumber, at: 14) } else { try run.bindNull(at: 14) }
        try run.bind(logicalTime, at: 15)
    }
}

extension Int64 {
    fileprivate var bitCount: Int { bitWidth - leadingZeroBitCount }
}

extension Epoch {
    /// The value of column `epoch`: the same 64 bits as a signed integer.
    package var column: Int64 { Int64(bitPattern: rawValue) }

    init(column: Int64) { self.init(UInt64(bitPattern: column)) }
}

extension RowHeader {
    /// Reads the header of the row that `run` is at, in the place that has `placeHash`. Its account
    /// has the hash `account`, or the one in the column.
    package init(
        _ run: borrowing Statement.Run, in placeHash: IndexHash, account: IndexHash? = nil
    ) throws(SystemError) {
        guard let itemClass = Self.number(run, Schema.Column.itemClass).flatMap(ItemClass.init),
            let protection = Self.number(run, Schema.Column.protection)
                .flatMap(ProtectionClass.init),
            let flags = RowFlags(column: run.int64(Schema.Column.flags))
        else { throw .row(.damagedColumn) }
        number = run.int64(Schema.Column.number)
        salt = run.int64(Schema.Column.salt)
        version = run.int64(Schema.Column.version)
        self.itemClass = itemClass
        protectionClass = protection
        self.flags = flags
        epoch = Epoch(column: run.int64(Schema.Column.epoch))
        self.placeHash = placeHash
        if let account {
            accountHash = account
        } else {
            accountHash = try run.fixedBytes(Schema.Column.accountHash)
        }
    }

    private static func number(_ run: borrowing Statement.Run, _ column: Int32) -> UInt8? {
        UInt8(exactly: run.int64(column))
    }
}

extension Statement.Run {
    /// The blob in a column, which must have the length of the requested type.
    package func fixedBytes<let byteCount: Int, Name>(
        _ column: Int32
    ) throws(SystemError) -> FixedBytes<byteCount, Name> {
        var bytes = InlineArray<byteCount, UInt8>(repeating: 0)
        var target = bytes.mutableSpan
        guard self.byteCount(column) == byteCount, copyEnd(ofBlob: column, to: &target) else {
            throw .row(.damagedColumn)
        }
        return FixedBytes(bytes)
    }

    /// The tag of a sealed part, which identifies it.
    package func tag(_ column: Int32) throws(SystemError) -> PartTag {
        var bytes = InlineArray<16, UInt8>(repeating: 0)
        var target = bytes.mutableSpan
        guard copyEnd(ofBlob: column, to: &target) else { throw .row(.damagedSeal) }
        return PartTag(bytes)
    }

    /// Binds the hashes of a place from parameter 1 on, and that of an account behind them.
    package func bind(_ place: ItemPlace) throws(SystemError) {
        try bind(place.service)
        try bind(place.account, at: 4)
    }

    /// Binds the hashes of a place from parameter 1 on.
    package func bind(_ place: ServiceHashes) throws(SystemError) {
        try bind(place.group, at: 1)
        try bind(place.service, at: 2)
        try bind(place.place, at: 3)
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
    /// Reads the header of the current row of `run`, a run of ``RowConnection/value``.
    package init(
        value run: borrowing Statement.Run, _ place: ItemPlace
    ) throws(SystemError) {
        guard let number = UInt8(exactly: run.int64(3)),
            let protectionClass = ProtectionClass(rawValue: number),
            let flags = RowFlags(column: run.int64(4))
        else { throw .row(.damagedColumn) }
        self.init(
            number: run.int64(0), salt: run.int64(1), version: run.int64(2),
            itemClass: .genericPassword, protectionClass: protectionClass, flags: flags,
            epoch: Epoch(column: run.int64(5)), placeHash: place.service.place,
            accountHash: place.account)
    }
}
