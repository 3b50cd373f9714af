// SPDX-License-Identifier: Apache-2.0

/// An item that is about to be added, without its value.
package struct NewItem: Hashable, Sendable {
    package var itemClass: ItemClass
    /// All attributes but access group, synchronizable flag and protection class; dates that are
    /// given are replaced by the time of adding.
    package var attributes: [Attribute: AttributeValue]
    /// nil for the caller's default group.
    package var accessGroup: AccessGroup?
    package var isSynchronizable: Bool
    package var protectionClass: ProtectionClass

    /// An item of `itemClass`, by default local and `whenUnlocked` (keychain-semantics §2.4).
    package init(
        _ itemClass: ItemClass, attributes: [Attribute: AttributeValue],
        accessGroup: AccessGroup? = nil, isSynchronizable: Bool = false,
        protectionClass: ProtectionClass = .whenUnlocked
    ) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.accessGroup = accessGroup
        self.isSynchronizable = isSynchronizable
        self.protectionClass = protectionClass
    }
}

/// What an update sets; everything else of an item stays (keychain-semantics §6).
package struct ItemChanges: Hashable, Sendable {
    package var attributes: [Attribute: AttributeValue]
    package var accessGroup: AccessGroup?
    package var isSynchronizable: Bool?
    package var protectionClass: ProtectionClass?

    /// Changes of nothing but the attributes given.
    package init(
        attributes: [Attribute: AttributeValue] = [:], accessGroup: AccessGroup? = nil,
        isSynchronizable: Bool? = nil, protectionClass: ProtectionClass? = nil
    ) {
        self.attributes = attributes
        self.accessGroup = accessGroup
        self.isSynchronizable = isSynchronizable
        self.protectionClass = protectionClass
    }
}
