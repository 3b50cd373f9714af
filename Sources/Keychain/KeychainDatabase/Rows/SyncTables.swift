// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainModel
internal import ValetKeys
internal import ValetSealing
package import ValetSystem

/// The tables of sync on one connection: docs/FORMAT.md §12. The module SyncAgent reads and writes
/// them. When the keys change, this module seals the entries again and replaces the hashes of
/// items.
// Sendable because one thread at a time has its connection: see ``RowConnection``.
package final class SyncTables: @unchecked Sendable {
    /// The kind of the entries that hold notes of the agent. The id of each is the note's name.
    package static let noteKind: UInt8 = 12

    private let mark: Statement
    private let setMark: Statement
    private let changed: Statement
    private let uncollected: Statement
    private let itemByKey: Statement
    private let placeOfItem: Statement
    private let addItem: Statement
    private let moveItem: Statement
    private let itemsAfter: Statement
    private let deleteItem: Statement
    private let entry: Statement
    private let entries: Statement
    private let records: Statement
    private let upsert: Statement
    private let deleteEntry: Statement
    private let deleteKind: Statement
    private let deleteIDs: Statement
    private let formerEntries: Statement
    private let updateEntry: Statement

    init(_ connection: Connection) {
        mark = Statement("SELECT mark, stamp FROM sync_mark WHERE one = 1", on: connection)
        setMark = Statement("INSERT OR REPLACE INTO sync_mark VALUES (1, ?1, ?2)", on: connection)
        changed = Statement(Self.changedRows, on: connection)
        uncollected = Statement(
            "SELECT count(*) FROM item WHERE change_number > ?1", on: connection)
        itemByKey = Statement(
            "SELECT id FROM sync_item WHERE place_hash = ?1 AND account_hash = ?2", on: connection)
        placeOfItem = Statement(Self.placeOfNumber, on: connection)
        addItem = Statement(Self.newItem, on: connection)
        moveItem = Statement(Self.newPlaceOfItem, on: connection)
        itemsAfter = Statement(
            "SELECT id FROM sync_item WHERE id > ?1 ORDER BY id LIMIT ?2", on: connection)
        deleteItem = Statement("DELETE FROM sync_item WHERE id = ?1", on: connection)
        entry = Statement(Self.entryOfName, on: connection)
        entries = Statement(Self.entriesOfKinds, on: connection)
        records = Statement(
            "SELECT kind, id FROM sync_entry WHERE kind IN (1, 8)", on: connection)
        upsert = Statement(Self.upsertion, on: connection)
        deleteEntry = Statement(
            "DELETE FROM sync_entry WHERE kind = ?1 AND id = ?2", on: connection)
        deleteKind = Statement("DELETE FROM sync_entry WHERE kind = ?1", on: connection)
        deleteIDs = Statement(
            "DELETE FROM sync_entry WHERE kind = ?1 AND id >= ?2 AND id < ?3", on: connection)
        formerEntries = Statement(Self.entriesOfOtherEpochs, on: connection)
        updateEntry = Statement(
            "UPDATE sync_entry SET epoch = ?2, facts = ?3, secret = ?4 WHERE number = ?1",
            on: connection)
    }

    private static let changedRows: StaticString = """
        SELECT number, salt, version, class, protection, flags, epoch, place, account_hash, nonce,
            NULL, NULL, hashes, change_number, logical_time, group_hash, service_hash, place_hash
        FROM item LEFT JOIN place ON place.id = item.place
        WHERE change_number > ?1 ORDER BY change_number
        """
    private static let placeOfNumber: StaticString = """
        SELECT group_hash, service_hash, place_hash, account_hash FROM sync_item WHERE id = ?1
        """
    private static let newItem: StaticString = """
        INSERT INTO sync_item (group_hash, service_hash, place_hash, account_hash)
        VALUES (?1, ?2, ?3, ?4)
        """
    private static let newPlaceOfItem: StaticString = """
        UPDATE OR IGNORE sync_item SET group_hash = ?1, service_hash = ?2, place_hash = ?3,
            account_hash = ?4
        WHERE place_hash = ?5 AND account_hash = ?6
        """
    private static let entryOfName: StaticString = """
        SELECT number, kind, id, item, protection, epoch, facts, secret
        FROM sync_entry WHERE kind = ?1 AND id = ?2
        """
    private static let entriesOfKinds: StaticString = """
        SELECT number, kind, id, item, protection, epoch, facts, NULL
        FROM sync_entry WHERE kind BETWEEN ?1 AND ?2
        """
    private static let entriesOfOtherEpochs: StaticString = """
        SELECT number, kind, id, item, protection, epoch, facts, secret
        FROM sync_entry WHERE number >= ?1 AND epoch <> ?2 ORDER BY number
        """
    private static let upsertion: StaticString = """
        INSERT INTO sync_entry (kind, id, item, protection, epoch, facts, secret)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT (kind, id) DO UPDATE SET item = excluded.item,
            protection = excluded.protection, epoch = excluded.epoch, facts = excluded.facts,
            secret = excluded.secret
        """

    // MARK: The mark

    /// The change number up to which local changes were collected, and the stamp of the last
    /// update.
    package func readMark() throws(SystemError) -> (mark: Int64, stamp: Int64) {
        let run = try mark.start()
        return try run.step() ? (run.int64(0), run.int64(1)) : (0, 0)
    }

    /// Writes what ``readMark()`` reads.
    package func write(mark: Int64, stamp: Int64) throws(SystemError) {
        let run = try setMark.start()
        try run.bind(mark, at: 1)
        try run.bind(stamp, at: 2)
        try run.finish()
    }

    /// The synchronizable rows and tombstones with change numbers above `mark`, the oldest change
    /// first: at most `count`, and then all others that have the change number of the last one.
    /// Rows that sync has written share a change number; a caller that collects only a part of them
    /// would miss the others.
    package func changedRows(
        above mark: Int64, count: Int
    ) throws(SystemError) -> [(row: FoundRow, change: Int64)] {
        var rows: [(row: FoundRow, change: Int64)] = []
        let run = try changed.start()
        try run.bind(mark, at: 1)
        while try run.step() {
            let change = run.int64(Schema.Column.changeNumber)
            guard rows.count < count || change == rows.last?.change else { break }
            rows.append((try FoundRow(run), change))
        }
        return rows
    }

    /// How many synchronizable rows and tombstones have change numbers above the mark.
    package func uncollectedCount() throws(SystemError) -> Int {
        let run = try uncollected.start()
        try run.bind(try readMark().mark, at: 1)
        return try run.step() ? Int(clamping: run.int64(0)) : 0
    }

    // MARK: Items

    /// The number of the item in a place; nil if it has none.
    package func item(in place: ItemPlace) throws(SystemError) -> Int64? {
        let run = try itemByKey.start()
        try run.bind(place.service.place, at: 1)
        try run.bind(place.account, at: 2)
        return try run.step() ? run.int64(0) : nil
    }

    /// Gives the item in a place a number.
    package func addItem(in place: ItemPlace) throws(SystemError) -> Int64 {
        let run = try addItem.start()
        try run.bind(place)
        try run.finish()
        guard let number = try item(in: place) else { throw .row(.damagedIndex) }
        return number
    }

    /// The place of an item by its number; nil for a number that is not in use.
    package func place(of item: Int64) throws(SystemError) -> ItemPlace? {
        let run = try placeOfItem.start()
        try run.bind(item, at: 1)
        guard try run.step() else { return nil }
        return ItemPlace(
            service: ServiceHashes(
                group: try run.fixedBytes(0), service: try run.fixedBytes(1),
                place: try run.fixedBytes(2)),
            account: try run.fixedBytes(3))
    }

    func move(_ old: ItemPlace, to new: ItemPlace) throws(SystemError) {
        let run = try moveItem.start()
        try run.bind(new)
        try run.bind(old.service.place, at: 5)
        try run.bind(old.account, at: 6)
        try run.finish()
    }

    /// The next `count` numbers of items after `number`, in order.
    package func items(after number: Int64, count: Int) throws(SystemError) -> [Int64] {
        let run = try itemsAfter.start()
        try run.bind(number, at: 1)
        try run.bind(Int64(count), at: 2)
        var items: [Int64] = []
        while try run.step() { items.append(run.int64(0)) }
        return items
    }

    /// Frees an item's number. Another item may get it.
    package func deleteItem(_ number: Int64) throws(SystemError) {
        let run = try deleteItem.start()
        try run.bind(number, at: 1)
        try run.finish()
    }

    // MARK: Entries

    /// The entry with that name; nil for none.
    package func entry(_ kind: UInt8, _ id: [UInt8]) throws(SystemError) -> SealedSyncEntry? {
        let run = try entry.start()
        try run.bind(Int64(kind), at: 1)
        try run.bind(id, at: 2)
        return try run.step() ? try SealedSyncEntry(run) : nil
    }

    /// Hands `body` the entries of these kinds, without their secret parts, until it returns false.
    package func forEachEntry(
        _ kinds: ClosedRange<UInt8>, _ body: (SealedSyncEntry) throws(SystemError) -> Bool
    ) throws(SystemError) {
        let run = try entries.start()
        try run.bind(Int64(kinds.lowerBound), at: 1)
        try run.bind(Int64(kinds.upperBound), at: 2)
        while try run.step(), try body(SealedSyncEntry(run)) {}
    }

    /// The names of all entries whose secret is a record, readable or not.
    package func recordNames() throws(SystemError) -> [(kind: UInt8, id: [UInt8])] {
        let run = try records.start()
        var names: [(kind: UInt8, id: [UInt8])] = []
        while try run.step() {
            names.append((UInt8(truncatingIfNeeded: run.int64(0)), run.blob(1)))
        }
        return names
    }

    /// Writes an entry, over an earlier one with its name.
    package func put(_ entry: SealedSyncEntry) throws(SystemError) {
        let run = try upsert.start()
        try run.bind(Int64(entry.head.kind), at: 1)
        try run.bind(entry.head.id, at: 2)
        try run.bind(entry.head.item, at: 3)
        try run.bind(Int64(entry.head.protectionClass.rawValue), at: 4)
        try run.bind(entry.epoch.column, at: 5)
        try run.bind(entry.facts, at: 6)
        if let secret = entry.secret { try run.bind(secret, at: 7) }
        try run.finish()
    }

    /// Deletes the entry with that name, if there is one.
    package func delete(_ kind: UInt8, _ id: [UInt8]) throws(SystemError) {
        let run = try deleteEntry.start()
        try run.bind(Int64(kind), at: 1)
        try run.bind(id, at: 2)
        try run.finish()
    }

    /// Deletes the entries of a kind.
    package func deleteAll(_ kind: UInt8) throws(SystemError) {
        let run = try deleteKind.start()
        try run.bind(Int64(kind), at: 1)
        try run.finish()
    }

    /// Deletes the entries of a kind whose ids begin with `byte`, which must be below 0xFF.
    package func deleteAll(_ kind: UInt8, beginningWith byte: UInt8) throws(SystemError) {
        let run = try deleteIDs.start()
        try run.bind(Int64(kind), at: 1)
        try run.bind([byte], at: 2)
        try run.bind([byte + 1], at: 3)
        try run.finish()
    }
}

