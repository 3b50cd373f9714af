// SPDX-License-Identifier: Apache-2.0

package import ValetDatabase
package import ValetKeychainModel
internal import ValetSealing
package import ValetSystem

/// A walk over the rows of a service's items in one group and one epoch; opens names alone.
package struct AccountScan {
    /// The keys that open names.
    package let state: RowKeys
    private let place: ServicePlace
    private let protectionClass: ProtectionClass
    private let isSynchronizable: Bool

    /// A walk over the items of `service` in `group`, by the hashes of one epoch.
    package init(
        _ service: PasswordService, _ group: AccessGroup, _ state: RowKeys,
        _ hasher: IndexHasher
    ) {
        self.state = state
        place = hasher.place(of: service, in: group)
        protectionClass = service.protectionClass
        isSynchronizable = service.isSynchronizable
    }

    /// Starts a statement whose parameters are the hashes of group and service.
    package func start(_ statement: Statement) throws(SystemError) -> Statement.Run {
        let run = try statement.start()
        try run.bind(place.group, at: 1)
        try run.bind(place.place, at: 2)
        return run
    }

    /// The numbers of the service's rows, in their order. Rows that were added one after the other
    /// lie side by side, and are read as a range without being looked up one by one.
    package func ranges(_ store: RowConnection) throws(SystemError) -> [ClosedRange<Int64>] {
        let run = try start(store.numbersByPlace)
        var numbers: [Int64] = []
        while try run.step() { numbers.append(run.int64(0)) }
        return numbers.sorted().ranges
    }

    /// The header of the row that `run` is at; nil for a row of other items.
    package func header(_ run: borrowing Statement.Run) throws(RowFailure) -> RowHeader? {
        let header = try RowHeader(run)
        guard header.protectionClass == protectionClass,
            header.flags == (isSynchronizable ? .synchronizable : [])
        else { return nil }
        return header
    }

    /// Makes sure that a row without a ``header(_:)`` is not an item of the service: what the row
    /// says of itself counts once its names have opened, or while its key is locked.
    ///
    /// - Throws: ``RowFailure`` if it was changed.
    package func checkStranger(_ run: borrowing Statement.Run) throws(RowFailure) {
        let header = try RowHeader(run)
        do throws(RowFailure) {
            _ = try names(header, run, state.cipher(examining: header))
        } catch {
            guard error == .locked else { throw error }
        }
    }

    /// The account in the row that `run` is at.
    package func account(
        _ header: RowHeader, _ run: borrowing Statement.Run
    ) throws(RowFailure) -> AttributeValue {
        let names = try names(header, run, state.cipher(opening: header))
        return AttributeList.value(of: .account, in: names) ?? .text("")
    }

    private func names(
        _ header: RowHeader, _ run: borrowing Statement.Run, _ cipher: ItemCipher
    ) throws(RowFailure) -> ArraySlice<UInt8> {
        let columns = NameHashes(
            account: try run.fixedBytes(Schema.Column.accountHash), group: place.group,
            place: place.place)
        // The hashes that led here are bound to the names: if they were not the item's own, the
        // names would not open.
        return try cipher.openNames(
            header, columns, hashes: run.blob(Schema.Column.hashes),
            names: run.blob(Schema.Column.names))
    }
}

extension [Int64] {
    /// The ranges that rising numbers fill; a number that comes twice counts once.
    fileprivate var ranges: [ClosedRange<Int64>] {
        var ranges: [ClosedRange<Int64>] = []
        for number in self {
            guard let last = ranges.popLast() else {
                ranges.append(number...number)
                continue
            }
            if number > last.upperBound, number - 1 > last.upperBound {
                ranges += [last, number...number]
            } else {
                ranges.append(last.lowerBound...number)
            }
        }
        return ranges
    }
}
