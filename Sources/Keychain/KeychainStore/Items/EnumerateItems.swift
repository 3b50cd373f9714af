// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSystem

/// A walk over the items that match queries, in steps: for queries that match many.
///
/// The first step is of one moment. No transaction is open between two steps, so a caller may take
/// its time. The walk keeps eight bytes for each row. If an item changes during the walk, the walk
/// sees it once, before or after the change, also if another one of the queries matches it then. It
/// may miss an item that is added after the first step. If the keychain's folder is replaced, the
/// next step fails: the numbers of one keychain mean nothing in another.
package struct ItemWalk: Sendable {
    /// A query, and where it searches.
    struct Part: Sendable {
        let query: ItemQuery
        /// nil for the groups of every application.
        let groups: [AccessGroup]?
    }

    let parts: [Part]
    /// The numbers of the rows that may match, part by part; nil before the first step.
    var numbers: [Int64]?
    /// The end of each part in ``numbers``.
    fileprivate var ends: [Int] = []
    /// The database that has them; nil before the first step, and if there is no keychain.
    fileprivate(set) var database: FileIdentity?
    var position = 0

    fileprivate init(_ parts: [Part]) { self.parts = parts }

    /// Whether the walk has seen every row.
    package var isAtEnd: Bool { numbers.map { position >= $0.count } ?? parts.isEmpty }

    /// Notes the numbers of the rows, unless they are known.
    fileprivate mutating func begin(
        _ state: RowKeys, _ store: RowConnection, in database: FileIdentity
    ) throws(SystemError) {
        guard numbers == nil else { return }
        var (found, ends) = ([Int64](), [Int]())
        for part in parts {
            found += try Self.numbers(of: part, state, store)
            ends.append(found.count)
        }
        (numbers, self.ends, self.database) = (found, ends, database)
    }

    private static func numbers(
        of part: Part, _ state: RowKeys, _ store: RowConnection
    ) throws(SystemError) -> [Int64] {
        guard let groups = part.groups else { return try state.allNumbers(store) }
        return part.query.namesOneItem
            ? try state.find(part.query, groups, store).map(\.number)
            : try state.candidates(part.query, groups, store)
    }
}

/// Rows of a step that one query has found.
struct WalkedRows {
    let query: ItemQuery
    let rows: [FoundRow]
}

extension ItemStore {
    private static let walking = "list items"
    private static let stepRowCount = 1000
    private static let stepByteCount = 4 << 20

    /// A walk over the items that match one of the queries; ``next(of:)`` takes the steps.
    ///
    /// - Throws: ``KeychainFailure``: `missingEntitlement`.
    package func walk(
        _ queries: [ItemQuery], for caller: Caller
    ) throws(KeychainFailure) -> ItemWalk {
        ItemWalk(
            try queries.map { (query) throws(KeychainFailure) in
                ItemWalk.Part(
                    query: query,
                    groups: try caller.groups(searching: query.accessGroup, during: Self.walking))
            })
    }

    /// A walk over the items that the caller may change, with the numbers of its rows.
    func begunWalk(
        _ query: ItemQuery, for caller: Caller
    ) throws(KeychainFailure) -> (walk: ItemWalk, numbers: [Int64]) {
        let groups = try caller.groups(changing: query.accessGroup, during: Self.walking)
        let walk = ItemWalk([ItemWalk.Part(query: query, groups: groups)])
        let begun = try readRows(Self.walking) { (snapshot) throws(KeychainFailure) in
            var begun = walk
            try translating(Self.walking) { () throws(SystemError) in
                try begun.begin(snapshot.state, snapshot.store, in: snapshot.database)
            }
            return begun
        }
        return (begun ?? walk, begun?.numbers ?? [])
    }

    /// A walk over the items of every application, for programs that show a person the whole
    /// keychain. ``next(of:)`` takes the steps, and leaves out the keychain's own items.
    package func walkEverything() -> ItemWalk {
        // A query without attributes accepts items of both classes.
        ItemWalk([ItemWalk.Part(query: ItemQuery(.genericPassword), groups: nil)])
    }

