// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeybag
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetSealing
internal import ValetSystem

/// A set of rows, given by protection classes and presence pairs. Both are visible in a row
/// without any key. Counts of items and epoch changes use it.
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

    /// The visible columns that tell the kind of a row.
    struct Visible {
        /// The number of the protection class.
        let protection: Int64
        /// The bits of the flags that tell the presence kind.
        let presence: Int64
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
