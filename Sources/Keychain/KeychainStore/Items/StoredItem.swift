// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetSealing

/// A read item: its attributes and, if requested, its value.
package struct StoredItem: Sendable {
    /// Generic or internet password.
    package let itemClass: ItemClass
    /// The 20-byte name that outlives changes of attributes.
    package let reference: PersistentReference
    package let accessGroup: AccessGroup
    /// Whether other devices may get the item.
    package let isSynchronizable: Bool
    /// When the value may be read.
    package let protectionClass: ProtectionClass
    /// The attributes that were set or defaulted, with their original types, and both dates. Access
    /// group, synchronizable flag and protection class are the properties above. Empty unless
    /// ``ItemParts/attributes`` was asked for.
    package let attributes: ItemAttributes
    /// The value's size in bytes; nil for an item without a value. Known with the attributes.
    package let valueByteCount: Int?
    /// The value; nil for an item without one, or when it was not asked for.
    package let value: SecretValue?
    /// The fields beside the value; empty when the value was not asked for. With the attributes,
    /// `Attribute.fieldCount` says how many there are.
    package private(set) var fields = EntryFields()
}

extension StoredItem {
    /// What is in a row.
    init(_ row: SealedRow, _ content: ItemContent, value: ItemValue?) {
        self.init(
            itemClass: row.header.itemClass, reference: row.header.reference,
            accessGroup: content.accessGroup,
            isSynchronizable: row.header.flags.contains(.synchronizable),
            protectionClass: row.header.protectionClass, attributes: content.attributes,
            valueByteCount: content.valueByteCount, value: value?.value,
            fields: value?.fields ?? EntryFields())
    }
}

/// The parts of an item that a call requests.
package struct ItemParts: OptionSet, Sendable {
    /// One bit for each part.
    package let rawValue: UInt8

    /// The parts whose bits are set.
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// All attributes and the value's size.
    package static let attributes = ItemParts(rawValue: 1)
    /// The value, which is opened separately.
    package static let value = ItemParts(rawValue: 2)
}

extension StoredItem {
    /// Seconds since 2001-01-01 00:00 UTC; nil where attributes were not asked for.
    package var modificationDate: Double? {
        guard case .date(let date)? = attributes[.modificationDate] else { return nil }
        return date
    }

    /// The item as it was read, for an ``ItemTransfer``.
    package var version: ItemVersion {
        ItemVersion(reference, modificationDate: modificationDate)
    }

    /// The access control; nil for an item without one, and where attributes were not asked for.
    package var accessControl: AccessControl? {
        guard case .accessControl(let bytes)? = attributes[.accessControl] else { return nil }
        return AccessControl(encoded: bytes)
    }
}
