// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// Builds a sound database from the rows of a damaged one: docs/FORMAT.md §7.1.
///
/// Pages may be damaged, so nothing but the seals says what is sound: a row whose part N opens. The
/// caller holds the writers' lock and one read transaction of the damaged database.
struct DatabaseRebuild {
    private let source: RowConnection
    private let rows: RowTransaction
    private let addPlace: Statement
    private let itemOfName: Statement
    private var places = PlaceVersions()
    /// The numbers of the rows that became former ones.
    private var displaced: Set<Int64> = []
    /// The numbers of the rows that do not open.
    private var damaged: Set<Int64> = []
    private var summary = IndexRepair()

    private var connection: Connection { source.connection }
    private var target: RowWriter { rows.writer }
    private var state: RowKeys { rows.state }

    init(_ source: RowConnection, to target: Connection, _ state: RowKeys, now: Moment) {
        self.source = source
        rows = RowTransaction(
            writer: RowWriter(target), state: state, now: now, operation: KeychainFailure.repairing)
        addPlace = Statement("INSERT INTO place VALUES (?4, ?1, ?2, ?3)", on: target)
        itemOfName = Statement(
            "SELECT * FROM item WHERE place = ?1 AND account_hash = ?2", on: target)
    }

    /// Fills the empty target.
    ///
    /// - Throws: ``KeychainFailure``: `keychainDamaged` if a table itself is damaged, or has lost
    ///   rows and `acceptsLoss` is false; `locked`.
    mutating func run(acceptingLoss acceptsLoss: Bool) throws(KeychainFailure) -> IndexRepair {
        let isSound: Bool
        do {
            isSound = try fill()
        } catch {
            throw [.corrupt, .tooLarge].contains(error.code)
                ? KeychainFailure.damagedTable(path: connection.path)
                : KeychainFailure(error, during: KeychainFailure.repairing)
        }
        guard isSound else {
            throw KeychainFailure(
                .internalFault, during: KeychainFailure.repairing,
                message: "the rebuilt database is not sound; nothing was changed")
        }
        guard !summary.mayLackRows || acceptsLoss else {
            throw KeychainFailure.lostRows(path: connection.path)
        }
        return summary
    }

