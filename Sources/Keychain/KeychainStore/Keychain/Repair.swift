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
    /// How many of them do not open. They are kept, as damaged items.
    package var damagedCount = 0
    /// Whether rows of damaged pages may be missing.
    package var mayLackRows = false

    /// The result of a repair that has not begun.
    package init() {}
}

extension Keychain {
    /// Rebuilds everything that can be derived from the rows: the indexes, the search entries and
    /// the structure of the file. Keeps every row, or changes nothing. A page with one flipped bit
    /// is read as it was.
    ///
    /// - Parameter acceptsLoss: Whether to go on without rows of damaged pages.
    ///
    /// Opens the names and details of every row, so the keychain has to be unlocked. Other
    /// programs cannot write while it runs. A crash leaves the old database or the rebuilt one.
    /// - Throws: ``KeychainFailure``: `keychainDamaged` if a table itself is damaged, `locked`,
    ///   `itemNotFound` if there is no keychain, `diskFull`, `readOnly`, `timedOut`.
    package func repairIndexes(
        acceptingLoss acceptsLoss: Bool = false
    ) throws(KeychainFailure) -> IndexRepair {
        try store.workOnKeys(KeychainFailure.repairing) { (keys) throws(KeychainFailure) in
            let keychain = keys.keychain.forRepair()
            defer { keychain.close() }
            return try IndexRepairer(
                keychain: keychain, deadline: keys.deadline, now: store.now,
                acceptsLoss: acceptsLoss
            ).run()
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
    let acceptsLoss: Bool

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
        let rebuild = DatabaseRebuild(store, to: scratch, state.rows, now: now)
        let operation = KeychainFailure.repairing
        let transaction = try translating(
            ReadTransaction(on: store.connection), during: operation)
        let current = try keychain.currentHeader(store, for: operation)
        guard current.settings == state.settings else { return nil }
        guard current.settings.isWritable else {
            throw KeychainFailure(.newerFormat, during: operation, hint: "update this program")
        }
        let repair = try rebuild.run(acceptingLoss: acceptsLoss)
        _ = consume transaction
        return repair
    }
}

extension KeychainFailure {
    static let repairing = "rebuild the indexes"
    /// The hint for changed or lost rows.
    static let restoreHint =
        "put the keychain's folder back from a copy, or restore a backup into a new keychain"

    /// The hint for damaged pages: they may be of indexes or of tables.
    static let repairOrRestoreHint =
        repairHint + ", or changes nothing if items are lost; then " + restoreHint

    /// The failure for rows that a repair would drop.
    fileprivate static func lostRows(path: String) -> KeychainFailure {
        KeychainFailure(
            .keychainDamaged, during: repairing,
            message: "rows of damaged pages are lost, or may be; nothing was changed", path: path,
            hint: restoreHint + "; `valet doctor --repair-indexes --yes` goes on without them")
    }

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
/// Pages may be damaged, so nothing but the seals says what is sound: a row whose part N opens. The
/// caller holds the writers' lock and one read transaction of the damaged database.
struct DatabaseRebuild {
    private let source: RowConnection
    private let target: RowWriter
    private let state: RowKeys
    private let now: Moment
    private let keepPlace: Statement

    private var connection: Connection { source.connection }

    init(_ source: RowConnection, to target: Connection, _ state: RowKeys, now: Moment) {
        self.source = source
        self.target = RowWriter(target)
        self.state = state
        self.now = now
        keepPlace = Statement("INSERT OR IGNORE INTO place VALUES (?4, ?1, ?2, ?3)", on: target)
    }

    /// Fills the empty target.
    ///
    /// - Throws: ``KeychainFailure``: `keychainDamaged` if a table itself is damaged, or has lost
    ///   rows and `acceptsLoss` is false; `locked`.
    func run(acceptingLoss acceptsLoss: Bool) throws(KeychainFailure) -> IndexRepair {
        let summary: IndexRepair?
        do {
            summary = try fill()
        } catch {
            throw [.corrupt, .constraint, .tooLarge].contains(error.code)
                ? KeychainFailure.damagedTable(path: connection.path)
                : KeychainFailure(error, during: KeychainFailure.repairing)
        }
        guard let summary else {
            throw KeychainFailure(
                .internalFault, during: KeychainFailure.repairing,
                message: "the rebuilt database is not sound; nothing was changed")
        }
        guard !summary.mayLackRows || acceptsLoss else {
            throw KeychainFailure.lostRows(path: connection.path)
        }
        return summary
    }

