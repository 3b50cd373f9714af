// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSystem

/// spec/secitem.md §7, §4.4.
extension ItemStore {
    static let deleting = "delete items"

    /// Deletes every item that matches.
    ///
    /// If at most 1,000 rows may match, deletes all matches or none. Otherwise deletes in batches,
    /// each in a transaction, so that others can write in between: docs/decisions/0051. A crash
    /// then leaves items that a second call deletes, and a failure says how many were deleted. An
    /// item that is added during the call may stay.
    ///
    /// - Returns: How many items were deleted.
    /// - Throws: ``KeychainFailure``: `itemNotFound` if none matches, `missingEntitlement`;
    ///   `locked`, before anything is deleted, if a row has to be opened and its key is not open;
    ///   `damaged` for a row whose columns do not tell whether it matches.
    @discardableResult
    package func delete(
        _ query: ItemQuery, for caller: Caller
    ) throws(KeychainFailure) -> Int {
        let count = try delete([query], for: caller)
        guard count > 0 else { throw keychain.notFound(Self.deleting) }
        return count
    }

    /// Like ``delete(_:for:)`` with several queries; that none matches is no error. If none of them
    /// may match more than 1,000 rows, deletes all matches, or nothing.
    ///
    /// - Parameter isPurging: Whether to delete the former values of such items, too, also of those
    ///   that were removed before.
    package func delete(
        _ queries: [ItemQuery], purging isPurging: Bool = false, for caller: Caller
    ) throws(KeychainFailure) -> Int {
        let caller = isPurging ? caller.purging : caller
        let attempt: Deletion?
        do {
            let isSmall = queries.count == 1 && queries[0].namesOneItem && !isPurging
            attempt = try shareWrite(
                Self.deleting, byteCount: isSmall ? 0 : nil
            ) { (rows) throws(KeychainFailure) -> Deletion in
                let items = ItemTransaction(rows, caller)
                for query in queries where try items.hasMany(query) { return .isLarge }
                var count = 0
                for query in queries { count += try items.delete(query) }
                if isPurging {
                    for query in queries { try items.dropFormerOfNothing(query) }
                }
                return .done(count)
            }
        } catch {
            guard error.code == .diskFull, caller.keepsHistory else { throw error }
            throw KeychainFailure(
                error, hint: "keeping a removed value needs room: `valet remove --purge` does not")
        }
        return switch attempt {
        case .done(let count): count
        case .isLarge: try deleteMany(queries, purging: isPurging, for: caller)
        case nil: 0
        }
    }

    private func deleteMany(
        _ queries: [ItemQuery], purging isPurging: Bool, for caller: Caller
    ) throws(KeychainFailure) -> Int {
        var count = 0
        do {
            for query in queries {
                try MassDeletion(store: self, query: query, caller: caller).run(&count)
            }
            if isPurging {
                _ = try writeRows(Self.deleting) { (rows) throws(KeychainFailure) in
                    let items = ItemTransaction(rows, caller)
                    for query in queries { try items.dropFormerOfNothing(query) }
                }
            }
        } catch {
            guard count > 0 else { throw error }
            throw KeychainFailure(error, after: "\(count) items were deleted before")
        }
        return count
    }

    /// Deletes every item that one of the queries finds, in one transaction however many there are.
    /// Finding none is no error.
    ///
    /// - Throws: As ``delete(_:for:)``; then nothing is deleted.
    package func delete(
        allOf queries: [ItemQuery], for caller: Caller
    ) throws(KeychainFailure) {
        _ = try writeRows(Self.deleting) { (rows) throws(KeychainFailure) in
            let items = ItemTransaction(rows, caller)
            for query in queries { _ = try items.delete(query) }
        }
    }

    private enum Deletion {
        case done(Int)
        /// Too much for one transaction.
        case isLarge
    }
}

extension ItemTransaction {
    /// Deletes the items that match. Opens rows only for filters that hashes cannot serve.
    func delete(_ query: ItemQuery) throws(KeychainFailure) -> Int {
        let groups = try caller.groups(changing: query.accessGroup, during: operation)
        var count = 0
        let rows = try translating(state.find(query, groups, rows.store), during: operation)
        for found in rows where try delete(found, query) { count += 1 }
        return count
    }

    /// Whether more rows may match than one transaction deletes.
    fileprivate func hasMany(_ query: ItemQuery) throws(KeychainFailure) -> Bool {
        let groups = try caller.groups(changing: query.accessGroup, during: operation)
        guard !query.namesOneItem else { return false }
        let limit = MassDeletion.wholeCount
        return try translating(
            state.candidates(query, groups, rows.store, limit: limit + 1), during: operation
        ).count > limit
    }