// MARK: - Key change

extension RowTransaction {
    private static let batchByteCount = 4 << 20

    /// For a key change: seals every entry again that the keys of the former epoch open. An
    /// entry that does not open stays as it is, and sync reports it. Holds about 4 MiB of entries
    /// in memory.
    ///
    /// - Returns: How many entries do not open.
    package func sealSyncEntriesAnew(from former: RowKeys) throws(KeychainFailure) -> Int {
        var (damagedCount, first) = (0, Int64?.some(.min))
        while let number = first {
            first = try translating(
                sealSyncEntries(startingAt: number, from: former, &damagedCount),
                during: operation)
        }
        return damagedCount
    }

    /// - Returns: The least number that the next entry can have; nil if there are no more.
    private func sealSyncEntries(
        startingAt number: Int64, from former: RowKeys, _ damagedCount: inout Int
    ) throws(SystemError) -> Int64? {
        var batch: [SealedSyncEntry] = []
        var byteCount = 0
        let isLast = try store.sync.forEachFormerEntry(
            startingAt: number, than: state.epoch.keys.epoch
        ) { entry in
            guard let entry else {
                damagedCount += 1
                return true
            }
            batch.append(entry)
            byteCount += entry.facts.count + (entry.secret?.count ?? 0)
            return byteCount < Self.batchByteCount
        }
        for entry in batch where try !sealAnew(entry, from: former) { damagedCount += 1 }
        return isLast ? nil : batch.last?.number.successor
    }

