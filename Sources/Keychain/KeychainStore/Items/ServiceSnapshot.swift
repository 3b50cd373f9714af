// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// What became of the items of a service between two looks.
package enum AccountChange: Hashable, Sendable {
    /// An item was added, or written over.
    case stored(AttributeValue)
    /// The item does not exist any more.
    case removed(AttributeValue)
    /// An item does not exist any more, and its account could never be read.
    case removedUnknown
}

/// Which items a service has at one moment, and in which state, without their values.
package struct ServiceSnapshot: Sendable {
    fileprivate struct Item: Sendable {
        var salt: Int64
        /// Rises with every write. A key change leaves it as it is.
        var logicalTime: Int64
        /// nil while it could not be opened.
        var account: AttributeValue?
        /// Whether this write was reported to the watcher.
        var isTold: Bool
    }

    /// By the number of the row. After the item's deletion another item may get the number.
    fileprivate var items: [Int64: Item] = [:]

    fileprivate init() {}

    /// The changes to report to a watcher that has seen `self` and now sees `next`.
    fileprivate mutating func advance(to next: [Int64: Item]) -> [AccountChange] {
        let stored = next.filter { number, item in
            item.isTold && items[number]?.isSameWrite(as: item) != true
        }
        let present = Set(next.values.compactMap(\.account))
        let removed = items.compactMap { number, item -> AccountChange? in
            guard let account = item.account else {
                return item.isTold && next[number] == nil ? .removedUnknown : nil
            }
            // The number may belong to another item now, and an item may have been renamed.
            return present.contains(account) ? nil : .removed(account)
        }
        items = next
        return removed + stored.values.compactMap { $0.account.map(AccountChange.stored) }
    }
}

extension ServiceSnapshot.Item {
    /// Whether both come from the same write, and that write was reported.
    fileprivate func isSameWrite(as other: Self) -> Bool {
        isTold && salt == other.salt && logicalTime == other.logicalTime
    }
}

extension ItemStore {
    private static let watching = "watch a service"

    /// Which items `service` has now.
    ///
    /// - Throws: ``KeychainFailure``: `locked` before the first unlock, `missingEntitlement`.
    package func snapshot(
        of service: PasswordService, for caller: Caller
    ) throws(KeychainFailure) -> ServiceSnapshot {
        var snapshot = ServiceSnapshot()
        var items = try look(at: service, after: snapshot, caller)
        // Items of the first look are not changes.
        for number in items.keys { items[number]?.isTold = true }
        _ = snapshot.advance(to: items)
        return snapshot
    }

    /// Looks again, and reports the changes since then. Opens the names only of items that were
    /// written. A locked item is reported when it can be read.
    ///
    /// - Throws: As ``snapshot(of:for:)``; `snapshot` is then unchanged.
    package func changes(
        since snapshot: inout ServiceSnapshot, of service: PasswordService, for caller: Caller
    ) throws(KeychainFailure) -> [AccountChange] {
        let items = try look(at: service, after: snapshot, caller)
        return snapshot.advance(to: items)
    }

    private func look(
        at service: PasswordService, after snapshot: ServiceSnapshot, _ caller: Caller
    ) throws(KeychainFailure) -> [Int64: ServiceSnapshot.Item] {
        let groups = try caller.groups(searching: service.accessGroup, during: Self.watching)
        let items = try readRows(Self.watching) { (moment) throws(KeychainFailure) in
            var items: [Int64: ServiceSnapshot.Item] = [:]
            for group in groups {
                let scan = AccountScan(service, group, moment.state.withoutUse)
                try translating(
                    scan.collect(moment.store, after: snapshot, into: &items),
                    during: Self.watching)
            }
            return items
        }
        return items ?? [:]
    }
}

extension AccountScan {
    fileprivate func collect(
        _ store: RowConnection, after snapshot: ServiceSnapshot,
        into items: inout [Int64: ServiceSnapshot.Item]
    ) throws(SystemError) {
        for place in try places(store) {
            try collect(place, store, after: snapshot, into: &items)
        }
    }

    private func collect(
        _ place: ScannedPlace, _ store: RowConnection, after snapshot: ServiceSnapshot,
        into items: inout [Int64: ServiceSnapshot.Item]
    ) throws(SystemError) {
        let run = try start(place, store)
        while try run.step() {
            let number = run.int64(Schema.Column.number)
            let old = snapshot.items[number]
            do throws(SystemError) {
                items[number] = try item(run, place, after: old)
            } catch {
                guard error.isDamage else { throw error }
                // Damage is not a change. Reading the item, or all keys, reports it.
                items[number] = old
            }
        }
    }

    /// The item in the row that `run` is at; nil if it is not an item of the service.
    private func item(
        _ run: borrowing Statement.Run, _ place: ScannedPlace, after old: ServiceSnapshot.Item?
    ) throws(SystemError) -> ServiceSnapshot.Item? {
        guard let header = try header(run, place) else {
            if old != nil { try checkStranger(run, place) }
            return nil
        }
        let known = old.flatMap { $0.salt == header.salt ? $0 : nil }
        let time = run.int64(Schema.Column.logicalTime)
        var item = ServiceSnapshot.Item(
            salt: header.salt, logicalTime: time, account: known?.account, isTold: true)
        let isKnown = known?.isSameWrite(as: item) == true
        guard !isKnown || known?.account == nil else { return item }
        do {
            item.account = try account(header, run)
        } catch {
            guard old == nil || !error.isDamage else { throw error }
            item.isTold = isKnown
        }
        return item
    }
}
