// SPDX-License-Identifier: Apache-2.0

package import ValetDatabase
package import ValetKeychainModel
internal import ValetSealing
package import ValetSystem

/// A walk over the rows of a service's items in one group; opens only their names.
package struct AccountScan: Sendable {
    /// The keys that open names.
    package let state: RowKeys
    fileprivate let hashes: ServiceHashes
    private let protectionClass: ProtectionClass
    private let isSynchronizable: Bool

    package init(_ service: PasswordService, _ group: AccessGroup, _ state: RowKeys) {
        self.state = state
        hashes = state.hasher.place(of: service, in: group).hashes
        protectionClass = service.protectionClass
        isSynchronizable = service.isSynchronizable
    }

    /// The places of the service's rows, one for each primary key without its account.
    package func places(_ store: RowConnection) throws(SystemError) -> [ScannedPlace] {
        let run = try store.placesOfService.start()
        try run.bind(hashes.group, at: 1)
        try run.bind(hashes.service, at: 2)
        var places: [ScannedPlace] = []
        while try run.step() {
            // The search found the place by this hash.
            guard let place: IndexHash = try? run.fixedBytes(1) else {
                throw SystemError(.corrupt, during: "list a service")
            }
            places.append(ScannedPlace(id: run.int64(0), hash: place))
        }
        return places
    }

    /// The numbers of the rows of a place, in their order. Rows that were added in sequence lie
    /// side by side: they are read as a range, not looked up one by one.
    package func ranges(
        _ place: ScannedPlace, _ store: RowConnection
    ) throws(SystemError) -> [ClosedRange<Int64>] {
        let run = try store.numbersInPlace.start()
        try run.bind(place.id, at: 1)
        var numbers: [Int64] = []
        while try run.step() { numbers.append(run.int64(0)) }
        return numbers.sorted().ranges
    }

    /// Goes through the rows of a place.
    package func start(
        _ place: ScannedPlace, _ store: RowConnection
    ) throws(SystemError) -> Statement.Run {
        let run = try store.namesInPlace.start()
        try run.bind(place.id, at: 1)
        return run
    }

    /// The header of the row that `run` is at; nil if the protection class or the flags of the row
    /// are not those of the service.
    package func header(
        _ run: borrowing Statement.Run, _ place: ScannedPlace
    ) throws(SystemError) -> RowHeader? {
        let header = try RowHeader(run, in: place.hash)
        guard header.protectionClass == protectionClass,
            header.flags == (isSynchronizable ? .synchronizable : [])
        else { return nil }
        return header
    }

    /// Makes sure that a row for which ``header(_:_:)`` is nil is not an item of the service. The
    /// row's columns are trusted if its names open, or if its key is locked.
    ///
    /// - Throws: ``SystemError`` if it was changed.
    package func checkStranger(
        _ run: borrowing Statement.Run, _ place: ScannedPlace
    ) throws(SystemError) {
        let header = try RowHeader(run, in: place.hash)
        do {
            var names = SealedNames()
            names.append(header, run)
            _ = try names.open(0, self, state.cipher(examining: header))
        } catch {
            guard error.code == .lockedRow else { throw error }
        }
    }

    /// The account of the row that `run` is at.
    package func account(
        _ header: RowHeader, _ run: borrowing Statement.Run
    ) throws(SystemError) -> AttributeValue {
        var names = SealedNames()
        names.append(header, run)
        return try account(0, in: names)
    }

    /// The account of the row at `index`.
    package func account(_ index: Int, in names: SealedNames) throws(SystemError) -> AttributeValue
    {
        let cipher = try state.cipher(opening: names.headers[index])
        let list = try names.open(index, self, cipher)
        return AttributeList.value(of: .account, in: list) ?? .text("")
    }
}

/// Copies of the sealed names of some rows, for any thread to open.
///
/// All bytes are in one array. Arrays of each row would be made by one thread and freed by another,
/// and the two would wait for each other at the allocator's lock.
package struct SealedNames: Sendable {
    private struct Row {
        let nonce: Result<RowNonce, SystemError>
        /// Where the row's bytes end: first its names, then its hashes.
        let endOfNames: Int
        let end: Int
    }

    /// The headers of the rows.
    package private(set) var headers: [RowHeader] = []
    private var rows: [Row] = []
    private var bytes: [UInt8] = []

    /// The bytes of a row with short attributes.
    private static let usualByteCount = 192

    /// - Parameter rowCount: How many rows to make room for.
    package init(roomFor rowCount: Int = 1) {
        headers.reserveCapacity(rowCount)
        rows.reserveCapacity(rowCount)
        bytes.reserveCapacity(rowCount * Self.usualByteCount)
    }

    /// Copies the names of the row that `run` is at.
    package mutating func append(_ header: RowHeader, _ run: borrowing Statement.Run) {
        headers.append(header)
        run.append(blob: Schema.Column.names, to: &bytes)
        let endOfNames = bytes.count
        run.append(blob: Schema.Column.hashes, to: &bytes)
        let nonce = Result { () throws(SystemError) -> RowNonce in
            try run.fixedBytes(Schema.Column.nonce)
        }
        rows.append(Row(nonce: nonce, endOfNames: endOfNames, end: bytes.count))
    }

    /// Opens the names of the row at `index`.
    fileprivate func open(
        _ index: Int, _ scan: AccountScan, _ cipher: ItemCipher
    ) throws(SystemError) -> ArraySlice<UInt8> {
        let row = rows[index]
        let names = bytes.span.extracting(
            (index > 0 ? rows[index - 1].end : 0)..<row.endOfNames)
        // The names are bound to the hashes that led here: with hashes of another item they would
        // not open.
        let data = headers[index].namesData(
            cipher.keychainID, group: scan.hashes.group, service: scan.hashes.service,
            bytes.span.extracting(row.endOfNames..<row.end))
        return try cipher.openNames(data, row.nonce.get(), names)
    }
}

/// A place that a service's rows may be in.
package struct ScannedPlace {
    /// Its id; valid for one transaction.
    let id: Int64
    /// Its hash, to which the rows are bound.
    let hash: IndexHash
}

extension [Int64] {
    /// The ranges of consecutive numbers in a sorted list. Repeated numbers count once.
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