    /// - Returns: Whether the rebuilt database is sound.
    /// - Throws: ``SystemError``: `corrupt` if a table itself is damaged; `lockedRow`.
    private mutating func fill() throws(SystemError) -> Bool {
        // Before anything else reads these pages, which are then in SQLite's cache.
        var witnesses: [(Witness, [Int64]?)] = []
        for witness in Witness.all { witnesses.append((witness, try entries(of: witness))) }
        let transaction = try Transaction(on: target.connection)
        for statement in Schema.statements {
            try Statement(statement, on: target.connection).execute()
        }
        try copy(
            "SELECT * FROM keychain NOT INDEXED",
            "INSERT INTO keychain VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
        try copy("SELECT * FROM keybag NOT INDEXED", "INSERT INTO keybag VALUES (?1, ?2)")
        try copy("SELECT * FROM sync_mark NOT INDEXED", "INSERT INTO sync_mark VALUES (?1, ?2, ?3)")
        try copySync()
        try add("SELECT * FROM former NOT INDEXED", by: target.putAnyFormer)
        try copyItems()
        try renumberHiddenChanges()
        for (witness, entries) in witnesses where try !hasRows(entries, of: witness) {
            summary.mayLackRows = true
        }
        try transaction.commit()
        for mark in Schema.marks { try Statement(mark, on: target.connection).execute() }
        let isInPlace =
            try count(
                """
                SELECT count(*) FROM item
                WHERE flags & 0x80000000 = 0 AND place NOT IN (SELECT id FROM place)
                """) == 0
        guard isInPlace else { return false }
        return try target.connection.integrityProblems().isEmpty
    }

    /// Copies the tables of sync. Of two rows of one name, which an index has hidden from one
    /// another, the later one stays, and the other one is lost.
    private mutating func copySync() throws(SystemError) {
        let itemCount = try copy(
            "SELECT * FROM sync_item NOT INDEXED",
            "INSERT OR REPLACE INTO sync_item VALUES (?1, ?2, ?3, ?4, ?5)")
        let entryCount = try copy(
            "SELECT * FROM sync_entry NOT INDEXED",
            "INSERT OR REPLACE INTO sync_entry VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
        let left = try count(
            "SELECT (SELECT count(*) FROM sync_item) + (SELECT count(*) FROM sync_entry)")
        if left < itemCount + entryCount { summary.mayLackRows = true }
    }

    @discardableResult
    private func copy(
        _ selection: StaticString, _ insertion: StaticString
    ) throws(SystemError) -> Int64 {
        try add(selection, by: Statement(insertion, on: target.connection))
    }

    /// - Returns: The number of rows.
    @discardableResult
    private func add(
        _ selection: StaticString, by insert: Statement
    ) throws(SystemError) -> Int64 {
        let run = try Statement(selection, on: connection).start()
        var count: Int64 = 0
        while try run.step() {
            let insertion = try insert.start()
            try insertion.bindColumns(of: run)
            try insertion.finish()
            count += 1
        }
        return count
    }

    private func count(_ selection: StaticString) throws(SystemError) -> Int64 {
        let run = try Statement(selection, on: target.connection).start()
        return try run.step() ? run.int64(0) : 0
    }

    // Items.

    /// Copies every row, and makes its search entries from its hashes. Rows that do not open come
    /// last: the others say which places there are, and have names before them.
    private mutating func copyItems() throws(SystemError) {
        places = try knownPlaces()
        let otherNames = try otherNames()
        let items = Statement("SELECT * FROM item NOT INDEXED ORDER BY number", on: connection)
        try Self.forEachRow(of: items) { (run) throws(SystemError) in
            let number = run.int64(Schema.Column.number)
            summary.rowCount += 1
            let names = [RowName(run), otherNames[number]].compactMap(\.self)
            if let row = try prove(run, names) {
                guard try makeWay(for: row) else { return }
                try insert(
                    run, at: row.placeID, row.header.accountHash.bytes,
                    flags: run.int64(Schema.Column.flags))
            } else {
                damaged.insert(number)
            }
        }
        for (id, versions) in places.unproven { try settle(versions[0], id) }
        guard !damaged.isEmpty else { return }
        try Self.forEachRow(of: items) { (run) throws(SystemError) in
            let number = run.int64(Schema.Column.number)
            guard damaged.contains(number) else { return }
            try insertDamaged(run, as: otherNames[number] ?? RowName(run))
        }
    }

    private static func forEachRow(
        of statement: Statement, _ body: (borrowing Statement.Run) throws(SystemError) -> Void
    ) throws(SystemError) {
        let run = try statement.start()
        while try run.step() { try body(run) }
    }

    /// Finds the name and the hashes under which part N of the row opens that `run` is at. Part N
    /// is bound to all of them, so if it opens, none of them was changed.
    ///
    /// - Returns: The row with the id that its place has in the rebuilt database; nil for a row
    ///   that does not open.
    /// - Throws: ``SystemError``: `lockedRow`.
    private mutating func prove(
        _ run: borrowing Statement.Run, _ names: [RowName]
    ) throws(SystemError) -> SealedRow? {
        for name in names {
            for hashes in places[name.place] {
                do {
                    var row = try SealedRow(run, in: hashes, account: name.account)
                    _ = try state.cipher(examining: row.header).openContent(row)
                    try settle(hashes, name.place)
                    row.placeID = places.ids[hashes] ?? name.place
                    return row
                } catch {
                    guard error.isDamage else { throw error }
                }
            }
        }
        return nil
    }

    /// Settles what the place with that id is, and adds it, unless another id stands for it: then
    /// an index had hidden the place from the writer of the second id.
    private mutating func settle(_ hashes: ServiceHashes, _ id: Int64) throws(SystemError) {
        guard places.settle(hashes, id) else { return }
        let insertion = try addPlace.start()
        try insertion.bind(hashes)
        try insertion.bind(id, at: 4)
        try insertion.finish()
    }

    /// Makes the older one of two sound rows of one name a former row, if an index has hidden it
    /// from the writer of the other one.
    ///
    /// - Returns: Whether the name is free for `row`.
    private mutating func makeWay(for row: SealedRow) throws(SystemError) -> Bool {
        let found = try rebuiltRow(at: row.placeID, row.header.accountHash.bytes) {
            (run) throws(SystemError) in
            try SealedRow(run, in: row.place.service)
        }
        guard let other = found else { return true }
        let isNewer = try isNewer(row, than: other)
        let older = isNewer ? other : row
        summary.formerCount += 1
        displaced.insert(older.header.number)
        // No writer keeps a tombstone.
        if !older.header.flags.contains(.tombstone) { try rows.copyToFormer(older, .changed) }
        guard isNewer else { return false }
        for statement in [target.deleteAttributes, target.delete] {
            let run = try statement.start()
            try run.bind(other.header.number, at: 1)
            try run.finish()
        }
        return true
    }

    /// Which one of two rows of one name stays: the one that searches find, as before the repair;
    /// else the one that was written later.
    private func isNewer(_ row: SealedRow, than other: SealedRow) throws(SystemError) -> Bool {
        let found = try unlessCorrupt { () throws(SystemError) -> Int64? in
            let run = try source.value.start()
            try run.bind(row.place)
            return try run.step() ? run.int64(0) : nil
        }
        switch found {
        case row.header.number: return true
        case other.header.number: return false
        default:
            return (row.logicalTime, row.header.number)
                > (other.logicalTime, other.header.number)
        }
    }

    /// What `body` makes of the row in the rebuilt table that has this name; nil for none.
    private func rebuiltRow<R>(
        at placeID: Int64, _ account: [UInt8],
        _ body: (borrowing Statement.Run) throws(SystemError) -> R
    ) throws(SystemError) -> R? {
        let run = try itemOfName.start()
        try run.bind(placeID, at: 1)
        try run.bind(account, at: 2)
        return try run.step() ? body(run) : nil
    }

    /// Adds the row that `run` is at, which does not open. It gets a flag that no reader accepts,
    /// so that each search that leads to it says that it is damaged. If another row has its name,
    /// it is set aside.
    private mutating func insertDamaged(
        _ run: borrowing Statement.Run, as name: RowName?
    ) throws(SystemError) {
        let oldID = name?.place ?? run.int64(Schema.Column.place)
        let hashes = places[oldID].first
        // Its place is a row that is lost.
        if hashes == nil { summary.mayLackRows = true }
        let id = hashes.flatMap { places.ids[$0] } ?? oldID
        let account = name?.account.bytes ?? run.blob(Schema.Column.accountHash)
        guard try rebuiltRow(at: id, account, { _ in true }) == nil else {
            summary.formerCount += 1
            displaced.insert(run.int64(Schema.Column.number))
            let place = hashes.flatMap { hashes in
                name.map { ItemPlace(service: hashes, account: $0.account) }
            }
            return try rows.copyDamagedToFormer(run, of: place)
        }
        summary.damagedCount += 1
        let flags = run.int64(Schema.Column.flags) | RowFlags.damagedColumn
        try insert(run, at: id, account, flags: flags)
    }

    private func insert(
        _ run: borrowing Statement.Run, at placeID: Int64, _ account: [UInt8], flags: Int64
    ) throws(SystemError) {
        let insertion = try target.insertAny.start()
        try insertion.bindColumns(of: run)
        try insertion.bind(placeID, at: Schema.Column.place + 1)
        try insertion.bind(account, at: Schema.Column.accountHash + 1)
        try insertion.bind(flags, at: Schema.Column.flags + 1)
        try insertion.finish()
        guard let others = try? IndexHashes.others(parsing: run.blob(Schema.Column.hashes)) else {
            return
        }
        for hash in others.values {
            let entry = try target.insertAttribute.start()
            try entry.bind(hash, at: 1)
            try entry.bind(run.int64(Schema.Column.number), at: 2)
            try entry.finish()
        }
    }

    /// Gives new change numbers to the sound rows that the index of changes did not list: sync has
    /// not seen these changes, and later ones may have got the same numbers.
    private func renumberHiddenChanges() throws(SystemError) {
        let hidden = Statement(
            """
            SELECT number FROM item AS own NOT INDEXED
            WHERE change_number IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM item AS entry INDEXED BY item_by_change
                WHERE entry.change_number = own.change_number AND entry.number = own.number)
            ORDER BY change_number, logical_time
            """, on: connection)
        // An index that cannot be read has let nobody write or collect a change.
        _ = try unlessCorrupt { () throws(SystemError) in
            try Self.forEachRow(of: hidden) { (run) throws(SystemError) in
                let number = run.int64(0)
                guard !displaced.contains(number), !damaged.contains(number) else { return }
                try rows.renumberChange(ofRow: number)
            }
        }
    }

    // What indexes say.

    /// The names of rows in index `item_by_place`, where table `item` has others.
    private func otherNames() throws(SystemError) -> [Int64: RowName] {
        let entries = Statement(
            """
            SELECT entry.number, entry.place, entry.account_hash
            FROM item AS entry INDEXED BY item_by_place
            JOIN item AS own NOT INDEXED ON own.number = entry.number
            WHERE own.place <> entry.place OR own.account_hash <> entry.account_hash
            """, on: connection)
        var names: [Int64: RowName] = [:]
        _ = try unlessCorrupt { () throws(SystemError) in
            let run = try entries.start()
            while try run.step() {
                // An entry without a whole name is damaged itself.
                guard let account: IndexHash = try? run.fixedBytes(2) else { continue }
                names[run.int64(0)] = RowName(place: run.int64(1), account: account)
            }
        }
        return names
    }

    /// The row numbers in the index of a table; nil if the index is damaged, and so is the table.
    /// If the index alone is damaged, the table says itself which rows there are.
    private func entries(of witness: Witness) throws(SystemError) -> [Int64]? {
        var (entries, rows) = ([Int64](), [Int64]())
        let isTableSound = try read(witness.rows) { rows.append($0) }
        let isIndexSound = try unlessCorrupt { () throws(SystemError) in
            try read(witness.entries) { entries.append($0) }
        }
        // Two entries of one number: a row was lost, and a later one got its number.
        if isIndexSound == true { return Set(entries).count == entries.count ? entries : nil }
        return isTableSound ? rows : nil
    }

    /// - Returns: Whether all pages were as they had been written.
    private func read(
        _ selection: StaticString, _ body: (Int64) -> Void
    ) throws(SystemError) -> Bool {
        let before = connection.damagedPageCount
        let run = try Statement(selection, on: connection).start()
        while try run.step() { body(run.int64(0)) }
        return connection.damagedPageCount == before
    }

    /// Whether the rebuilt table has all these rows, but for those that became former ones; false
    /// for nil.
    private func hasRows(_ numbers: [Int64]?, of witness: Witness) throws(SystemError) -> Bool {
        guard let numbers else { return false }
        let row = Statement(witness.row, on: target.connection)
        let known = witness.isOfItems ? displaced : []
        for number in numbers where !known.contains(number) {
            let run = try row.start()
            try run.bind(number, at: 1)
            guard try run.step() else { return false }
        }
        return true
    }

    /// The versions of each place in table `place` and in the index with the same columns.
    ///
    /// - Throws: ``SystemError/Code/corrupt`` if neither can be read.
    private func knownPlaces() throws(SystemError) -> PlaceVersions {
        var places = PlaceVersions()
        let table = Statement("SELECT * FROM place NOT INDEXED ORDER BY id", on: connection)
        let index = Statement(
            """
            SELECT id, group_hash, service_hash, place_hash FROM place INDEXED BY place_by_hash
            """, on: connection)
        let isTableRead: Void? = try unlessCorrupt { () throws(SystemError) in
            try read(table, into: &places)
        }
        let isIndexRead: Void? = try unlessCorrupt { () throws(SystemError) in
            try read(index, into: &places)
        }
        guard isTableRead != nil || isIndexRead != nil else {
            throw SystemError(.corrupt, during: KeychainFailure.repairing)
        }
        return places
    }

    private func read(_ statement: Statement, into places: inout PlaceVersions) throws(SystemError)
    {
        let run = try statement.start()
        while try run.step() {
            guard let group: IndexHash = try? run.fixedBytes(1),
                let service: IndexHash = try? run.fixedBytes(2),
                let place: IndexHash = try? run.fixedBytes(3)
            else { continue }
            places.add(
                ServiceHashes(group: group, service: service, place: place), of: run.int64(0))
        }
    }
}

/// A table of a damaged database, and an index that names each of its rows. The table may have lost
/// some.
private struct Witness {
    /// Selects the numbers of the table's rows.
    let rows: StaticString
    /// Selects the same numbers in the index.
    let entries: StaticString
    /// Finds the row of a number.
    let row: StaticString
    var isOfItems = false

    static let all = [
        Witness(
            rows: "SELECT number FROM item NOT INDEXED",
            entries: "SELECT number FROM item INDEXED BY item_by_place",
            row: "SELECT 1 FROM item WHERE number = ?1", isOfItems: true),
        Witness(
            rows: "SELECT kept FROM former NOT INDEXED",
            entries: "SELECT kept FROM former INDEXED BY former_by_number",
            row: "SELECT 1 FROM former WHERE kept = ?1"),
        Witness(
            rows: "SELECT id FROM sync_item NOT INDEXED",
            entries: "SELECT id FROM sync_item INDEXED BY sync_item_by_key",
            row: "SELECT 1 FROM sync_item WHERE id = ?1"),
        Witness(
            rows: "SELECT number FROM sync_entry NOT INDEXED",
            entries: "SELECT number FROM sync_entry INDEXED BY sync_entry_by_id",
            row: "SELECT 1 FROM sync_entry WHERE number = ?1"),
    ]
}

/// By what a row is found: its place, and the hash of its account.
private struct RowName {
    let place: Int64
    let account: IndexHash

    init(place: Int64, account: IndexHash) {
        (self.place, self.account) = (place, account)
    }

    /// The name in the columns of the row that `run` is at; nil if they hold none.
    init?(_ run: borrowing Statement.Run) {
        guard let account: IndexHash = try? run.fixedBytes(Schema.Column.accountHash) else {
            return nil
        }
        self.init(place: run.int64(Schema.Column.place), account: account)
    }
}

/// The known hashes of the places of a damaged database.
private struct PlaceVersions {
    private var versions: [Int64: [ServiceHashes]] = [:]
    private var settled: Set<Int64> = []
    /// The id of each settled place in the rebuilt database.
    private(set) var ids: [ServiceHashes: Int64] = [:]

    /// The hashes that the place with that id may have: one, once it is settled.
    subscript(id: Int64) -> [ServiceHashes] { versions[id] ?? [] }

    /// The places that no row has proved, each with at least one version, by their ids.
    var unproven: [(id: Int64, versions: [ServiceHashes])] {
        versions.filter { !settled.contains($0.key) }.map { ($0.key, $0.value) }
            .sorted { $0.id < $1.id }
    }

    mutating func add(_ hashes: ServiceHashes, of id: Int64) {
        guard versions[id]?.contains(hashes) != true else { return }
        versions[id, default: []].append(hashes)
    }

    /// - Returns: Whether the place is new to the rebuilt database.
    mutating func settle(_ hashes: ServiceHashes, _ id: Int64) -> Bool {
        versions[id] = [hashes]
        guard settled.insert(id).inserted, ids[hashes] == nil else { return false }
        ids[hashes] = id
        return true
    }
}
