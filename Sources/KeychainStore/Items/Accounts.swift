// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainKeys
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetSealing
internal import ValetSystem

/// The accounts of a service.
package struct FoundAccounts: Sendable {
    /// Text or bytes, as stored; group by group, in each in the order of adding.
    package var accounts: [AttributeValue] = []
    /// Set when rows of the service are damaged; their accounts are missing.
    package var damage: KeychainFailure?
    /// The numbers of the rows, noted while two epochs are there to be merged.
    fileprivate var numbers: [Int64] = []
}

extension ItemStore {
    private static let listing = "list accounts"

    /// The accounts of all items of `service`, group by group, in each in the order of adding;
    /// none if there are none.
    ///
    /// Opens the names of these items and nothing else.
    /// - Throws: ``KeychainFailure``: `missingEntitlement`.
    package func accounts(
        of service: PasswordService, for caller: Caller
    ) throws(KeychainFailure) -> FoundAccounts {
        let groups = try caller.groups(searching: service.accessGroup, during: Self.listing)
        let found = try perform(.read, Self.listing) { snapshot in
            var found = FoundAccounts()
            for group in groups {
                try found.add(service, group, snapshot.state, snapshot.store)
            }
            return found
        }
        return found ?? FoundAccounts()
    }
}

extension FoundAccounts {
    /// Adds what is in one group, in the order of adding.
    fileprivate mutating func add(
        _ service: PasswordService, _ group: AccessGroup, _ state: RowKeys,
        _ store: RowConnection
    ) throws {
        guard let older = state.older else {
            try add(AccountScan(service, group, state, state.hasher), store)
            return
        }
        var (newer, elder) = (FoundAccounts(), FoundAccounts())
        try newer.add(AccountScan(service, group, state, state.hasher), store)
        try elder.add(AccountScan(service, group, state, older.hasher), store)
        let all = zip(newer.numbers + elder.numbers, newer.accounts + elder.accounts)
        accounts += all.sorted { $0.0 < $1.0 }.map(\.1)
        damage = damage ?? newer.damage ?? elder.damage
    }

    private mutating func add(_ scan: AccountScan, _ store: RowConnection) throws {
        for range in try scan.ranges(store) { try add(range, scan, store) }
    }

    /// Adds the accounts of rows whose numbers follow one another.
    private mutating func add(
        _ range: ClosedRange<Int64>, _ scan: AccountScan, _ store: RowConnection
    ) throws {
        let run = try store.namesByNumbers.start()
        try run.bind(range.lowerBound, at: 1)
        try run.bind(range.upperBound, at: 2)
        while try run.step() {
            do throws(RowFailure) {
                guard let header = try scan.header(run) else {
                    try scan.checkStranger(run)
                    continue
                }
                accounts.append(try scan.account(header, run))
                if scan.state.older != nil { numbers.append(header.number) }
            } catch {
                guard error.isDamage else { throw error }
                damage = KeychainFailure(translating: error, during: "open an item")
            }
        }
    }
}