    /// Deletes a row that `query` has found, if it matches.
    ///
    /// - Returns: Whether the row was deleted.
    /// - Throws: ``KeychainFailure/Code/damaged`` for a row whose columns are damaged, and which
    ///   may belong to any application.
    func delete(_ found: FoundRow, _ query: ItemQuery) throws(KeychainFailure) -> Bool {
        guard case .row(let row) = found else {
            throw KeychainFailure(.row(.damagedColumn), during: operation)
        }
        if query.hasUnindexedFilter {
            let content = try rows.open(row).content
            guard try translating(query.fits(content), during: operation) else { return false }
        }
        try deleteItem(row)
        return true
    }

    /// Deletes an item. Leaves a tombstone if it is synchronizable.
    ///
    /// - Returns: Whether it is kept as a former row.
    @discardableResult
    func deleteItem(_ row: SealedRow) throws(KeychainFailure) -> Bool {
        let isKept = try keep(row, .removed)
        if caller.purgesHistory { try rows.dropFormer(of: row) }
        guard row.header.flags.contains(.synchronizable) else {
            try rows.delete(row)
            return isKept
        }
        // A tombstone needs the names, whatever the value. Without one, another device would bring
        // the item back.
        let own = try names(in: [row])
        try rows.delete(row)
        let known = if let own { Optional(own) } else { try formerNames(of: row) }
        if let known { try insertTombstone(row, known) }
        return isKept
    }

    /// The names of a deleted row whose own are damaged: those of its last former row that opens;
    /// nil if there is none.
    private func formerNames(of row: SealedRow) throws(KeychainFailure) -> ItemContent? {
        // Damaged columns may be those of another item, which is there.
        guard try rows.row(row.place) == nil else { return nil }
        let former = try translating(
            rows.store.formerRows(of: row.place, state.hasher), during: operation)
        return try names(in: former.compactMap(\.sound))
    }

    /// The names in the first row whose names open; nil if none do.
    private func names(in candidates: [SealedRow]) throws(KeychainFailure) -> ItemContent? {
        try translating(operation) { () throws(SystemError) in
            for row in candidates {
                let names = try unlessDamaged { () throws(SystemError) in
                    try state.cipher(opening: row.header).openContent(row)
                }
                if let names { return names }
            }
            return nil
        }
    }

    /// Leaves a tombstone in the old place of a synchronizable item whose primary key has changed.
    func markDeletion(_ match: OpenedRow) throws(KeychainFailure) {
        guard match.row.header.flags.contains(.synchronizable) else { return }
        try insertTombstone(match.row, match.content)
    }

    /// A tombstone has the primary key and the dates of the item, and nothing else.
    private func insertTombstone(
        _ row: SealedRow, _ opened: ItemContent
    ) throws(KeychainFailure) {
        let header = row.header
        let names = header.itemClass.primaryKeyAttributes
        var content = opened
        content.valueByteCount = nil
        content.attributes = content.attributes.filter { attribute, _ in
            names.contains(attribute) || attribute == .creationDate
        }
        content.attributes[.modificationDate] = .date(
            rows.now.date(after: opened.modificationDate))
        let index = state.hasher.hashes(header.itemClass, content, isSynchronizable: true)
        _ = try rows.insert(
            header.itemClass,
            RowKind(
                protectionClass: header.protectionClass, flags: [.synchronizable, .tombstone]),
            IndexedContent(content, index), value: nil, after: row.logicalTime)
    }
}

extension ItemQuery {
    /// Whether the query names an item in each group, so that only few rows can match.
    var namesOneItem: Bool { reference != nil || namesPrimaryKey }

    /// Whether a row must be opened to decide whether it matches.
    var hasUnindexedFilter: Bool {
        hostOrSubdomainOfHost != nil || attributes.keys.contains { !$0.isHashed }
    }

    /// Compares every attribute once more, now that the row is open.
    ///
    /// - Throws: ``SystemError``: `damagedContent` if a hash matched, and the row's attribute
    ///   does not.
    func fits(_ content: ItemContent) throws(SystemError) -> Bool {
        for (attribute, wanted) in attributes {
            let stored = content.attributes[attribute] ?? attribute.defaultValue
            let matches = stored.map { attribute.finds(wanted, in: $0) } ?? false
            if !matches, attribute.isHashed { throw .row(.damagedContent) }
            if !matches { return false }
        }
        return fitsHost(content)
    }

