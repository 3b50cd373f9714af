// SPDX-License-Identifier: Apache-2.0

package import ValetDatabase
package import ValetKeychainModel
package import ValetKeys
internal import ValetSealing
package import ValetSystem

/// A set of rows, given by protection classes and presence pairs. Both can be read from a row
/// without any key. Counts of items and key changes use it.
package struct RowKinds {
    private let classes: [Int64]
    private let presences: [Int64]

    /// Rows of these classes, and rows sealed to these pairs.
    package init(_ classes: [ProtectionClass], needing pairs: [PresencePair]) {
        self.classes = classes.map { Int64($0.rawValue) }
        presences = pairs.map {
            Int64(RowFlags(isSynchronizable: false, presence: $0).rawValue)
        }
    }

    /// The visible columns that give the kind of a row.
    struct Visible {
        /// The number of the protection class.
        let protection: Int64
        /// The bits of the flags that give the presence kind.
        let presence: Int64
    }

    func contains(_ header: RowHeader) -> Bool {
        contains(
            Visible(
                protection: Int64(header.protectionClass.rawValue),
                presence: Int64(
                    RowFlags(isSynchronizable: false, presence: header.flags.presence).rawValue)))
    }

    func contains(_ row: Visible) -> Bool {
        classes.contains(row.protection) || presences.contains(row.presence)
    }

    /// The number of rows of the kinds that `isCounted` accepts.
    ///
    /// - Parameter selection: A statement that returns a row for each kind: its protection class,
    ///   its presence bits and the number of its rows.
    static func count(
        _ selection: StaticString, on connection: Connection, _ isCounted: (Visible) -> Bool
    ) throws(SystemError) -> Int {
        let kinds = Statement(selection, on: connection)
        var sum = 0
        let run = try kinds.start()
        while try run.step() {
            let row = Visible(protection: run.int64(0), presence: run.int64(1))
            if isCounted(row) { sum += Int(run.int64(2)) }
        }
        return sum
    }
}

/// Rows that a key change destroys, and how many its user knows of.
package struct AgreedLoss {
    private let kinds: RowKinds
    private let loss: ItemLoss

    package init(of kinds: RowKinds, _ loss: ItemLoss) { (self.kinds, self.loss) = (kinds, loss) }

    /// Whether the change would destroy no more than the user knows of.
    func covers(_ connection: Connection) throws(SystemError) -> Bool {
        let now = try ItemLoss(of: [kinds], in: connection)
        return now.itemCount <= loss.itemCount && now.formerCount <= loss.formerCount
    }
}

extension ItemLoss {
    /// The numbers of items and of former values that belong to all of `kinds`. In the column
    /// `flags`, 768 is the mask of the presence kind, and 6 the bits of a tombstone and of the
    /// keychain's own items: ``RowFlags``.
    init(of kinds: [RowKinds], in connection: Connection) throws(SystemError) {
        let isCounted = { (row: RowKinds.Visible) in kinds.allSatisfy { $0.contains(row) } }
        self.init(
            itemCount: try RowKinds.count(
                """
                SELECT protection, flags & 768, count(*) FROM item WHERE flags & 6 = 0
                GROUP BY protection, flags & 768
                """, on: connection, isCounted),
            formerCount: try RowKinds.count(
                """
                SELECT protection, flags & 768, count(*) FROM former WHERE reason <> 4
                GROUP BY protection, flags & 768
                """, on: connection, isCounted))
    }
}

extension KeychainFailure {
    /// The failure of a call that would destroy something else than its user has agreed to.
    package static func changedSinceQuestion(
        _ what: String, during operation: String
    ) -> KeychainFailure {
        KeychainFailure(
            .timedOut, during: operation, message: "\(what); nothing was changed",
            hint: "run the command again, and look at what it says first")
    }
}

/// Counts of rows, which need no key.
package enum RowCount {
    /// The number of a person's items of each presence kind, where kind 0 needs no presence. Bits 8
    /// and 9 of the flags are the kind, bit 1 marks a tombstone, and bit 2 an item of the
    /// keychain's own (docs/FORMAT.md §5). Reads all rows.
    package static func items(in connection: Connection) throws(SystemError) -> [Int64: Int] {
        let statement = Statement(
            """
            SELECT flags >> 8 & 3, count(*) FROM item WHERE flags & 6 = 0 GROUP BY flags >> 8 & 3
            """, on: connection)
        var counts: [Int64: Int] = [:]
        let run = try statement.start()
        while try run.step() { counts[run.int64(0)] = Int(run.int64(1)) }
        return counts
    }

    /// The number of rows of all items, tombstones included.
    package static func rows(in connection: Connection) throws(SystemError) -> Int {
        try count(Statement("SELECT count(*) FROM item", on: connection))
    }

    /// The number of damaged rows that were set aside.
    package static func setAside(in connection: Connection) throws(SystemError) -> Int {
        try count(Statement("SELECT count(*) FROM former WHERE reason = 4", on: connection))
    }

    /// The number of former values, damaged ones included.
    package static func former(in connection: Connection) throws(SystemError) -> Int {
        try count(Statement("SELECT count(*) FROM former", on: connection))
    }

    private static func count(_ statement: Statement) throws(SystemError) -> Int {
        let run = try statement.start()
        return try run.step() ? Int(run.int64(0)) : 0
    }
}