    /// - Returns: Whether the entry opens.
    private func sealAnew(
        _ old: SealedSyncEntry, from former: RowKeys
    ) throws(SystemError) -> Bool {
        let facts: [UInt8]
        let secret: SecretValue?
        do {
            facts = try former.openFacts(old)
            secret = try former.openSecret(old)
        } catch {
            guard error.isDamage || error.code == .lockedRow else { throw error }
            return false
        }
        let new = try state.seal(old.head, facts: facts, secret: secret)
        try store.sync.replace(old.number, by: new)
        if let (itemClass, content) = secret.flatMap({ old.names(in: $0) }) {
            try move(itemClass, content, from: former)
        }
        return true
    }

    /// Moves an item's number in sync to the hashes of the current epoch.
    package func moveSyncItem(
        _ itemClass: ItemClass, _ content: ItemContent, from former: RowKeys
    ) throws(KeychainFailure) {
        try translating(move(itemClass, content, from: former), during: operation)
    }

    private func move(
        _ itemClass: ItemClass, _ content: ItemContent, from former: RowKeys
    ) throws(SystemError) {
        let (attributes, group) = (content.attributes, content.accessGroup)
        try store.sync.move(
            former.hasher.place(itemClass, attributes, group: group, isSynchronizable: true),
            to: state.hasher.place(itemClass, attributes, group: group, isSynchronizable: true))
    }
}

