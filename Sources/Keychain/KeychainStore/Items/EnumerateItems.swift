// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSystem

/// A walk over the items that match a query, in steps: for queries that match many.
///
/// No transaction is open between two steps, so a caller may take its time. The walk keeps eight
/// bytes for each row. If an item changes during the walk, the walk sees it before or after the
/// change. It may miss an item that is added. If the keychain's folder is replaced, the next step
/// fails: the numbers of one keychain mean nothing in another.
package struct ItemWalk: Sendable {
    let query: ItemQuery
    /// nil for the groups of every application.
    let groups: [AccessGroup]?
    /// The numbers of the rows that may match.
    var numbers: [Int64]
    /// The database that has them; nil if there is no keychain.
    let database: FileIdentity?
    var position = 0

    /// Whether the walk has seen every row.
    package var isAtEnd: Bool { position >= numbers.count }
}

extension ItemStore {
    private static let walking = "list items"
    private static let stepRowCount = 1000
    private static let stepByteCount = 4 << 20

    /// A walk over the items that match; ``next(of:)`` takes the steps.
    ///
    /// - Throws: ``KeychainFailure``: `missingEntitlement`.
    package func walk(
        _ query: ItemQuery, for caller: Caller
    ) throws(KeychainFailure) -> ItemWalk {
        try walk(query, for: caller, changing: false)
    }

    /// Like `walk(_:for:)`. `changing` is true if the caller changes the items.
    func walk(
        _ query: ItemQuery, for caller: Caller, changing: Bool
    ) throws(KeychainFailure) -> ItemWalk {
        let groups =
            changing
            ? try caller.groups(changing: query.accessGroup, during: Self.walking)
            : try caller.groups(searching: query.accessGroup, during: Self.walking)
        let walk = try readRows(Self.walking) { (snapshot) throws(KeychainFailure) in
            let numbers = try translating(Self.walking) { () throws(SystemError) in
                query.namesOneItem
                    ? try snapshot.state.find(query, groups, snapshot.store).map(\.number)
                    : try snapshot.state.candidates(query, groups, snapshot.store)
            }
            return ItemWalk(
                query: query, groups: groups, numbers: numbers, database: snapshot.database)
        }
        return walk ?? ItemWalk(query: query, groups: groups, numbers: [], database: nil)
    }

    /// A walk over the items of every application, for programs that show a person the whole
    /// keychain. ``next(of:)`` takes the steps, and leaves out the keychain's own items.
    package func walkEverything() throws(KeychainFailure) -> ItemWalk {
        // A query without attributes accepts items of both classes.
        let query = ItemQuery(.genericPassword)
        let walk = try readRows(Self.walking) { (snapshot) throws(KeychainFailure) in
            let numbers = try translating(
                snapshot.state.allNumbers(snapshot.store), during: Self.walking)
            return ItemWalk(
                query: query, groups: nil, numbers: numbers, database: snapshot.database)
        }
        return walk ?? ItemWalk(query: query, groups: nil, numbers: [], database: nil)
    }

    /// The next items with their attributes and without their values, in the order of
    /// ``copy(_:_:for:_:)``. A step may find no items although the walk is not at its end. Does not
    /// ask the user: the items include those that require the user's presence, and those that are
    /// bound to other fingers.
    ///
    /// - Throws: ``KeychainFailure/Code/locked`` if an item is locked. The step may be repeated.
    package func next(
        of walk: inout ItemWalk
    ) throws(KeychainFailure) -> FoundItems<StoredItem> {
        let query = walk.query
        // A list shows every item, so it does not matter which fingers are enrolled now.
        let access = PresenceAccess(.naming, enrolment: .known([]))
        let result = try step(of: &walk, Self.walking) { (rows, state) throws(KeychainFailure) in
            try translating(
                RowOpener(query: query, parts: .attributes, state: state, access: access)
                    .open(rows), during: Self.walking)
        }
        guard case .found(let found)? = result else { return FoundItems() }
        return walk.groups == nil ? found.filter { !$0.accessGroup.isOfKeychain } : found
    }

    /// Takes a step: reads the rows, ends the transaction, and calls `body` with the rows. Returns
    /// nil if there is no keychain.
    func step<R>(
        of walk: inout ItemWalk, _ operation: String,
        _ body: ([FoundRow], RowKeys) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        let before = walk
        let step = try readRows(operation, in: walk.database) {
            (snapshot) throws(KeychainFailure) in
            let (rows, end) = try translating(
                Self.rows(of: before, snapshot.state, snapshot.store), during: operation)
            snapshot.end()
            return (try body(rows, snapshot.state), end)
        }
        walk.position = step?.1 ?? walk.numbers.count
        return step?.0
    }

    /// The rows of a step, and the position after it.
    private static func rows(
        of walk: ItemWalk, _ state: RowKeys, _ store: RowConnection
    ) throws(SystemError) -> (rows: [FoundRow], end: Int) {
        let searches = walk.groups.map { state.searches(walk.query, $0) }
        var (rows, byteCount, position) = ([FoundRow](), 0, walk.position)
        var missing: Set<Int64> = []
        let end = min(walk.numbers.count, walk.position + stepRowCount)
        while position < end, byteCount < stepByteCount {
            let number = walk.numbers[position]
            // An index names each row once.
            let isRepeated = position > 0 && walk.numbers[position - 1] == number
            let row =
                if isRepeated {
                    FoundRow.damaged(number: number)
                } else if let searches {
                    try state.find(number, by: searches, store)
                } else {
                    try state.item(number, store)
                }
            if let row {
                rows.append(row)
                byteCount += row.byteCount
            } else if try !state.hasRow(number, store) {
                missing.insert(number)
            }
            position += 1
        }
        guard let groups = walk.groups, !missing.isEmpty else { return (rows, position) }
        // Deleted after the walk began; or an index names rows that are not there.
        let named = try state.candidates(walk.query, groups, store)
        rows += missing.intersection(named).map { .damaged(number: $0) }
        return (rows, position)
    }
}

extension FoundRow {
    /// About how much memory the row takes.
    fileprivate var byteCount: Int {
        guard case .row(let row) = self else { return 0 }
        return row.names.count + (row.secret?.count ?? 0)
    }
}
