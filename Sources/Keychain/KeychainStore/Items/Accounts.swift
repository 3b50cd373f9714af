// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainDatabase
package import ValetKeychainModel
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
        let found = try readRows(Self.listing) { (snapshot) throws(KeychainFailure) in
            var list = AccountList()
            for group in groups {
                try translating(
                    list.add(service, group, snapshot.state, snapshot.store),
                    during: Self.listing)
            }
            return FoundItems(list.accounts, damage: list.damage)
        }
        return found ?? FoundItems()
    }
}

/// The accounts that a search has found so far.
private struct AccountList {
    private(set) var accounts: [AttributeValue] = []
    private(set) var damage: KeychainFailure?
    /// The row numbers of the accounts. They give the order if a service is in several places, as
    /// with view hints.
    private var numbers: [Int64] = []

    /// Adds the accounts of one group, in the order of adding.
    mutating func add(
        _ service: PasswordService, _ group: AccessGroup, _ state: RowKeys,
        _ store: RowConnection
    ) throws(SystemError) {
        var lists: [AccountList] = []
        let scan = AccountScan(service, group, state)
        for place in try scan.places(store) {
            let reading = PlaceReading(scan, place)
            for range in try scan.ranges(place, store) { try reading.read(range, store) }
            var list = AccountList()
            try reading.finish { (number, account) throws(SystemError) in
                try list.add(number, account)
            }
            lists.append(list)
        }
        damage = damage ?? lists.compactMap(\.damage).first
        guard lists.count > 1 else {
            let new = lists.first?.accounts ?? []
            // Not copied if they are the first.
            accounts = accounts.isEmpty ? new : accounts + new
            return
        }
        let all = zip(lists.flatMap(\.numbers), lists.flatMap(\.accounts))
        accounts += all.sorted { $0.0 < $1.0 }.map(\.1)
    }

    private mutating func add(
        _ number: Int64, _ account: Result<AttributeValue, SystemError>
    ) throws(SystemError) {
        do {
            accounts.append(try account.get())
            numbers.append(number)
        } catch {
            guard error.isDamage else { throw error }
            damage = damage ?? KeychainFailure(error, during: "open an item")
        }
    }
}

/// Reads the rows of one place while a second thread opens their names, which takes longer.
private final class PlaceReading {
    private typealias Opened = (number: Int64, account: Result<AttributeValue, SystemError>)

    private let scan: AccountScan
    private let place: ScannedPlace
    private let opening: ParallelMap<SealedNames, [Opened]>
    private var piece = SealedNames(roomFor: pieceCount)
    private var failures: [Opened] = []

    /// Opening the names of this many rows takes ten times as long as starting a thread.
    private static let pieceCount = 128

    init(_ scan: AccountScan, _ place: ScannedPlace) {
        self.scan = scan
        self.place = place
        opening = ParallelMap { names in
            names.headers.indices.map { index in
                let account = Result { () throws(SystemError) in
                    try scan.account(index, in: names)
                }
                return (names.headers[index].number, account)
            }
        }
    }

    /// Reads the rows whose numbers are in `range`.
    func read(_ range: ClosedRange<Int64>, _ store: RowConnection) throws(SystemError) {
        let run = try store.namesByNumbers.start()
        try run.bind(range.lowerBound, at: 1)
        try run.bind(range.upperBound, at: 2)
        while try run.step() {
            do {
                guard let header = try scan.header(run, place) else {
                    try scan.checkStranger(run, place)
                    continue
                }
                piece.append(header, run)
            } catch {
                failures.append((0, .failure(error)))
            }
            if piece.headers.count == Self.pieceCount {
                opening.add(piece)
                piece = SealedNames(roomFor: Self.pieceCount)
            }
        }
    }

    /// Passes to `body` the failure of each row that could not be read. Then passes the account of
    /// each other row, or why it does not open, in the order of reading.
    func finish(_ body: (Int64, Result<AttributeValue, SystemError>) throws(SystemError) -> Void)
        throws(SystemError)
    {
        opening.add(piece)
        for piece in [failures] + opening.finish() {
            for opened in piece { try body(opened.number, opened.account) }
        }
    }
}
