// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel

/// What a row says of its item without a key: docs/FORMAT.md §5.
struct RowFlags: OptionSet, Hashable, Sendable {
    let rawValue: UInt32

    static let synchronizable = RowFlags(rawValue: 1 << 0)
    /// The row marks a deletion; it holds no item.
    static let tombstone = RowFlags(rawValue: 1 << 1)

    /// The value is sealed under an application's password: docs/FORMAT.md §5.5.
    static let password = RowFlags(rawValue: 1 << 10)

    private static let known: UInt32 = 0b111_0000_0011
    private static let presenceShift: UInt32 = 8
    private static let presenceMask: UInt32 = 0b11 << presenceShift

    init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The flags of a column; nil when a bit is set that this version does not know.
    init?(column: Int64) {
        guard let bits = UInt32(exactly: column), bits & ~Self.known == 0,
            (bits & Self.presenceMask) >> Self.presenceShift <= PresencePair.allCases.count
        else { return nil }
        rawValue = bits
    }

    /// The pair of keys to which the value is sealed; nil for an item that needs nobody.
    var presence: PresencePair? {
        get {
            switch (rawValue & Self.presenceMask) >> Self.presenceShift {
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
            let others = rawValue & ~Self.presenceMask
            self = RowFlags(rawValue: others | kind << Self.presenceShift)
        }
    }

    /// Whether the value takes more than the key of its class.
    var isGuarded: Bool { rawValue & (Self.presenceMask | Self.password.rawValue) != 0 }

    /// The flags of an item.
    init(isSynchronizable: Bool, presence: PresencePair?) {
        self = isSynchronizable ? .synchronizable : []
        self.presence = presence
    }

    /// The flags of an item with that access control.
    init(isSynchronizable: Bool, guardedBy accessControl: AccessControl?) {
        self.init(isSynchronizable: isSynchronizable, presence: nil)
        setGuard(accessControl)
    }

    /// Says what `accessControl` says of the value; nil for an item without one.
    mutating func setGuard(_ accessControl: AccessControl?) {
        presence = accessControl?.presencePair
        if accessControl?.takesPassword == true {
            insert(.password)
        } else {
            remove(.password)
        }
    }
}