    /// The next items with their attributes and without their values, in the order of
    /// ``copy(_:_:for:_:)``, query by query. A step may find no items although the walk is not at
    /// its end. Does not ask the user: the items include those that require the user's presence,
    /// and those that are bound to other fingers.
    ///
    /// - Throws: ``KeychainFailure/Code/locked`` if an item is locked. The step may be repeated.
    package func next(
        of walk: inout ItemWalk
    ) throws(KeychainFailure) -> FoundItems<StoredItem> {
        // A list shows every item, so it does not matter which fingers are enrolled now.
        let access = PresenceAccess(.naming, enrolment: .known([]))
        let results = try step(of: &walk, Self.walking) { (found, state) throws(KeychainFailure) in
            try translating(Self.walking) { () throws(SystemError) in
                try found.map { (found) throws(SystemError) in
                    try RowOpener(
                        query: found.query, parts: .attributes, state: state, access: access
                    ).open(found.rows)
                }
            }
        }
        let found = FoundItems(
            joining: (results ?? []).compactMap { result in
                if case .found(let found) = result { found } else { nil }
            })
        let isOfAll = walk.parts.contains { $0.groups == nil }
        return isOfAll ? found.filter { !$0.accessGroup.isOfKeychain } : found
    }

    /// Takes a step: reads the rows, ends the transaction, and calls `body` with the rows. Returns
    /// nil if there is no keychain.
    func step<R>(
        of walk: inout ItemWalk, _ operation: String,
        _ body: ([WalkedRows], RowKeys) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        let before = walk
        let step = try readRows(operation, in: walk.database) {
            (snapshot) throws(KeychainFailure) in
            var after = before
            let rows = try translating(operation) { () throws(SystemError) in
                try after.begin(snapshot.state, snapshot.store, in: snapshot.database)
                return try after.advance(
                    snapshot.state, snapshot.store, stepRowCount: Self.stepRowCount,
                    byteCount: Self.stepByteCount)
            }
            snapshot.end()
            return (result: try body(rows, snapshot.state), walk: after)
        }
        guard let step else {
            walk.numbers = []
            return nil
        }
        walk = step.walk
        return step.result
    }
}

extension ItemWalk {
    /// The rows of a step. Moves the walk behind them.
    fileprivate mutating func advance(
        _ state: RowKeys, _ store: RowConnection, stepRowCount: Int, byteCount limit: Int
    ) throws(SystemError) -> [WalkedRows] {
        let numbers = numbers ?? []
        let searches = parts.map { part in part.groups.map { state.searches(part.query, $0) } }
        var (found, byteCount) = (parts.map { _ in [FoundRow]() }, 0)
        var missing = parts.map { _ in Set<Int64>() }
        let end = min(numbers.count, position + stepRowCount)
        while position < end, byteCount < limit {
            let number = numbers[position]
            let own = ends.firstIndex { position < $0 } ?? 0
            // An index names each row once.
            let isFirst = position == (own == 0 ? 0 : ends[own - 1])
            if !isFirst, numbers[position - 1] == number {
                found[own].append(.damaged(number: number))
            } else if let row = try row(number, of: own, searches, state, store) {
                found[row.part].append(row.row)
                byteCount += row.row.byteCount
            } else if try !state.hasRow(number, store) {
                missing[own].insert(number)
            }
            position += 1
        }
        for (index, part) in parts.enumerated() {
            guard let groups = part.groups, !missing[index].isEmpty else { continue }
            // Deleted after the walk began; or an index names rows that are not there.
            let named = try state.candidates(part.query, groups, store)
            found[index] += missing[index].intersection(named).map { .damaged(number: $0) }
        }
        return zip(parts, found).compactMap { part, rows in
            rows.isEmpty ? nil : WalkedRows(query: part.query, rows: rows)
        }
    }

    /// The row of that number, with the part whose query matches it: `own`, unless the item has
    /// changed since. nil if none does.
    private func row(
        _ number: Int64, of own: Int, _ searches: [[Search]?], _ state: RowKeys,
        _ store: RowConnection
    ) throws(SystemError) -> (row: FoundRow, part: Int)? {
        for index in [own] + searches.indices.filter({ $0 != own }) {
            let row =
                if let searches = searches[index] {
                    try state.find(number, by: searches, store)
                } else {
                    try state.item(number, store)
                }
            if let row { return (row, index) }
        }
        return nil
    }
}

extension FoundRow {
    /// About how much memory the row takes.
    fileprivate var byteCount: Int {
        guard case .row(let row) = self else { return 0 }
        return row.names.count + (row.secret?.count ?? 0)
    }
}
