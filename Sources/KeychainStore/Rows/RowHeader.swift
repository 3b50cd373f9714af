// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing

/// When a row's value may be opened, and what sort of row it is.
struct RowKind: Sendable {
    var protectionClass: ProtectionClass
    var flags: RowFlags
}

/// What names a row and its state, and is bound to each of its sealed parts: docs/FORMAT.md §5.2.
struct RowHeader: Sendable {
    /// One sealed part.
    enum Part: String {
        case names = "A"
        case details = "B"
        case secret = "V"
        /// What is in V where a person is needed.
        case presence = "P"
    }

    var number: Int64
    var salt: Int64
    var version: Int64
    var itemClass: ItemClass
    var protectionClass: ProtectionClass
    var flags: RowFlags
    /// The id of the class key.
    var keyID: KeyID
    var primaryKey: IndexHash

    /// The two columns that a write chooses afresh.
    var kind: RowKind { RowKind(protectionClass: protectionClass, flags: flags) }

    /// The 16 bytes that persistent references keep.
    var itemID: [UInt8] {
        let bytes = itemIDBytes
        return bytes.indices.map { bytes[$0] }
    }

    /// The persistent reference of the row's item.
    var reference: PersistentReference {
        PersistentReference(itemClass: itemClass, itemID: itemID)
    }

    private var itemIDBytes: InlineArray<16, UInt8> {
        let (number, salt) = (UInt64(bitPattern: number), UInt64(bitPattern: salt))
        return InlineArray { index in
            let half = index < 8 ? number : salt
            return UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * (index % 8)))
        }
    }

    /// The associated data of `part`, to which the caller appends what else the part is bound to.
    func associatedData(
        _ part: Part, keychainID: KeychainID, reserving byteCount: Int
    ) -> LengthPrefixed {
        var data = LengthPrefixed(reservingByteCount: 192 + byteCount)
        data.append(DerivationContext.row.rawValue)
        data.append(part.rawValue)
        data.append(keychainID)
        data.append(keyID)
        data.append(itemIDBytes.span)
        data.append(UInt64(bitPattern: version))
        data.append(itemClass.rawValue)
        data.append(protectionClass.rawValue)
        data.append(flags.rawValue)
        data.append(primaryKey)
        return data
    }
}
