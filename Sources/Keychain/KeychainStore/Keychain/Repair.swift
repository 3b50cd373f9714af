// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

// `valet doctor --repair-indexes`: rebuilds the database from the rows of its tables.

/// The result of a repair.
package struct IndexRepair: Hashable, Sendable {
    /// The number of rows that the indexes were rebuilt from.
    package var rowCount = 0
    /// The number of rows that became former ones because their item had a second row.
    package var supersededCount = 0

    /// The result of a repair that has not begun.
    package init() {}
}

extension Keychain {
    /// Rebuilds everything that can be derived from the rows: the indexes, the search entries and
    /// the structure of the file. Keeps every row, or changes nothing.
    ///
    /// Opens the names and details of every row, so the keychain has to be unlocked. Other
    /// programs cannot write while it runs. A crash leaves the old database or the rebuilt one.
    /// - Throws: ``KeychainFailure``: `keychainDamaged` if a table itself is damaged, `locked`,
    ///   `itemNotFound` if there is no keychain, `diskFull`, `readOnly`, `timedOut`.
    package func repairIndexes() throws(KeychainFailure) -> IndexRepair {
        try store.workOnKeys(KeychainFailure.repairing) { (keys) throws(KeychainFailure) in
            let keychain = keys.keychain.forRepair()
            defer { keychain.close() }
            return try IndexRepairer(keychain: keychain, deadline: keys.deadline, now: store.now)
                .run()
        }
    }
}

/// Rebuilds the database of one keychain from its rows.
private struct IndexRepairer {
    private static let scratchName = KeychainFile.newDatabase + "-scratch"
    /// How long the repair waits for readers of the old contents.
    private static let patience = Duration.seconds(1)

    let keychain: OpenKeychain
    let deadline: Deadline
    let now: Moment

    private var pool: ConnectionPool { keychain.pool }

    func run() throws(KeychainFailure) -> IndexRepair {
        let operation = KeychainFailure.repairing
        guard !pool.directory.isReadOnly else {
            throw KeychainFailure(.readOnly, during: operation, path: pool.directory.path)
        }
        let call = StoreCall(
            operation: operation, location: keychain.location, deadline: deadline, now: now)
        while true {
            let state = try keychain.read(call) { $0.keys }
            guard state.rows.epoch.isComplete else {
                throw KeychainFailure(
                    .locked, during: operation,
                    message: "the keychain is locked, but the repair has to open every item",
                    advice: KeychainFailure.unlockAdvice)
            }
            if let repair = try repair(state) { return repair }
            guard !deadline.hasPassed else { throw KeychainFailure(.timedOut, during: operation) }
        }
    }

    /// - Returns: nil, with nothing done, if the keys are no longer those of `state`.
    private func repair(_ state: KeySet) throws(KeychainFailure) -> IndexRepair? {
        let operation = KeychainFailure.repairing
        let held = try translating(pool.lockForWriting(deadline), during: operation)
        let writer = try pool.writer(deadline, for: operation)
        let scratch = try translating(operation) { () throws(SystemError) in
            try Connection.scratch(Self.scratchName, in: pool.directory, deadline: deadline)
        }
        let repair = try rebuild(scratch, from: writer.reading, state)
        if repair != nil {
            try translating(
                writer.connection.replaceContents(by: scratch), during: operation)
            writer.hasRoomInLog = false
            writer.connection.deadline = Deadline(after: Self.patience)
            // The rebuilt database is safe in the log, so a failed checkpoint does no harm: the
            // next writer repeats it.
            _ = try? writer.connection.checkpoint(.truncate)
        }
        // A scratch database that stays open or is left over does no harm.
        try? scratch.close()
        _ = consume held
        return repair
    }

    private func rebuild(
        _ scratch: Connection, from store: RowConnection, _ state: KeySet
    ) throws(KeychainFailure) -> IndexRepair? {
        let rebuild = DatabaseRebuild(store, to: scratch, state.rows, now)
        let operation = KeychainFailure.repairing
        let transaction = try translating(
            ReadTransaction(on: store.connection), during: operation)
        let current = try keychain.currentHeader(store, for: operation)
        guard current.settings == state.settings else { return nil }
        guard current.settings.isWritable else {
            throw KeychainFailure(.newerFormat, during: operation, hint: "update this program")
        }
        let repair = try rebuild.run()
        _ = consume transaction
        return repair
    }
}

