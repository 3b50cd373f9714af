// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeys
package import ValetSealing
package import ValetSystem

/// When a row's value may be opened, and what sort of row it is.
package struct RowKind: Sendable {
    /// When the value may be read.
    package var protectionClass: ProtectionClass
    /// What sort of row it is.
    package var flags: RowFlags

    package init(protectionClass: ProtectionClass, flags: RowFlags) {
        self.protectionClass = protectionClass
        self.flags = flags
    }
}

/// The name and state of a row, bound to each of its sealed parts: docs/FORMAT.md §5.2.
package struct RowHeader: Hashable, Sendable {
    /// The name of a part in its associated data.
    enum Part: Unicode.Scalar {
        case names = "N"
        case secret = "V"
        /// The inner seal in V, if the item requires the user's presence.
        case presence = "P"
    }

    /// The row's number in table `item`.
    package var number: Int64
    /// A random number that distinguishes the row from earlier rows with its number.
    package var salt: Int64
    var version: Int64
    /// Generic or internet password.
    package var itemClass: ItemClass
    /// When the value may be read.
    package var protectionClass: ProtectionClass
    /// What sort of row it is.
    package var flags: RowFlags
    /// The epoch of the class key.
    package var epoch: Epoch
    /// The hash of the primary key without the account.
    package var placeHash: IndexHash
    package var accountHash: IndexHash

    /// The two columns that a write chooses afresh.
    package var kind: RowKind { RowKind(protectionClass: protectionClass, flags: flags) }

    /// The 16 bytes that persistent references keep.
    var itemID: [UInt8] {
        let bytes = itemIDBytes
        return bytes.indices.map { bytes[$0] }
    }

    /// The persistent reference of the row's item.
    package var reference: PersistentReference {
        PersistentReference(itemClass: itemClass, itemID: itemID)
    }

    private var itemIDBytes: InlineArray<16, UInt8> {
        let (number, salt) = (UInt64(bitPattern: number), UInt64(bitPattern: salt))
        return InlineArray { index in
            let half = index < 8 ? number : salt
            return UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * (index % 8)))
        }
    }

    /// The associated data of `part`, with room for `byteCount` more bytes.
    func associatedData(
        _ part: Part, _ keychainID: KeychainID, andRoomFor byteCount: Int
    ) -> FixedFields {
        var data = FixedFields(byteCount: Self.associatedByteCount + byteCount)
        data.append(DerivationContext.row.rawValue.utf8.span)
        data.append(UInt8(ascii: part.rawValue))
        data.append(keychainID)
        data.append(UInt64(bitPattern: number))
        data.append(UInt64(bitPattern: salt))
        data.append(UInt64(bitPattern: version))
        data.append(epoch.rawValue)
        data.append(itemClass.rawValue)
        data.append(protectionClass.rawValue)
        data.append(flags.rawValue)
        data.append(placeHash)
        data.append(accountHash)
        return data
    }

    private static let associatedByteCount = 98
}

/// The facts about an item that need no key: docs/FORMAT.md §5.
package struct RowFlags: OptionSet, Hashable, Sendable {
    /// The bits, as in the column.
    package let rawValue: UInt32

    /// Other devices may get the item.
    package static let synchronizable = RowFlags(rawValue: 1 << 0)
    /// The row marks a deletion; it holds no item.
    package static let tombstone = RowFlags(rawValue: 1 << 1)
    /// The item is one of the keychain's own or a valet's canary, which are in no count:
    /// docs/FORMAT.md §8.2.
    package static let ofKeychain = RowFlags(rawValue: 1 << 2)

    /// The value is sealed under an application's password: docs/FORMAT.md §5.5.
    package static let password = RowFlags(rawValue: 1 << 10)
    /// The value has fields beside it: docs/FORMAT.md §5.7.
    package static let fields = RowFlags(rawValue: 1 << 11)

    /// A bit of the column that no reader accepts: a repair sets it in a row that does not open.
    package static let damagedColumn: Int64 = 1 << 31

    private static let known: UInt32 = 0b1111_0000_0111
    private static let presenceShift: UInt32 = 8
    private static let presenceMask: UInt32 = 0b11 << presenceShift

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The flags of a column; nil when a bit is set that this version does not know.
    init?(column: Int64) {
        guard let bits = UInt32(exactly: column), bits & ~Self.known == 0,
            (bits & Self.presenceMask) >> Self.presenceShift <= PresencePair.allCases.count
        else { return nil }
        rawValue = bits
        guard !contains(.fields) || !isGuarded else { return nil }
    }

    /// The pair of keys to which the value is sealed; nil for an item that requires no presence.
    package var presence: PresencePair? {
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

    /// Whether the value needs more than the key of its class.
    package var isGuarded: Bool { rawValue & (Self.presenceMask | Self.password.rawValue) != 0 }

    package init(isSynchronizable: Bool, presence: PresencePair?) {
        self = isSynchronizable ? .synchronizable : []
        self.presence = presence
    }

    package init(isSynchronizable: Bool, guardedBy accessControl: AccessControl?) {
        self.init(isSynchronizable: isSynchronizable, presence: nil)
        setGuard(accessControl)
    }

    /// Sets the flags of `accessControl`; nil for an item without one.
    package mutating func setGuard(_ accessControl: AccessControl?) {
        presence = accessControl?.presencePair
        if accessControl?.takesPassword == true {
            insert(.password)
        } else {
            remove(.password)
        }
    }
}

extension Attribute {
    /// Whether a row keeps a hash of this attribute for searches: docs/FORMAT.md §6.4.
    package var isHashed: Bool {
        switch self {
        case .accessGroup, .synchronizable, .accessible, .accessControl, .creationDate,
            .modificationDate, .fieldCount:
            false
        default: true
        }
    }
}

extension ItemClass {
    /// The attribute that, with the account, says what an item is for. A column holds its hash.
    var placeAttribute: Attribute {
        switch self {
        case .genericPassword: .service
        case .internetPassword: .server
        }
    }
}

/// The result of `body`; nil if it opens a damaged row. Throws every other error.
package func unlessDamaged<R>(
    _ body: () throws(SystemError) -> R
) throws(SystemError) -> R? {
    do {
        return try body()
    } catch {
        guard error.isDamage else { throw error }
        return nil
    }
}

/// The result of `body`, which reads; nil if SQLite reports a damaged database or an impossible
/// length.
package func unlessCorrupt<R>(
    _ body: () throws(SystemError) -> R
) throws(SystemError) -> R? {
    do {
        return try body()
    } catch {
        guard [.corrupt, .tooLarge].contains(error.code) else { throw error }
        return nil
    }
}
