// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import KeychainModel
internal import Sealing

/// A walk over the rows of a service's items in one group and one epoch; opens names alone.
struct AccountScan {
    let state: KeychainState
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

    /// Starts a statement whose parameters are the hashes of group and service.
    func start(_ statement: Statement) throws(DatabaseError) -> Statement.Run {
        let run = try statement.start()
        try run.bind(place.group, at: 1)
        try run.bind(place.place, at: 2)
        return run
    }

    /// The header of the row that `run` is at; nil for a row that is none of the service's items.
    func header(_ run: borrowing Statement.Run) throws(RowFailure) -> RowHeader? {
        let header = try RowHeader(run)
        guard header.protectionClass == protectionClass,
            header.flags == (isSynchronizable ? .synchronizable : [])
        else { return nil }
        return header
    }

    /// The account in the row that `run` is at.
    func account(
        _ header: RowHeader, _ run: borrowing Statement.Run
    ) throws(RowFailure) -> AttributeValue {
        let cipher = try state.cipher(opening: header)
        let columns = NameHashes(
            account: try run.fixedBytes(Schema.Column.accountHash), group: place.group,
            place: place.place)
        // The hashes that led here are bound to the names: if they were not the item's own, the
        // names would not open.
        let names = try cipher.openNames(
            header, columns, hashes: run.blob(Schema.Column.hashes),
            names: run.blob(Schema.Column.names))
        return AttributeList.value(of: .account, in: names) ?? .text("")
    }
}