extension KeychainFailure {
    static let repairing = "rebuild the indexes"
    /// The hint for changed or lost rows.
    static let restoreHint =
        "put the keychain's folder back from a copy, or restore a backup into a new keychain"

    /// The failure for a damaged table, which no rebuilding can mend.
    static func damagedTable(path: String) -> KeychainFailure {
        KeychainFailure(
            .keychainDamaged, during: repairing,
            message: "a table itself is damaged and cannot be rebuilt; nothing was changed",
            path: path, hint: restoreHint)
    }
}

/// Builds a sound database from the rows of a damaged one: docs/FORMAT.md §7.1.
///
/// It reads the tables, and indexes only for rows and for versions of places that a table has lost.
/// The caller holds the writers' lock and one read transaction of the damaged database.
struct DatabaseRebuild {
    private let source: RowConnection
    private let target: RowWriter
    /// Adds former rows to the target.
    private let former: RowTransaction
    private let rowOfName: Statement
    private let keepPlace: Statement

    private var connection: Connection { source.connection }

    private var state: RowKeys { former.state }

    init(_ source: RowConnection, to target: Connection, _ state: RowKeys, _ now: Moment) {
        self.source = source
        let writer = RowWriter(target)
        self.target = writer
        former = RowTransaction(
            writer: writer, state: state, now: now, operation: KeychainFailure.repairing)
        rowOfName = Statement(
            "SELECT * FROM item WHERE place = ?1 AND account_hash = ?2", on: target)
        keepPlace = Statement("INSERT OR IGNORE INTO place VALUES (?4, ?1, ?2, ?3)", on: target)
    }

    /// Fills the empty target.
    ///
    /// - Throws: ``KeychainFailure``: `keychainDamaged` if a table itself is damaged or has lost
    ///   rows, `locked`.
    func run() throws(KeychainFailure) -> IndexRepair {
        do {
            if let summary = try fill() { return summary }
        } catch {
            throw [.corrupt, .constraint, .tooLarge].contains(error.code)
                ? KeychainFailure.damagedTable(path: connection.path)
                : KeychainFailure(error, during: KeychainFailure.repairing)
        }
        throw KeychainFailure(
            .internalFault, during: KeychainFailure.repairing,
            message: "the rebuilt database is not sound; nothing was changed")
    }

