// SPDX-License-Identifier: Apache-2.0

/// What a row says of its item without a key: docs/FORMAT.md §5.
struct RowFlags: OptionSet, Hashable, Sendable {
    let rawValue: UInt32

    static let synchronizable = RowFlags(rawValue: 1 << 0)
    /// The row marks a deletion; it holds no item.
    static let tombstone = RowFlags(rawValue: 1 << 1)

    private static let known: UInt32 = 0b11

    init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The flags of a column; nil when a bit is set that this version does not know.
    init?(column: Int64) {
        guard let bits = UInt32(exactly: column), bits & ~Self.known == 0 else { return nil }
        rawValue = bits
    }
}
