// SPDX-License-Identifier: Apache-2.0

/// A typed search for items (spec/secitem.md §3, §4.1, §5.2).
package struct ItemQuery: Hashable, Sendable {
    /// Which of the local and the synchronized items are searched.
    package enum Synchronizable: Hashable, Sendable {
        case localOnly, synchronizedOnly, any
    }

    package var itemClass: ItemClass
    /// Equality filters, without access group, synchronizable flag, protection class and access
    /// control: those have properties of their own or do not filter.
    package var attributes: ItemAttributes
    /// The one group to search; nil for every group of the caller.
    package var accessGroup: AccessGroup?
    package var synchronizable: Synchronizable
    /// Keeps items of this class; nil for all classes.
    package var protectionClass: ProtectionClass?
    /// Keeps the item with this reference; nil for all items.
    package var reference: PersistentReference?
    /// Keeps internet passwords whose server is this host or a subdomain of it.
    package var hostOrSubdomainOfHost: String?
    /// How many items at most; nil for all.
    package var limit: Int?

    /// A search for all local items of a class in every group of the caller.
    package init(
        _ itemClass: ItemClass, attributes: ItemAttributes = [:],
        accessGroup: AccessGroup? = nil, synchronizable: Synchronizable = .localOnly
    ) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.accessGroup = accessGroup
        self.synchronizable = synchronizable
    }

    /// A search for the item with this reference, local or synchronized.
    package init(_ reference: PersistentReference) {
        self.init(reference.itemClass, synchronizable: .any)
        self.reference = reference
    }
}

package struct NewItem: Hashable, Sendable {
    package var itemClass: ItemClass
    /// All attributes but access group, synchronizable flag and protection class; dates that are
    /// given are replaced by the time of adding.
    package var attributes: ItemAttributes
    /// nil for the caller's default group.
    package var accessGroup: AccessGroup?
    package var isSynchronizable: Bool
    package var protectionClass: ProtectionClass
    /// What a person has to do before the item is read; nil for nothing. The item takes its class.
    package var accessControl: AccessControl? {
        didSet { if let accessControl { protectionClass = accessControl.protectionClass } }
    }

    /// An item of `itemClass`, by default local and `whenUnlocked` (spec/secitem.md §2.4).
    package init(
        _ itemClass: ItemClass, attributes: ItemAttributes,
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

/// The changes of an update; everything else of an item stays (spec/secitem.md §6).
package struct ItemChanges: Hashable, Sendable {
    /// New values; other attributes stay.
    package var attributes: ItemAttributes
    /// The group to move the item to; nil to leave it.
    package var accessGroup: AccessGroup?
    /// Makes the item synchronized or local; nil to leave it.
    package var isSynchronizable: Bool?
    /// The new protection class of an item, which then has no access control; nil to leave both.
    package var protectionClass: ProtectionClass?
    /// The access control that the item gets, and its class; nil to leave both.
    package var accessControl: AccessControl?

    package init(
        attributes: ItemAttributes = [:], accessGroup: AccessGroup? = nil,
        isSynchronizable: Bool? = nil, protectionClass: ProtectionClass? = nil
    ) {
        self.attributes = attributes
        self.accessGroup = accessGroup
        self.isSynchronizable = isSynchronizable
        self.protectionClass = protectionClass
    }
}