    /// - Returns: nil if the rebuilt database is not sound.
    /// - Throws: ``SystemError``: `corrupt`, `constraint` if a table itself is damaged or has lost
    ///   rows; `lockedRow`.
    private func fill() throws(SystemError) -> IndexRepair? {
        let transaction = try Transaction(on: target.connection)
        for statement in Schema.statements {
            try Statement(statement, on: target.connection).execute()
        }
        try copy(
            "SELECT * FROM keychain NOT INDEXED",
            "INSERT INTO keychain VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
        try copy("SELECT * FROM keybag NOT INDEXED", "INSERT INTO keybag VALUES (?1, ?2)")
        try copy("SELECT * FROM sync_mark NOT INDEXED", "INSERT INTO sync_mark VALUES (?1, ?2, ?3)")
        try copy(
            "SELECT * FROM sync_item NOT INDEXED",
            "INSERT OR IGNORE INTO sync_item VALUES (?1, ?2, ?3, ?4, ?5)")
        try copy(
            "SELECT * FROM sync_entry NOT INDEXED",
            "INSERT OR IGNORE INTO sync_entry VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
        try copy(
            "SELECT * FROM former NOT INDEXED",
            """
            INSERT INTO former VALUES (
                ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
                ?19, ?20, ?21)
            """)
        var summary = IndexRepair()
        let numbers = try copyItems(&summary)
        try checkNothingIsLost(numbers)
        try transaction.commit()
        for mark in Schema.marks { try Statement(mark, on: target.connection).execute() }
        guard try target.connection.integrityProblems().isEmpty,
            try RowCount.rows(in: target.connection) == summary.rowCount
        else { return nil }
        return summary
    }

    private func copy(_ selection: StaticString, _ insertion: StaticString) throws(SystemError) {
        let rows = Statement(selection, on: connection)
        let insert = Statement(insertion, on: target.connection)
        let run = try rows.start()
        while try run.step() { try add(run, by: insert) }
    }

    private func add(_ run: borrowing Statement.Run, by insert: Statement) throws(SystemError) {
        let insertion = try insert.start()
        try insertion.bindColumns(of: run)
        try insertion.finish()
    }

    // Items.

    /// Copies every row unchanged, and makes its search entries from its hashes.
    ///
    /// - Returns: The numbers of all rows, in rising order.
    private func copyItems(_ summary: inout IndexRepair) throws(SystemError) -> [Int64] {
        var numbers: [Int64] = []
        var damaged: Set<Int64> = []
        var places = try knownPlaces()
        let items = Statement("SELECT * FROM item NOT INDEXED ORDER BY number", on: connection)
        let run = try items.start()
        while try run.step() {
            let copied = try self.row(run, &places)
            // A row number that does not rise means that one page has replaced another.
            if let last = numbers.last, copied.number <= last {
                throw SystemError(.corrupt, during: KeychainFailure.repairing)
            }
            numbers.append(copied.number)
            if !copied.isSound { damaged.insert(copied.number) }
            if try !insert(run, copied, damaged) { summary.supersededCount += 1 }
        }
        for (id, hashes) in places.unproven { try keep(hashes, id) }
        summary.rowCount = numbers.count - summary.supersededCount
        return numbers
    }

    /// Reads the row that `run` is at under the first version of its place in which part N opens.
    /// Part N is bound to every hash of the row and of its place, so if it opens, none of these
    /// hashes was changed.
    ///
    /// - Throws: ``SystemError``: `lockedRow`.
    private func row(
        _ run: borrowing Statement.Run, _ places: inout PlaceVersions
    ) throws(SystemError) -> CopiedRow {
        let id = run.int64(Schema.Column.place)
        var copied = CopiedRow(
            number: run.int64(Schema.Column.number), row: nil, isSound: false, placeID: id)
        for hashes in places[id] {
            do {
                let row = try SealedRow(run, in: hashes)
                copied.row = copied.row ?? row
                _ = try state.cipher(examining: row.header).openContent(row)
                copied.row = row
                copied.isSound = true
            } catch {
                guard error.isDamage else { throw error }
                continue
            }
            let (placeID, isNew) = places.prove(hashes, id)
            copied.placeID = placeID
            if isNew { try keep(hashes, placeID) }
            break
        }
        return copied
    }

    /// Adds the row that `run` is at. While an index was damaged, an item may have been added a
    /// second time. Then the row that was written last is kept, unless only that row is damaged;
    /// the other row becomes a former one.
    ///
    /// - Returns: Whether no row became a former one.
    private func insert(
        _ run: borrowing Statement.Run, _ copied: CopiedRow, _ damaged: Set<Int64>
    ) throws(SystemError) -> Bool {
        guard let row = copied.row, let rival = try rival(of: row, in: copied.placeID) else {
            try add(run, copied)
            return true
        }
        let isDamaged = (
            damaged.contains(copied.number), damaged.contains(rival.header.number)
        )
        let isLater = row.logicalTime >= rival.logicalTime
        guard isDamaged.0 == isDamaged.1 ? isLater : isDamaged.1 else {
            try former.keepRow(row, isDamaged.0 ? .damaged : .changed)
            return false
        }
        try former.keepRow(rival, isDamaged.1 ? .damaged : .changed)
        for statement in [target.deleteAttributes, target.delete] {
            let deletion = try statement.start()
            try deletion.bind(rival.header.number, at: 1)
            try deletion.finish()
        }
        try add(run, copied)
        return false
    }

    private func add(_ run: borrowing Statement.Run, _ copied: CopiedRow) throws(SystemError) {
        let insertion = try target.insert.start()
        try insertion.bindColumns(of: run)
        try insertion.bind(copied.placeID, at: Schema.Column.place + 1)
        try insertion.finish()
        if let row = copied.row { try addEntries(of: row) }
    }

    private func keep(_ hashes: ServiceHashes, _ id: Int64) throws(SystemError) {
        let insertion = try keepPlace.start()
        try insertion.bind(hashes)
        try insertion.bind(id, at: 4)
        try insertion.finish()
    }

    /// The row of the same name, if it has already been copied.
    private func rival(of row: SealedRow, in placeID: Int64) throws(SystemError) -> SealedRow? {
        let run = try rowOfName.start()
        try run.bind(placeID, at: 1)
        try run.bind(row.header.accountHash, at: 2)
        return try run.step() ? try SealedRow(run, in: row.place.service) : nil
    }

    private func addEntries(of row: SealedRow) throws(SystemError) {
        guard let others = try? IndexHashes.others(parsing: row.hashes) else { return }
        for hash in others.values {
            let insertion = try target.insertAttribute.start()
            try insertion.bind(hash, at: 1)
            try insertion.bind(row.header.number, at: 2)
            try insertion.finish()
        }
    }

    // Places.

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

    // Rows that a damaged table does not show any more.

    /// Checks that index `item_by_place` names no row that the table has lost. An entry proves no
    /// loss, because the entry itself is damaged, if the table has its name under another number or
    /// if its name is incomplete.
    ///
    /// - Parameter numbers: The numbers of all rows in the table, in rising order.
    private func checkNothingIsLost(_ numbers: [Int64]) throws(SystemError) {
        let entries = Statement(
            "SELECT place, account_hash, number FROM item INDEXED BY item_by_place", on: connection)
        var names: Set<RowName> = []
        let isRead: Void? = try unlessCorrupt { () throws(SystemError) in
            let run = try entries.start()
            while try run.step() {
                guard !numbers.hasInOrder(run.int64(2)),
                    let account: IndexHash = try? run.fixedBytes(1)
                else { continue }
                names.insert(RowName(place: run.int64(0), account: account))
            }
        }
        guard isRead != nil, !names.isEmpty else { return }
        let items = Statement("SELECT place, account_hash FROM item NOT INDEXED", on: connection)
        let run = try items.start()
        while try run.step() {
            guard let account: IndexHash = try? run.fixedBytes(1) else { continue }
            names.remove(RowName(place: run.int64(0), account: account))
        }
        guard names.isEmpty else {
            throw SystemError(.corrupt, during: KeychainFailure.repairing)
        }
    }
}

/// The name of a row in index `item_by_place`.
private struct RowName: Hashable {
    let place: Int64
    let account: IndexHash
}

/// A row on its way into the new database.
private struct CopiedRow {
    let number: Int64
    /// nil if a column has a value that no writer writes, or its place is not known.
    var row: SealedRow?
    /// Whether its part N opens.
    var isSound: Bool
    /// The id of its place in the new database.
    var placeID: Int64
}

/// The known versions of the places of a damaged database, and those that rows have proved.
private struct PlaceVersions {
    private var versions: [Int64: [ServiceHashes]] = [:]
    /// The ids that places have in the new database.
    private var ids: [ServiceHashes: Int64] = [:]
    private var usedIDs: Set<Int64> = []

    /// The known versions of the place with that id.
    subscript(id: Int64) -> [ServiceHashes] { versions[id] ?? [] }

    /// The places in the table that no row has proved.
    var unproven: [(Int64, ServiceHashes)] {
        versions.compactMap { id, hashes in
            guard !usedIDs.contains(id), let first = hashes.first, ids[first] == nil else {
                return nil
            }
            return (id, first)
        }
    }

    mutating func add(_ hashes: ServiceHashes, of id: Int64) {
        guard versions[id]?.contains(hashes) != true else { return }
        versions[id, default: []].append(hashes)
    }

    /// - Returns: The id of the place in the new database, and whether it is new there. Two places
    ///   with the same hashes become one, and an id that another place has is not given again.
    mutating func prove(_ hashes: ServiceHashes, _ id: Int64) -> (id: Int64, isNew: Bool) {
        if let known = ids[hashes] { return (known, false) }
        var own = id
        while own == 0 || usedIDs.contains(own) || (own != id && versions[own] != nil) {
            own &+= 1
        }
        ids[hashes] = own
        usedIDs.insert(own)
        return (own, true)
    }
}

extension [Int64] {
    /// Whether this array, which is in rising order, contains the number.
    fileprivate func hasInOrder(_ number: Int64) -> Bool {
        var range = startIndex..<endIndex
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if self[middle] == number { return true }
            range =
                self[middle] < number
                ? (middle + 1)..<range.upperBound : range.lowerBound..<middle
        }
        return false
    }
}
