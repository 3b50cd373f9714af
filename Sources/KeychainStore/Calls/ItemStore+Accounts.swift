// SPDX-License-Identifier: Apache-2.0

internal import Database
package import KeychainModel
internal import Sealing

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
        let found = try reading(Self.listing) { (engine, deadline) throws(KeychainFailure) in
            try engine.read(Self.listing, deadline) { (store, state) throws(KeychainFailure) in
                var found = FoundAccounts()
                for group in groups {
                    try translating(Self.listing) {
                        try found.add(service, group, state, store)
                    }
                }
                return found
            }
        }
        return found ?? FoundAccounts()
    }
}

extension FoundAccounts {
    /// Adds what is in one group, in the order of adding.
    fileprivate mutating func add(
        _ service: PasswordService, _ group: AccessGroup, _ state: KeychainState,
        _ store: StoreConnection
    ) throws {
        guard let older = state.older else {
            try AccountScan(service, group, state, state.hasher).run(store, into: &self)
            return
        }
        var (newer, elder) = (FoundAccounts(), FoundAccounts())
        try AccountScan(service, group, state, state.hasher).run(store, into: &newer)
        try AccountScan(service, group, state, older.hasher).run(store, into: &elder)
        let all = zip(newer.numbers + elder.numbers, newer.accounts + elder.accounts)
        accounts += all.sorted { $0.0 < $1.0 }.map(\.1)
        damage = damage ?? newer.damage ?? elder.damage
    }
}

/// Reads the names of a service's items in one group, one row after the other.
private struct AccountScan {
    private let state: KeychainState
    private let place: ServicePlace
    private let protectionClass: ProtectionClass
    private let isSynchronizable: Bool

    init(
        _ service: PasswordService, _ group: AccessGroup, _ state: KeychainState,
        _ hasher: IndexHasher
    ) {
        self.state = state
        place = hasher.place(of: service, in: group)
        protectionClass = service.protectionClass
        isSynchronizable = service.isSynchronizable
    }

    func run(_ store: StoreConnection, into found: inout FoundAccounts) throws {
        let run = try store.namesByPlace.start()
        try run.bind(place.group, at: 1)
        try run.bind(place.place, at: 2)
        while try run.step() {
            do throws(RowFailure) {
                guard let account = try account(run) else { continue }
                found.accounts.append(account)
                if state.older != nil {
                    found.numbers.append(run.int64(Schema.Column.number))
                }
            } catch {
                guard error.isDamage else { throw error }
                found.damage = KeychainFailure(translating: error, during: "open an item")
            }
        }
    }

    /// The account of the row that `run` is at; nil for a row that is none of the service's items.
    private func account(_ run: borrowing Statement.Run) throws(RowFailure) -> AttributeValue? {
        let header = try RowHeader(run)
        guard header.protectionClass == protectionClass,
            header.flags == (isSynchronizable ? .synchronizable : [])
        else { return nil }
        let cipher = try state.cipher(opening: header)
        let columns = NameHashes(
            account: try run.fixedBytes(Schema.Column.accountHash), group: place.group,
            place: place.place)
        // The hashes that led here are bound to the names: if they were not the item's own, the
        // names would not open.
        let names = try cipher.openNames(
            header, columns, hashes: run.blob(Schema.Column.hashes),
            names: run.blob(Schema.Column.names))
        return try AttributeList.value(.account, in: names) ?? .text("")
    }
}
