// SPDX-License-Identifier: Apache-2.0

internal import Keybag

/// What a row says of its item without a key: docs/FORMAT.md §5.
struct RowFlags: OptionSet, Hashable, Sendable {
    let rawValue: UInt32

    static let synchronizable = RowFlags(rawValue: 1 << 0)
    /// The row marks a deletion; it holds no item.
    static let tombstone = RowFlags(rawValue: 1 << 1)

    private static let known: UInt32 = 0b11_0000_0011
    private static let presenceShift: UInt32 = 8

    init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The flags of a column; nil when a bit is set that this version does not know.
    init?(column: Int64) {
        guard let bits = UInt32(exactly: column), bits & ~Self.known == 0,
            bits >> Self.presenceShift <= PresencePair.allCases.count
        else { return nil }
        rawValue = bits
    }

    /// The pair of keys to which the value is sealed; nil for an item that needs nobody.
    var presence: PresencePair? {
        get {
            switch rawValue >> Self.presenceShift {
            case 1: .passcode
            case 2: .person
            default: nil
            }
        }
        set {
            let kind: UInt32 =
                switch newValue {
                case nil: 0
                case .passcode: 1
                case .person: 2
                }
            let others = rawValue & (1 << Self.presenceShift - 1)
            self = RowFlags(rawValue: others | kind << Self.presenceShift)
        }
    }

    /// The flags of an item.
    init(isSynchronizable: Bool, presence: PresencePair?) {
        self = isSynchronizable ? .synchronizable : []
        self.presence = presence
    }
}
