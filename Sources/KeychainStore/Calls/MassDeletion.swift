// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSystem

/// Deletes what a query matches when that is much: in batches, between which others write.
///
/// Reasons: docs/decisions/0051-many-items.md.
struct MassDeletion {
    /// So many rows are deleted in one transaction, all or none.
    static let wholeCount = 1000
    private static let largestBatch = 20_000
    /// How long a batch should keep others from writing, in nanoseconds.
    private static let batchTime: Int64 = 100_000_000
    /// How long others may go first between two batches, in nanoseconds.
    private static let pause: Int64 = 5_000_000

    let store: ItemStore
    let query: ItemQuery
    let caller: Caller

    /// - Returns: How many items were deleted.
    /// - Throws: ``KeychainFailure``; its message says how many items are gone by then, if any.
    func run() throws(KeychainFailure) -> Int {
        var walk = try store.walk(query, for: caller, changing: true)
        if needsKeys { walk = try checked(walk) }
        var count = 0
        var batch = Self.wholeCount
        while !walk.isAtEnd {
            do throws(KeychainFailure) {
                let end = min(walk.numbers.count, walk.position + batch)
                let outcome = try delete(walk.numbers[walk.position..<end])
                count += outcome.count
                walk.position = end
                batch = Self.size(after: batch, outcome.time)
            } catch {
                guard count > 0 else { throw error }
                throw KeychainFailure(error, adding: "\(count) items were deleted before")
            }
            _ = Deadline(after: .seconds(1)).sleep(atMost: Self.pause)
        }
        return count
    }

    /// Whether rows have to be opened, to compare them or to leave marks in their places.
    private var needsKeys: Bool {
        query.hasUnindexedFilter || query.synchronizable != .localOnly
    }

    /// Looks at every row before the first one is deleted.
    ///
    /// - Returns: A walk over the rows that match.
    /// - Throws: ``KeychainFailure/Code/locked``.
    private func checked(_ walk: ItemWalk) throws(KeychainFailure) -> ItemWalk {
        var (walk, matching) = (walk, [Int64]())
        while !walk.isAtEnd {
            let operation = ItemStore.deleting
            matching += try store.step(of: &walk, operation) { (rows, state) in
                try rows.compactMap { found in
                    guard case .row(let row) = found else { return nil }
                    return try fits(row, state) ? row.header.number : nil
                }
            }
        }
        walk.numbers = matching
        walk.position = 0
        return walk
    }

    private func fits(_ row: SealedRow, _ state: KeychainState) throws -> Bool {
        // Its key seals the mark that it leaves.
        if row.header.flags.contains(.synchronizable) { _ = try state.cipher(opening: row.header) }
        guard query.hasUnindexedFilter else { return true }
        let content = try state.cipher(opening: row.header).openContent(row)
        return try query.fits(content)
    }

    /// - Returns: How many were deleted, and how long others could not write, in nanoseconds.
    private func delete(
        _ numbers: ArraySlice<Int64>
    ) throws(KeychainFailure) -> (count: Int, time: Int64) {
        let groups = try caller.groups(changing: query.accessGroup, during: ItemStore.deleting)
        var begin: Int64 = 0
        let count = try store.write(ItemStore.deleting, caller) { (access) in
            begin = Deadline(after: .zero).nanoseconds
            let searches = access.state.searches(query, groups)
            var count = 0
            for number in numbers {
                let found = try access.state.find(number, by: searches, access.store)
                if let found, try access.delete(found, query) { count += 1 }
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
