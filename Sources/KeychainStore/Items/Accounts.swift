// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainKeys
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetSealing
internal import ValetSystem

extension ItemStore {
    private static let listing = "list accounts"

    /// The accounts of all items of `service`: text or bytes, as stored. They come group by group,
    /// and in each group in the order of adding.
    ///
    /// Opens the names of these items and nothing else.
    /// - Throws: ``KeychainFailure``: `missingEntitlement`.
    package func accounts(
        of service: PasswordService, for caller: Caller
    ) throws(KeychainFailure) -> FoundItems<AttributeValue> {
        let groups = try caller.groups(searching: service.accessGroup, during: Self.listing)
        let found = try perform(.read, Self.listing) { snapshot in
            var list = AccountList()
            for group in groups {
                try list.add(service, group, snapshot.state, snapshot.store)
            }
            return list.found
        }
        return found ?? FoundItems()
    }
}

/// The accounts that a search has found so far.
private struct AccountList {
    var found = FoundItems<AttributeValue>()
    /// The numbers of the rows. During a change of keys a service is in several places.
    private var numbers: [Int64] = []

    /// Adds the accounts of one group, in the order of adding.
    mutating func add(
        _ service: PasswordService, _ group: AccessGroup, _ state: RowKeys,
        _ store: RowConnection
    ) throws {
        var lists: [AccountList] = []
        for hasher in state.hashers {
            let scan = AccountScan(service, group, state, hasher)
            for place in try scan.places(store) {
                var list = AccountList()
                for range in try scan.ranges(place, store) {
                    try list.add(range, of: place, scan, store)
                }
                lists.append(list)
            }
        }
        found.damage = found.damage ?? lists.compactMap(\.found.damage).first
        guard lists.count > 1 else {
            found.items += lists.first?.found.items ?? []
            return
        }
        let all = zip(lists.flatMap(\.numbers), lists.flatMap(\.found.items))
        found.items += all.sorted { $0.0 < $1.0 }.map(\.1)
    }

    /// Adds the accounts of rows whose numbers follow one another.
    private mutating func add(
        _ range: ClosedRange<Int64>, of place: ScannedPlace, _ scan: AccountScan,
        _ store: RowConnection
    ) throws {
        let run = try store.namesByNumbers.start()
        try run.bind(range.lowerBound, at: 1)
        try run.bind(range.upperBound, at: 2)
        while try run.step() {
            do throws(RowFailure) {
                guard let header = try scan.header(run, place) else {
                    try scan.checkStranger(run, place)
                    continue
                }
                found.items.append(try scan.account(header, run))
                numbers.append(header.number)
            } catch {
                guard error.isDamage else { throw error }
                found.damage = KeychainFailure(translating: error, during: "open an item")
            }
        }
    }
}