extension SyncTables {
    /// - Parameter body: Gets nil for an entry with a damaged column. Returns whether to go on.
    /// - Returns: true after the last entry; false if `body` stopped before.
    fileprivate func forEachFormerEntry(
        startingAt number: Int64, than epoch: Epoch, _ body: (SealedSyncEntry?) -> Bool
    ) throws(SystemError) -> Bool {
        let run = try formerEntries.start()
        try run.bind(number, at: 1)
        try run.bind(epoch.column, at: 2)
        while try run.step() {
            let entry = try unlessDamaged { () throws(SystemError) in try SealedSyncEntry(run) }
            guard body(entry) else { return false }
        }
        return true
    }

    fileprivate func replace(_ number: Int64, by entry: SealedSyncEntry) throws(SystemError) {
        let run = try updateEntry.start()
        try run.bind(number, at: 1)
        try run.bind(entry.epoch.column, at: 2)
        try run.bind(entry.facts, at: 3)
        if let secret = entry.secret { try run.bind(secret, at: 4) }
        try run.finish()
    }
}

// MARK: - Rows

extension RowConnection {
    /// The row in a place, or a tombstone; nil for none, or for a row that names another place.
    package func row(in place: ItemPlace) throws(SystemError) -> SealedRow? {
        let run = try byPrimaryKey.start()
        try run.bind(place)
        guard try run.step(), !run.isNull(Schema.Column.number),
            case .row(let row) = try FoundRow(run), row.place == place
        else { return nil }
        return row
    }
}

extension RowKeys {
    /// Whether the keys of scope `u` are closed.
    package var isLocked: Bool {
        epoch.hasKey(of: .whenUnlocked) && epoch.keys.keys(of: .whenUnlocked) == nil
    }

    /// Opens everything in a row. This does not count as use of the keychain.
    ///
    /// - Throws: ``SystemError``.
    package func openUnused(_ row: SealedRow) throws(SystemError) -> OpenedRow {
        let cipher = try cipher(examining: row.header)
        let content = try cipher.openContent(row)
        guard let secret = row.secret else { return OpenedRow(row: row, content: content) }
        let value = try cipher.openValue(ValueParts(row), secret.span)
        try cipher.check(value, row.header, content)
        return OpenedRow(row: row, content: content, value: value)
    }
}