    /// - Returns: nil if the rebuilt database is not sound.
    /// - Throws: ``SystemError``: `corrupt`, `constraint` if a table itself is damaged;
    ///   `lockedRow`.
    private func fill() throws(SystemError) -> IndexRepair? {
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
        var summary = try copyItems()
        for (witness, entries) in witnesses where try !hasRows(entries, of: witness) {
            summary.mayLackRows = true
        }
        try transaction.commit()
        for mark in Schema.marks { try Statement(mark, on: target.connection).execute() }
        return try target.connection.integrityProblems().isEmpty ? summary : nil
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

    /// Copies every row, and makes its search entries from its hashes.
    private func copyItems() throws(SystemError) -> IndexRepair {
        var summary = IndexRepair()
        var places = try knownPlaces()
        let otherNames = try otherNames()
        let items = Statement("SELECT * FROM item NOT INDEXED ORDER BY number", on: connection)
        let run = try items.start()
        while try run.step() {
            let entry = otherNames[run.int64(Schema.Column.number)]
            let proven = try prove(run, [RowName(run), entry].compactMap(\.self), &places)
            try insert(run, as: proven ?? entry ?? RowName(run), isSound: proven != nil)
            summary.rowCount += 1
            if proven == nil { summary.damagedCount += 1 }
        }
        for (id, versions) in places.unproven { try keep(versions[0], id) }
        return summary
    }

    /// Finds the name and the hashes under which part N of the row opens that `run` is at. Part N
    /// is bound to all of them, so if it opens, none of them was changed.
    ///
    /// - Returns: nil for a row that does not open.
    /// - Throws: ``SystemError``: `lockedRow`.
    private func prove(
        _ run: borrowing Statement.Run, _ names: [RowName], _ places: inout PlaceVersions
    ) throws(SystemError) -> RowName? {
        for name in names {
            for hashes in places[name.place] {
                do {
                    let row = try SealedRow(run, in: hashes, account: name.account)
                    _ = try state.cipher(examining: row.header).openContent(row)
                } catch {
                    guard error.isDamage else { throw error }
                    continue
                }
                if places.prove(hashes, name.place) { try keep(hashes, name.place) }
                return name
            }
        }
        return nil
    }

    /// Adds the row that `run` is at. A row that does not open gets a flag that no reader accepts,
    /// so that each search that leads to it says that it is damaged.
    private func insert(
        _ run: borrowing Statement.Run, as name: RowName?, isSound: Bool
    ) throws(SystemError) {
        let insertion = try target.insert.start()
        try insertion.bindColumns(of: run)
        if let name {
            try insertion.bind(name.place, at: Schema.Column.place + 1)
            try insertion.bind(name.account, at: Schema.Column.accountHash + 1)
        }
        if !isSound {
            let flags = run.int64(Schema.Column.flags) | RowFlags.damagedColumn
            try insertion.bind(flags, at: Schema.Column.flags + 1)
        }
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

    private func keep(_ hashes: ServiceHashes, _ id: Int64) throws(SystemError) {
        let insertion = try keepPlace.start()
        try insertion.bind(hashes)
        try insertion.bind(id, at: 4)
        try insertion.finish()
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
        if isIndexSound == true { return entries }
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

    /// Whether the rebuilt table has all these rows; false for nil.
    private func hasRows(_ numbers: [Int64]?, of witness: Witness) throws(SystemError) -> Bool {
        guard let numbers else { return false }
        let row = Statement(witness.row, on: target.connection)
        for number in numbers {
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

    static let all = [
        Witness(
            rows: "SELECT number FROM item NOT INDEXED",
            entries: "SELECT number FROM item INDEXED BY item_by_place",
            row: "SELECT 1 FROM item WHERE number = ?1"),
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
    private var proven: Set<Int64> = []

    /// The hashes that the place with that id may have: one, once a row has proved it.
    subscript(id: Int64) -> [ServiceHashes] { versions[id] ?? [] }

    /// The places that no row has proved, each with at least one version.
    var unproven: [Int64: [ServiceHashes]] { versions.filter { !proven.contains($0.key) } }

    mutating func add(_ hashes: ServiceHashes, of id: Int64) {
        guard versions[id]?.contains(hashes) != true else { return }
        versions[id, default: []].append(hashes)
    }

    /// - Returns: Whether no row has proved the place before.
    mutating func prove(_ hashes: ServiceHashes, _ id: Int64) -> Bool {
        versions[id] = [hashes]
        return proven.insert(id).inserted
    }
}