    /// Whether the item's server is the host asked for, or a subdomain of it, compared byte by byte
    /// (spec/secitem.md §3.6).
    func fitsHost(_ content: ItemContent) -> Bool {
        guard let host = hostOrSubdomainOfHost else { return true }
        guard case .text(let server)? = content.attributes[.server] else { return false }
        return server.hasSameBytes(as: host)
            || server.utf8.reversed().starts(with: ("." + host).utf8.reversed())
    }
}

/// Deletes many items in batches, so that others can write in between.
///
/// Reasons: docs/decisions/0051-many-items.md.
struct MassDeletion {
    /// If at most this many rows may match, one transaction deletes all matches or none. The first
    /// batch has this size, too.
    static let wholeCount = 1000
    private static let largestBatch = 20_000
    /// How long a batch should keep others from writing, in nanoseconds.
    private static let batchTime: Int64 = 100_000_000
    /// How long others may go first between two batches, in nanoseconds.
    private static let pause: Int64 = 5_000_000

    let store: ItemStore
    let query: ItemQuery
    let caller: Caller

    /// - Parameter count: Counts the items that were deleted, also if a later batch fails.
    func run(_ count: inout Int) throws(KeychainFailure) {
        var (walk, numbers) = try store.begunWalk(query, for: caller)
        if needsKeys { numbers = try checked(&walk) }
        var (batch, position) = (Self.wholeCount, 0)
        while position < numbers.count {
            let end = min(numbers.count, position + batch)
            let outcome = try delete(numbers[position..<end], in: walk.database)
            count += outcome.count
            position = end
            batch = Self.size(after: batch, outcome.time)
            _ = Deadline(after: .seconds(1)).sleep(atMost: Self.pause)
        }
    }

    /// Whether rows have to be opened, to compare them or to leave tombstones.
    private var needsKeys: Bool {
        query.hasUnindexedFilter || query.synchronizable != .localOnly
    }

    /// Looks at every row before the first one is deleted.
    ///
    /// - Returns: The numbers of the rows that match.
    /// - Throws: ``KeychainFailure``: `locked`, `damaged`.
    private func checked(_ walk: inout ItemWalk) throws(KeychainFailure) -> [Int64] {
        var matching: [Int64] = []
        while !walk.isAtEnd {
            let operation = ItemStore.deleting
            let found = try store.step(of: &walk, operation) {
                (found, state) throws(KeychainFailure) in
                try translating(fitting(found.flatMap(\.rows), state), during: operation)
            }
            matching += found ?? []
        }
        return matching
    }

    private func fitting(_ rows: [FoundRow], _ state: RowKeys) throws(SystemError) -> [Int64] {
        var numbers: [Int64] = []
        for found in rows {
            guard case .row(let row) = found else { throw .row(.damagedColumn) }
            if try fits(row, state) { numbers.append(row.header.number) }
        }
        return numbers
    }

    private func fits(_ row: SealedRow, _ state: RowKeys) throws(SystemError) -> Bool {
        // The key that opens the row also seals the tombstone.
        if row.header.flags.contains(.synchronizable) { _ = try state.cipher(opening: row.header) }
        guard query.hasUnindexedFilter else { return true }
        let content = try state.cipher(opening: row.header).openContent(row)
        return try query.fits(content)
    }

    /// - Returns: How many were deleted, and how long others could not write, in nanoseconds.
    private func delete(
        _ numbers: ArraySlice<Int64>, in database: FileIdentity?
    ) throws(KeychainFailure) -> (count: Int, time: Int64) {
        let groups = try caller.groups(changing: query.accessGroup, during: ItemStore.deleting)
        var begin: Int64 = 0
        let count = try store.writeRows(ItemStore.deleting, in: database) {
            (rows) throws(KeychainFailure) in
            begin = Deadline(after: .zero).nanoseconds
            let items = ItemTransaction(rows, caller)
            let searches = items.state.searches(query, groups)
            var count = 0
            for number in numbers {
                let found = try translating(
                    items.state.find(number, by: searches, rows.store), during: ItemStore.deleting)
                if let found, try items.delete(found, query) { count += 1 }
            }
            return count
        }
        return (count ?? 0, Deadline(after: .zero).nanoseconds - begin)
    }

    /// The size of the next batch: as many rows as may take ``batchTime``, with the commit.
    private static func size(after size: Int, _ time: Int64) -> Int {
        let fitting = Int64(size) * batchTime / max(1, time)
        return Int(max(100, min(fitting, Int64(2 * size), Int64(largestBatch))))
    }
}
