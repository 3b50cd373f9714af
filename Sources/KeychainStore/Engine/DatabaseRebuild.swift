// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// Builds a sound database from the rows of a damaged one: docs/FORMAT.md §7.1.
///
/// It reads the tables alone, never an index. Belongs under the lock, in one read transaction of
/// the damaged database.
struct DatabaseRebuild {
    /// What a rebuilt database consists of.
    struct Summary {
        /// Rows of table `item`.
        var itemCount = 0
        /// Rows that had the name of a later one, and are in quarantine now.
        var supersededCount = 0
        /// Records of programs that could not be read, and are gone.
        var lostProgramCount = 0
    }

    private let source: StoreConnection
    private let target: StoreWriter
    private let state: KeychainState
    /// Milliseconds since 1970, for rows that go into quarantine.
    private let time: Int64
    private let copyToQuarantine: Statement
    private let rowOfName: Statement
    private let keepProgram: Statement

    private var connection: Connection { source.connection }

    init(_ source: StoreConnection, to target: Connection, _ state: KeychainState, time: Int64) {
        self.source = source
        self.target = StoreWriter(target)
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

    /// Fills the target, which is empty.
    ///
    /// - Throws: ``SystemError``: `corrupt`, `constraint` if a table itself is damaged;
    ///   ``KeychainFailure/Code/keychainDamaged`` if it has lost rows; ``RowFailure/locked``.
    func run() throws -> Summary {
        let transaction = try Transaction(on: target.connection)
        for statement in Schema.statements {
            try Statement(statement, on: target.connection).execute()
        }
        try copy(
            "SELECT * FROM keychain NOT INDEXED",
            "INSERT INTO keychain VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
        try copy("SELECT * FROM keybag NOT INDEXED", "INSERT INTO keybag VALUES (?1, ?2)")
        try copyQuarantine()
        var summary = Summary()
        let numbers = try copyItems(&summary)
        try checkNothingIsLost(numbers)
        summary.lostProgramCount = try copyPrograms()
        try transaction.commit()
        for mark in Schema.marks { try Statement(mark, on: target.connection).execute() }
        guard try target.connection.integrityProblems().isEmpty,
            try target.connection.count(.allRows) == summary.itemCount
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

    /// Copies every row as it is, with the search entries that its hashes stand for.
    ///
    /// - Returns: The numbers of all rows, rising.
    private func copyItems(_ summary: inout Summary) throws -> [Int64] {
        var numbers: [Int64] = []
        var damaged: Set<Int64> = []
        let run = try source.all.start()
        while try run.step() {
            let found = try FoundRow(run)
            // A page that comes twice takes the place of another one.
            if let last = numbers.last, found.number <= last {
                throw KeychainFailure.damagedTable(path: connection.path)
            }
            numbers.append(found.number)
            if try !isSound(found) { damaged.insert(found.number) }
            if try !insert(run, found, damaged) { summary.supersededCount += 1 }
        }
        summary.itemCount = numbers.count - summary.supersededCount
        return numbers
    }

    /// Whether parts A and B open. They are bound to every hash of the row, so that the indexes
    /// are made of nothing that was changed.
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

    /// Adds the row that `run` is at. Where an index was damaged, an item may have been added for
    /// a second time: the row that was written last is the item then.
    ///
    /// - Returns: Whether nothing had to go into quarantine.
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

    /// The row that has been copied already and has the same name.
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

    // Rows that a damaged table does not show any more.

    /// A row that its table has lost is still named by its indexes. A number that one index alone
    /// names, while the other can be read, is that index's own damage.
    ///
    /// - Parameter numbers: Of all rows that the table has, rising.
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

    /// The numbers that an index names and the table has not; nil if the index cannot be read.
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

    /// Copies the records that open. The others are noted anew when their programs write again.
    ///
    /// - Returns: How many were left out, as far as that can be told: at least one if the table
    ///   cannot be read to its end.
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

/// Runs `body`; nil if what it reads is damaged.
func unlessCorrupt<R>(_ body: () throws -> R) throws -> R? {
    do {
        return try body()
    } catch let error as SystemError where error.code == .corrupt {
        return nil
    }
}

extension [Int64] {
    /// Whether the number is among these, which rise.
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
