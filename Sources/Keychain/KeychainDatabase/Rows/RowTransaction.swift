// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
package import ValetSystem

/// The rows of a call's write transaction.
package struct RowTransaction {
    /// The connection that writes.
    package let writer: RowWriter
    /// The keys that open and seal rows.
    package private(set) var state: RowKeys
    /// The time of the write.
    package var now: Moment
    /// The name of the operation in failures.
    package let operation: String
    /// The call's proofs and passwords for items that need them.
    package var access: PresenceAccess
    /// The times of rows that come from another device; nil for local writes.
    private(set) var synced: SyncedTimes?

    /// A transaction that the connection of `writer` has begun.
    package init(
        writer: RowWriter, state: RowKeys, now: Moment, operation: String,
        access: PresenceAccess = PresenceAccess(.naming)
    ) {
        self.writer = writer
        self.state = state
        self.now = now
        self.operation = operation
        self.access = access
    }

    /// The same transaction for rows of other devices, which are no use of the keychain.
    package func storing(_ times: SyncedTimes) -> RowTransaction {
        var rows = self
        rows.synced = times
        rows.state = state.withoutUse
        return rows
    }

    /// The connection, for reads inside the transaction.
    package var store: RowConnection { writer.reading }

    // Reading inside the transaction.

    /// The live row of the item with these attributes, or a tombstone in its place; nil for none.
    package func row(
        _ itemClass: ItemClass, _ attributes: ItemAttributes, group: AccessGroup,
        isSynchronizable: Bool
    ) throws(KeychainFailure) -> FoundRow? {
        try row(
            state.hasher.place(
                itemClass, attributes, group: group, isSynchronizable: isSynchronizable))
    }

    /// The row in a place, or a tombstone; nil for none.
    package func row(_ place: ItemPlace) throws(KeychainFailure) -> FoundRow? {
        try translating(operation) { () throws(SystemError) in
            let run = try store.byPrimaryKey.start()
            try run.bind(place)
            guard try run.step() else { return nil }
            guard !run.isNull(Schema.Column.number) else { throw .row(.damagedIndex) }
            let found = try FoundRow(run)
            guard case .row(let row) = found, row.place != place else { return found }
            // The index leads to a row whose columns name another item. If its names open, it is
            // that item, and must not be overwritten. Otherwise the row was changed.
            guard state.isForged(row) else { throw .row(.damagedIndex) }
            return found
        }
    }

    /// Opens everything in a row, except a value that needs a proof that ``access`` does not have.
    package func open(_ row: SealedRow) throws(KeychainFailure) -> OpenedRow {
        try translating(state.open(row, access.proof), during: operation)
    }

    /// Opens everything in a row; nil if it is damaged.
    ///
    /// - Throws: ``KeychainFailure/Code/locked``.
    package func openIfSound(_ row: SealedRow) throws(KeychainFailure) -> OpenedRow? {
        try translating(operation) { () throws(SystemError) in
            try unlessDamaged { () throws(SystemError) in try state.open(row, access.proof) }
        }
    }

    // Writing.

    /// Content with its hashes. `place` is the item's place, if that has been computed.
    package func hashed(
        _ content: ItemContent, _ itemClass: ItemClass, _ flags: RowFlags,
        at place: ItemPlace? = nil
    ) -> IndexedContent {
        IndexedContent(
            content,
            state.hasher.hashes(
                itemClass, content, isSynchronizable: flags.contains(.synchronizable), at: place))
    }

    /// Adds a row. The flags of `kind` say to which presence pair the value is sealed, and whether
    /// the value is sealed under the call's password.
    package func insert(
        _ itemClass: ItemClass, _ kind: RowKind, _ item: IndexedContent, value: SecretValue?,
        after logicalTime: Int64 = 0
    ) throws(KeychainFailure) -> SealedRow {
        let row = try newRow(itemClass, kind, item, value: value, after: logicalTime)
        return try insert(row, item)
    }

    /// Puts a row back that left the table, as it was. The caller has made its place free.
    ///
    /// - Returns: false if another item has the row's number, so that the row would not open.
    package func insert(
        asItWas opened: OpenedRow, after logicalTime: Int64
    ) throws(KeychainFailure) -> Bool {
        var row = opened.row
        let item = try translating(operation) { () throws(SystemError) in
            row.logicalTime = try time(after: max(logicalTime, row.logicalTime))
            return try IndexedContent(opened.content, sameKeyAs: row)
        }
        let isTaken = try translating(operation) { () throws(SystemError) in
            let run = try store.byNumber.start()
            try run.bind(row.header.number, at: 1)
            return try run.step()
        }
        guard !isTaken else { return false }
        _ = try insert(row, item)
        return true
    }

    /// A new row with the next number, which is not in a table yet.
    func newRow(
        _ itemClass: ItemClass, _ kind: RowKind, _ item: IndexedContent, value: SecretValue?,
        after logicalTime: Int64
    ) throws(KeychainFailure) -> SealedRow {
        let kind = try marked(kind, itemClass, item.content)
        let cipher = try cipher(kind)
        let (content, index) = (item.content, item.index)
        let header = RowHeader(
            number: try translating(nextNumber(), during: operation),
            salt: .random(in: .min ... .max), version: 1,
            itemClass: itemClass, protectionClass: kind.protectionClass, flags: kind.flags,
            epoch: state.epoch.keys.epoch, placeHash: index.place.service.place,
            accountHash: index.place.account)
        let stored = kind.flags.contains(.password) ? try boxed(value, header) : value
        return try cipher.seal(
            header, content, index, value: stored,
            logicalTime: try translating(time(after: logicalTime), during: operation))
    }

    private func insert(
        _ new: SealedRow, _ item: IndexedContent
    ) throws(KeychainFailure) -> SealedRow {
        var row = new
        try translating(operation) { () throws(SystemError) in
            row.placeID = try placeID(item.index.place.service)
            row.changeNumber = try nextChangeNumber(row.header.flags)
            let run = try writer.insert.start()
            try row.bind(to: run)
            try run.finish()
            try insertAttributes(item.index.others.values, row.header.number)
        }
        return row
    }

    /// Overwrites the row `old` with the next version of its item, and takes its former rows along.
    /// For a value under a password, `value` is the box.
    package func replace(
        _ old: SealedRow, _ kind: RowKind, _ item: IndexedContent, value: SecretValue?
    ) throws(KeychainFailure) {
        var row = try seal(item, over: old, kind, value: value)
        if row.place != old.place || kind.protectionClass != old.header.protectionClass {
            try moveFormer(of: old, to: item, kind)
        }
        try translating(operation) { () throws(SystemError) in
            row.logicalTime = try time(after: old.logicalTime)
            row.changeNumber = try nextChangeNumber(kind.flags)
            try write(row, over: old, item)
        }
    }

    /// For a key change: seals a row that the keys of the former epoch have opened. The item
    /// does not change, so no watcher has to be notified.
    package func sealAnew(_ opened: OpenedRow) throws(KeychainFailure) {
        let old = opened.row
        let item = hashed(opened.content, old.header.itemClass, old.header.flags)
        let row = try seal(item, over: old, old.header.kind, value: opened.value)
        try translating(operation) { () throws(SystemError) in
            try write(row, over: old, item)
        }
    }

    /// The kind of a row with that content, which may change what decides it.
    ///
    /// - Throws: ``KeychainFailure``: `invalidRequest` for fields of an item that needs the user or
    ///   a password: a write of its value alone could not keep them.
    private func marked(
        _ kind: RowKind, _ itemClass: ItemClass, _ content: ItemContent
    ) throws(KeychainFailure) -> RowKind {
        let kind = kind.marking(itemClass, content)
        guard !kind.flags.contains(.fields) || !kind.flags.isGuarded else {
            throw KeychainFailure(
                .invalidRequest, during: operation,
                message: "a secret that requires the user or a password has no fields",
                hint: "store the fields as a secret of their own")
        }
        return kind
    }

    private func cipher(_ kind: RowKind) throws(KeychainFailure) -> ItemCipher {
        try translating(state.cipher(kind.protectionClass), during: operation)
    }

    /// The next version of a row, with the logical time and the change number of `old`.
    private func seal(
        _ item: IndexedContent, over old: SealedRow, _ kind: RowKind, value: SecretValue?
    ) throws(KeychainFailure) -> SealedRow {
        let kind = try marked(kind, old.header.itemClass, item.content)
        let cipher = try cipher(kind)
        var header = old.header
        header.version = try translating(following(header.version), during: operation)
        header.protectionClass = kind.protectionClass
        header.flags = kind.flags
        header.epoch = state.epoch.keys.epoch
        header.placeHash = item.index.place.service.place
        header.accountHash = item.index.place.account
        var row = try cipher.seal(
            header, item.content, item.index, value: value, logicalTime: old.logicalTime)
        let staysInPlace = item.index.place.service == old.place.service
        row.placeID =
            staysInPlace
            ? old.placeID : try translating(placeID(item.index.place.service), during: operation)
        row.changeNumber = old.changeNumber
        return row
    }

    private func write(
        _ row: SealedRow, over old: SealedRow, _ item: IndexedContent
    ) throws(SystemError) {
        if row.isIndexedAs(old) {
            // SQLite rewrites every index of a column that an UPDATE names, at a page for each.
            let run = try writer.updateSealed.start()
            try row.bindSealed(to: run)
            try run.finish()
            if row.isAsLong(as: old) { writer.sameSizeCount += 1 }
        } else {
            let run = try writer.update.start()
            try row.bind(to: run)
            try run.finish()
            if row.hashes != old.hashes {
                try deleteAttributes(of: old)
                try insertAttributes(item.index.others.values, row.header.number)
            }
            if row.placeID != old.placeID { try deletePlaceIfEmpty(old.placeID) }
        }
    }

    /// Deletes a row for good.
    package func delete(_ row: SealedRow) throws(KeychainFailure) {
        try translating(operation) { () throws(SystemError) in
            try deleteAttributes(of: row)
            let run = try writer.delete.start()
            try run.bind(row.header.number, at: 1)
            try run.finish()
            try deletePlaceIfEmpty(row.placeID)
        }
    }

    // Places.

    /// The id of the place with these hashes, which is added if it is missing.
    ///
    /// A group with many places has negative ids for the later ones: a search by an account alone
    /// looks into every place with a positive id.
    private func placeID(_ hashes: ServiceHashes) throws(SystemError) -> Int64 {
        let run = try writer.place.start()
        try run.bind(hashes)
        if try run.step() {
            // The place's own columns must confirm the index.
            guard run.int64(1) == 1 else { throw .row(.damagedIndex) }
            return run.int64(0)
        }
        let id = try nextPlaceID(in: hashes.group)
        let insertion = try writer.addPlace.start()
        try insertion.bind(hashes)
        try insertion.bind(id, at: 4)
        try insertion.finish()
        return id
    }

    private func nextPlaceID(in group: IndexHash) throws(SystemError) -> Int64 {
        let run = try writer.fewPlaces.start()
        try run.bind(group, at: 1)
        guard try run.step() else { throw .row(.damagedIndex) }
        guard run.int64(0) == 0 else { return try following(run.int64(1)) }
        let (next, isTooSmall) = run.int64(2).subtractingReportingOverflow(1)
        guard !isTooSmall else { throw .row(.damagedColumn) }
        return next
    }

    /// Deletes a place that has lost its last row.
    ///
    /// If an index that is damaged hid a row, nothing would open that row again: the place has what
    /// its names are bound to. So the table itself is asked. If that would take long, the place
    /// stays until there are twice as many places, or until the keys change.
    private func deletePlaceIfEmpty(_ id: Int64) throws(SystemError) {
        let search = try writer.rowInPlace.start()
        try search.bind(id, at: 1)
        guard try !search.step() else { return }
        let (size, isLarge) = (id.magnitude, id.magnitude >= 1024)
        if isLarge, size & (size - 1) == 0 {
            try writer.deleteEmptyPlaces.start().finish()
        } else {
            let run = try writer.deletePlace.start()
            try run.bind(id, at: 1)
            try run.finish()
        }
    }

    private func insertAttributes(
        _ hashes: some Sequence<IndexHash>, _ number: Int64
    ) throws(SystemError) {
        for hash in hashes { try change(writer.insertAttribute, hash, number) }
    }

    private func deleteAttributes(of row: SealedRow) throws(SystemError) {
        // If the column is damaged, `doctor` finds the leftovers.
        guard let others = try? IndexHashes.others(parsing: row.hashes) else { return }
        for hash in others.values { try change(writer.deleteAttribute, hash, row.header.number) }
    }

    private func change(
        _ statement: Statement, _ hash: IndexHash, _ number: Int64
    ) throws(SystemError) {
        let run = try statement.start()
        try run.bind(hash, at: 1)
        try run.bind(number, at: 2)
        try run.finish()
    }

    private func nextNumber() throws(SystemError) -> Int64 {
        try following(last(writer.lastNumber))
    }

    private func nextChangeNumber(_ flags: RowFlags) throws(SystemError) -> Int64? {
        guard flags.contains(.synchronizable) else { return nil }
        if let synced { return synced.changeNumber }
        return try following(last(writer.lastChange))
    }

    /// Makes a synchronizable row a change that sync has not seen yet.
    package func renumberChange(ofRow number: Int64) throws(SystemError) {
        let run = try Statement(
            "UPDATE item SET change_number = ?2 WHERE number = ?1", on: writer.connection
        ).start()
        try run.bind(number, at: 1)
        try run.bind(following(last(writer.lastChange)), at: 2)
        try run.finish()
    }

    private func time(after logicalTime: Int64) throws(SystemError) -> Int64 {
        if let synced { return synced.logicalTime }
        return max(now.logicalTime, try following(logicalTime))
    }

    /// - Throws: ``SystemError``: `damagedColumn` for a number that no count can reach.
    func following(_ number: Int64) throws(SystemError) -> Int64 {
        guard number < .max else { throw .row(.damagedColumn) }
        return number + 1
    }

    private func last(_ statement: Statement) throws(SystemError) -> Int64 {
        let run = try statement.start()
        return try run.step() ? run.int64(0) : 0
    }
}

