// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

extension KeychainState {
    /// The rows that match what of `query` can be seen without opening them.
    func find(
        _ query: ItemQuery, _ groups: [AccessGroup], _ store: StoreConnection
    ) throws(SystemError) -> [FoundRow] {
        if let reference = query.reference {
            return try find(reference, query, groups, store)
        }
        var rows: [FoundRow] = []
        for group in groups {
            let hasItem = query.limit == 1 && !rows.isEmpty
            let newest = try Search(query, in: group, hasher, self)
                .rankedRows(store, hasItem: hasItem)
            guard let older else {
                rows += newest.joined()
                continue
            }
            let others = try Search(query, in: group, older.hasher, self)
                .rankedRows(store, hasItem: hasItem)
            for rank in 0..<max(newest.count, others.count) {
                let both = [newest, others].flatMap { $0.indices.contains(rank) ? $0[rank] : [] }
                rows += both.sorted { $0.number < $1.number }
            }
        }
        return rows
    }

    /// The numbers of the rows that come into question, group by group, rising in each; up to
    /// `limit` in each.
    ///
    /// A query that has few of them by its nature, by a reference or a primary key, is not for
    /// this.
    func candidates(
        _ query: ItemQuery, _ groups: [AccessGroup], _ store: StoreConnection, limit: Int = .max
    ) throws(SystemError) -> [Int64] {
        var numbers: [Int64] = []
        for group in groups {
            var ofGroup: [Int64] = []
            for hasher in hashers {
                ofGroup += try Search(query, in: group, hasher, self)
                    .candidates(store, limit: limit)
            }
            ofGroup.sort()
            numbers += ofGroup
        }
        return numbers
    }

    /// What judges whether a row matches `query`, in each group and epoch.
    func searches(_ query: ItemQuery, _ groups: [AccessGroup]) -> [Search] {
        groups.flatMap { group in hashers.map { Search(query, in: group, $0, self) } }
    }

    /// What the first of `searches` that knows it finds in the row of that number.
    func find(
        _ number: Int64, by searches: [Search], _ store: StoreConnection
    ) throws(SystemError) -> FoundRow? {
        let run = try store.byNumber.start()
        try run.bind(number, at: 1)
        guard try run.step() else { return nil }
        let found = try FoundRow(run)
        for search in searches {
            if let judged = search.judged(found, isNamed: false) { return judged }
        }
        return nil
    }

    private func find(
        _ reference: PersistentReference, _ query: ItemQuery, _ groups: [AccessGroup],
        _ store: StoreConnection
    ) throws(SystemError) -> [FoundRow] {
        var reader = ByteReader(reference.itemID, malformed: RowFailure.content)
        guard let number = try? reader.integer(UInt64.self) else { return [] }
        let run = try store.byNumber.start()
        try run.bind(Int64(bitPattern: number), at: 1)
        guard try run.step() else { return [] }
        let found = try FoundRow(run)
        guard case .row(let row) = found else { return [found] }
        // The id is no other item's, whatever class the row says that it has.
        guard row.header.itemID == reference.itemID else { return [] }
        for group in groups {
            for hasher in hashers {
                let search = Search(query, in: group, hasher, self)
                if let judged = search.judged(found, isNamed: false) { return [judged] }
            }
        }
        return []
    }

    /// Whether the names in a row show that its columns are not its own. Where the key of its
    /// class is not open they show nothing.
    func isForged(_ row: SealedRow) -> Bool {
        do throws(RowFailure) {
            _ = try cipher(examining: row.header).openNames(row)
            return false
        } catch {
            return error.isDamage
        }
    }
}
