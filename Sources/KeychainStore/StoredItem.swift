// SPDX-License-Identifier: Apache-2.0

package import KeychainModel
package import SecretMemory

/// An item as it was read: its attributes and, if asked for, its value.
package struct StoredItem: Sendable {
    package let itemClass: ItemClass
    package let reference: PersistentReference
    package let accessGroup: AccessGroup
    package let isSynchronizable: Bool
    package let protectionClass: ProtectionClass
    /// What was set or defaulted, with the types given, and both dates. Access group,
    /// synchronizable flag and protection class are the properties above. Empty unless
    /// ``ItemParts/attributes`` was asked for.
    package let attributes: [Attribute: AttributeValue]
    /// The value's size in bytes; nil for an item without a value. Known with the attributes.
    package let valueByteCount: Int?
    /// The value; nil for an item without one, or when it was not asked for.
    package let value: SecretValue?
}

/// What of an item a call wants to see.
package struct ItemParts: OptionSet, Sendable {
    package let rawValue: UInt8

    /// The parts whose bits are set.
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let attributes = ItemParts(rawValue: 1)
    package static let value = ItemParts(rawValue: 2)
}