extension RowKind {
    /// The same kind, with the marks of items that are no secrets, and of those that have fields.
    fileprivate func marking(_ itemClass: ItemClass, _ content: ItemContent) -> RowKind {
        var kind = self
        if content.accessGroup.isOfKeychain || ServiceName.isCanary(itemClass, content.attributes) {
            kind.flags.insert(.ofKeychain)
        } else {
            kind.flags.remove(.ofKeychain)
        }
        if content.attributes[.fieldCount] != nil {
            kind.flags.insert(.fields)
        } else {
            kind.flags.remove(.fields)
        }
        return kind
    }
}

/// The times of rows that come from another device.
package struct SyncedTimes: Sendable {
    /// The time of the record.
    let logicalTime: Int64
    /// At most the mark of `sync_mark`, so that the row does not count as a local change.
    let changeNumber: Int64

    /// The time of a record, and a change number at or below the mark of `sync_mark`.
    package init(logicalTime: Int64, changeNumber: Int64) {
        self.logicalTime = logicalTime
        self.changeNumber = changeNumber
    }
}

/// A row with everything that was sealed in it.
package struct OpenedRow {
    package let row: SealedRow
    /// Its names and details.
    package let content: ItemContent
    /// The value; its box if it is under a password; the form of docs/FORMAT.md §5.7 if it has
    /// fields.
    package var value: SecretValue?
    /// Whether the value stayed closed because a proof was missing.
    package var isClosed = false

    /// The value and the fields; nil for an item without a value, and for one that stayed closed.
    package var itemValue: ItemValue? {
        get throws(SystemError) {
            try value.map { (sealed) throws(SystemError) in
                try content.value(sealedAs: sealed)
            }
        }
    }
}

