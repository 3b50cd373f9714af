// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainKeys
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetSealing
internal import ValetSystem

// `valet doctor --repair-indexes`: rebuilds the database from the rows of its tables.

/// The result of a repair.
package struct IndexRepair: Hashable, Sendable {
    /// The number of rows that the indexes were rebuilt from.
    package var rowCount = 0
    /// The number of older rows of items that had been stored again. They are set aside.
    package var supersededCount = 0
    /// The number of unreadable records of programs. They are dropped.
    package var lostProgramCount = 0

    /// The result of a repair that has not begun.
    package init() {}
}

extension ItemStore {
    /// Rebuilds everything that can be derived from the rows: the indexes, the search entries and
    /// the structure of the file. Keeps every row, or changes nothing.
    ///
    /// Opens the names and details of every row, so the keychain has to be unlocked. Other
    /// programs cannot write while it runs. A crash leaves the old database or the rebuilt one.
    /// - Throws: ``KeychainFailure``: `keychainDamaged` if a table itself is damaged, `locked`,
    ///   `itemNotFound` if there is no keychain, `diskFull`, `readOnly`, `timedOut`.
    package func repairIndexes() throws(KeychainFailure) -> IndexRepair {
        try perform(.keys, KeychainFailure.repairing) { keys in
            try IndexRepairer(keychain: keys.keychain, deadline: keys.deadline, now: now).run()
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

    func run() throws -> IndexRepair {
        let operation = KeychainFailure.repairing
        guard !pool.directory.isReadOnly else {
            throw KeychainFailure(.readOnly, during: operation, path: pool.directory.path)
        }
        let call = StoreCall(
            operation: operation, location: keychain.location, deadline: deadline, now: now)
        while true {
            let state = try keychain.read(call) { $0.keys }
            guard state.rows.isComplete else {
                throw KeychainFailure(
                    .locked, during: operation,
                    message: "the keychain is locked, but the repair has to open every item",
                    hint: KeychainFailure.unlockHint)
            }
            if let repair = try repair(state) { return repair }
            guard !deadline.hasPassed else { throw KeychainFailure(.timedOut, during: operation) }
        }
    }

    /// - Returns: nil, with nothing done, if the keys are no longer those of `state`.
    private func repair(_ state: OpenKeys) throws -> IndexRepair? {
        let held = try pool.lock.acquire(before: deadline)
        guard try pool.isInPlace() else {
            throw KeychainFailure(
                .timedOut, during: KeychainFailure.repairing,
                message: "the keychain was replaced during the repair")
        }
        let writer = try pool.writer(deadline)
        let scratch = try Connection.scratch(
            Self.scratchName, in: pool.directory, deadline: deadline,
            cacheKibibytes: ConnectionPool.cacheKibibytes)
        let repair = try rebuild(scratch, from: writer.reading, state)
        if repair != nil {
            try writer.connection.replaceContents(by: scratch)
            writer.hasRoomInLog = false
            writer.connection.deadline = Deadline(after: Self.patience)
            // The rebuilt database is safe in the log, so a failed checkpoint does no harm: the
            // next writer repeats it.
            _ = try? writer.connection.checkpoint(.truncate)
        }
        try scratch.close()
        _ = consume held
        return repair
    }

    private func rebuild(
        _ scratch: Connection, from store: RowConnection, _ state: OpenKeys
    ) throws -> IndexRepair? {
        let rebuild = DatabaseRebuild(store, to: scratch, state.rows, time: now.logicalTime >> 16)
        do {
            let transaction = try ReadTransaction(on: store.connection)
            guard try keychain.currentFacts(store).settings == state.settings else { return nil }
            let repair = try rebuild.run()
            _ = consume transaction
            return repair
        } catch let error as SystemError
            where error.code == .corrupt || error.code == .constraint
        {
            throw KeychainFailure.damagedTable(path: store.connection.path)
        }
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
/// It reads only the tables, and the indexes only to find rows that a table has lost. The caller
/// holds the writers' lock and one read transaction of the damaged database.
struct DatabaseRebuild {
    private let source: RowConnection
    private let target: RowWriter
    private let state: RowKeys
    /// Milliseconds since 1970, for rows that go into quarantine.
    private let time: Int64
    private let copyToQuarantine: Statement
    private let rowOfName: Statement
    private let keepProgram: Statement

    private var connection: Connection { source.connection }

    init(_ source: RowConnection, to target: Connection, _ state: RowKeys, time: Int64) {
        self.source = source
        self.target = RowWriter(target)
        self.state = state
        self.time = time
        copyToQuarantine = Statement(
            """
            INSERT INTO quarantine VALUES (
                ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
            """, on: target)
        rowOfName = Statement(
            """
            SELECT number, logical_time FROM item
            WHERE group_hash = ?1 AND place_hash = ?2 AND primary_key = ?3
            """, on: target)
        keepProgram = Statement("INSERT OR IGNORE INTO program VALUES (?1, ?2)", on: target)
    }

    /// Fills the empty target.
    ///
    /// - Throws: ``SystemError``: `corrupt`, `constraint` if a table itself is damaged;
    ///   ``KeychainFailure/Code/keychainDamaged`` if a table has lost rows; ``RowFailure/locked``.
    func run() throws -> IndexRepair {
        let transaction = try Transaction(on: target.connection)
        for statement in Schema.statements {
            try Statement(statement, on: target.connection).execute()
        }
        try copy(
            "SELECT * FROM keychain NOT INDEXED",
            "INSERT INTO keychain VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
        try copy("SELECT * FROM keybag NOT INDEXED", "INSERT INTO keybag VALUES (?1, ?2)")
        try copyQuarantine()
        var summary = IndexRepair()
        let numbers = try copyItems(&summary)
        try checkNothingIsLost(numbers)
        summary.lostProgramCount = try copyPrograms()
        try transaction.commit()
        for mark in Schema.marks { try Statement(mark, on: target.connection).execute() }
        guard try target.connection.integrityProblems().isEmpty,
            try target.connection.count(.allRows) == summary.rowCount
        else {
            throw KeychainFailure(
                .internalFault, during: "rebuild the indexes",
                message: "the rebuilt database is not sound; nothing was changed")
        }
        return summary
    }

    private func copy(_ selection: StaticString, _ insertion: StaticString) throws {
        let rows = Statement(selection, on: connection)
        let insert = Statement(insertion, on: target.connection)
        let run = try rows.start()
        while try run.step() { try add(run, by: insert) }
    }

    private func add(_ run: borrowing Statement.Run, by insert: Statement) throws {
        let insertion = try insert.start()
        try insertion.bindColumns(of: run)
        try insertion.finish()
    }

    private func copyQuarantine() throws {
        let rows = Statement("SELECT * FROM quarantine NOT INDEXED", on: connection)
        let run = try rows.start()
        while try run.step() { try add(run, by: copyToQuarantine) }
    }

    // Items.

    /// Copies every row unchanged, and makes its search entries from its hashes.
    ///
    /// - Returns: The numbers of all rows, in rising order.
    private func copyItems(_ summary: inout IndexRepair) throws -> [Int64] {
        var numbers: [Int64] = []
        var damaged: Set<Int64> = []
        let run = try source.all.start()
        while try run.step() {
            let found = try FoundRow(run)
            // Rows that come twice mean that one page has replaced another.
            if let last = numbers.last, found.number <= last {
                throw KeychainFailure.damagedTable(path: connection.path)
            }
            numbers.append(found.number)
            if try !isSound(found) { damaged.insert(found.number) }
            if try !insert(run, found, damaged) { summary.supersededCount += 1 }
        }
        summary.rowCount = numbers.count - summary.supersededCount
        return numbers
    }

    /// Whether parts A and B open. They are bound to every hash of the row, so no changed hash can
    /// get into the indexes.
    ///
    /// - Throws: ``RowFailure/locked``.
    private func isSound(_ found: FoundRow) throws(RowFailure) -> Bool {
        guard case .row(let row) = found else { return false }
        do throws(RowFailure) {
            _ = try state.cipher(examining: row.header).openContent(row)
            return true
        } catch {
            guard error.isDamage else { throw error }
            return false
        }
    }

    /// Adds the row that `run` is at. While an index was damaged, an item may have been added a
    /// second time. Then the row that was written last is the item, unless only it is damaged; the
    /// other row goes into quarantine.
    ///
    /// - Returns: Whether nothing went into quarantine.
    private func insert(
        _ run: borrowing Statement.Run, _ found: FoundRow, _ damaged: Set<Int64>
    ) throws -> Bool {
        guard case .row(let row) = found, let rival = try rival(of: row) else {
            try add(run, by: target.insert)
            try addEntries(of: found)
            return true
        }
        let isDamaged = (damaged.contains(row.header.number), damaged.contains(rival.number))
        let isLater = row.logicalTime >= rival.logicalTime
        guard isDamaged.0 == isDamaged.1 ? isLater : isDamaged.1 else {
            let insertion = try copyToQuarantine.start()
            try insertion.bind(time, at: 1)
            try insertion.bindColumns(of: run, from: 2)
            try insertion.finish()
            return false
        }
        let moving = try target.quarantine.start()
        try moving.bind(rival.number, at: 1)
        try moving.bind(time, at: 2)
        try moving.finish()
        for statement in [target.deleteAttributes, target.delete] {
            let deletion = try statement.start()
            try deletion.bind(rival.number, at: 1)
            try deletion.finish()
        }
        try add(run, by: target.insert)
        try addEntries(of: found)
        return false
    }

    /// The row of the same name that has already been copied; nil if there is none.
    private func rival(
        of row: SealedRow
    ) throws(SystemError) -> (number: Int64, logicalTime: Int64)? {
        let run = try rowOfName.start()
        try run.bind(row.groupHash, at: 1)
        try run.bind(row.placeHash, at: 2)
        try run.bind(row.header.primaryKey, at: 3)
        return try run.step() ? (run.int64(0), run.int64(1)) : nil
    }

    private func addEntries(of found: FoundRow) throws {
        guard case .row(let row) = found,
            let others = try? IndexHashes.others(parsing: row.hashes)
        else { return }
        for hash in others.values {
            let insertion = try target.insertAttribute.start()
            try insertion.bind(hash, at: 1)
            try insertion.bind(row.header.number, at: 2)
            try insertion.finish()
        }
    }

    // Rows that a damaged table has lost.

    /// Checks that the table has lost no row: its indexes would still name it. If both indexes can
    /// be read and only one of them names a row, that index is damaged, and no row is lost.
    ///
    /// - Parameter numbers: The numbers of all rows in the table, in rising order.
    private func checkNothingIsLost(_ numbers: [Int64]) throws {
        let places: StaticString = "SELECT number FROM item INDEXED BY item_by_place"
        let accounts: StaticString = "SELECT number FROM item INDEXED BY item_by_account"
        let missing = (try strangers(to: numbers, places), try strangers(to: numbers, accounts))
        let lost =
            switch missing {
            case (let some?, let others?): some.intersection(others)
            case (let some?, nil), (nil, let some?): some
            case (nil, nil): Set<Int64>()
            }
        guard lost.isEmpty else { throw KeychainFailure.damagedTable(path: connection.path) }
    }

    /// The numbers that are in an index but not in the table; nil if the index cannot be read.
    private func strangers(to numbers: [Int64], _ selection: StaticString) throws -> Set<Int64>? {
        let statement = Statement(selection, on: connection)
        return try unlessCorrupt { try strangers(to: numbers, statement) }
    }

    private func strangers(
        to numbers: [Int64], _ statement: Statement
    ) throws(SystemError) -> Set<Int64> {
        var strangers: Set<Int64> = []
        let run = try statement.start()
        while try run.step() {
            let number = run.int64(0)
            if !numbers.hasInOrder(number) { strangers.insert(number) }
        }
        return strangers
    }

    // Programs.

    /// Copies the records that open. The others are recorded again when their programs next write.
    ///
    /// - Returns: The known number of records left out: at least one if the table cannot be read to
    ///   its end.
    private func copyPrograms() throws -> Int {
        var lostCount = 0
        let isRead: Void? = try unlessCorrupt { try copyPrograms(&lostCount) }
        return isRead == nil ? lostCount + 1 : lostCount
    }

    private func copyPrograms(_ lostCount: inout Int) throws {
        let records = Statement("SELECT id, sealed FROM program", on: connection)
        let run = try records.start()
        while try run.step() {
            if isSound(program: run) {
                try add(run, by: keepProgram)
            } else {
                lostCount += 1
            }
        }
    }

    private func isSound(program run: borrowing Statement.Run) -> Bool {
        guard let id: Digest = try? run.fixedBytes(0) else { return false }
        return (try? state.open(program: run.blob(1), id)) != nil
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
