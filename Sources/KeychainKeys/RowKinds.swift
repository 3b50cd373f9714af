// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeybag
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetSealing
internal import ValetSystem

/// Rows of some classes, and those that are sealed to some pairs of keys, by what is visible.
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

    /// What is visible of rows of one kind.
    struct Visible {
        /// The number of the protection class.
        let protection: Int64
        /// The bits of the flags that tell the presence kind.
        let presence: Int64
    }

    func contains(_ row: Visible) -> Bool {
        classes.contains(row.protection) || presences.contains(row.presence)
    }

    /// How many rows there are of the kinds that `isCounted` accepts.
    ///
    /// - Parameter selection: Gives protection class, presence bits and number of each kind.
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