/// An item's content with the hashes that follow from it. Hashing costs as much as sealing, so each
/// hash is computed once.
package struct IndexedContent {
    /// The names and details.
    package var content: ItemContent
    /// The hashes that follow from them.
    package let index: IndexHashes

    /// Content whose hashes have been computed.
    package init(_ content: ItemContent, _ index: IndexHashes) {
        self.content = content
        self.index = index
    }

    /// Content that equals a row's content in all hashed attributes. Opening the row has verified
    /// its hashes.
    package init(_ content: ItemContent, sameKeyAs row: SealedRow) throws(SystemError) {
        self.content = content
        index = IndexHashes(
            place: row.place, others: try IndexHashes.others(parsing: row.hashes))
    }
}

/// A moment, in the two forms that rows keep.
package struct Moment: Hashable, Sendable {
    private static let nanosecondsUntil2001: Int64 = 978_307_200 * 1_000_000_000

    /// Seconds since 2001-01-01 00:00 UTC.
    package let date: Double
    /// Milliseconds since 1970, with 16 more bits for the order within a millisecond.
    package let logicalTime: Int64

    /// The moment `nanoseconds` after the beginning of 1970.
    package init(nanoseconds: Int64) {
        let (since2001, isTooEarly) = nanoseconds.subtractingReportingOverflow(
            Self.nanosecondsUntil2001)
        date = Double(isTooEarly ? .min : since2001) / 1e9
        logicalTime = max(0, nanoseconds / 1_000_000) << 16
    }

    /// A moment whose two forms do not agree, as in restored items.
    package init(date: Double, logicalTime: Int64) {
        self.date = date
        self.logicalTime = logicalTime
    }
}
