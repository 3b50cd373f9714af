// SPDX-License-Identifier: Apache-2.0

/// A typed search for items (spec/secitem.md §3, §4.1, §5.2).
package struct ItemQuery: Hashable, Sendable {
    /// Which of the local and the synchronized items are searched.
    package enum Synchronizable: Hashable, Sendable {
        case localOnly, synchronizedOnly, any
    }

    /// The one class that is searched.
    package var itemClass: ItemClass
    /// Equality filters. Access group, synchronizable flag, protection class and access control
    /// are not among them: they have properties of their own or do not filter.
    package var attributes: [Attribute: AttributeValue]
    /// The one group to search; nil for every group of the caller.
    package var accessGroup: AccessGroup?
    /// Local items, synchronized ones or both.
    package var synchronizable: Synchronizable
    /// Keeps items of this class; nil for all classes.
    package var protectionClass: ProtectionClass?
    /// Keeps the one item that this names; nil for all items.
    package var reference: PersistentReference?
    /// Keeps internet passwords whose server is this host or a parent domain of it.
    package var hostOrSubdomainOfHost: String?
    /// How many items at most; nil for all.
    package var limit: Int?

    /// A search for all local items of a class in every group of the caller.
    package init(
        _ itemClass: ItemClass, attributes: [Attribute: AttributeValue] = [:],
        accessGroup: AccessGroup? = nil, synchronizable: Synchronizable = .localOnly
    ) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.accessGroup = accessGroup
        self.synchronizable = synchronizable
    }

    /// A search for the one item that `reference` names, local or synchronized.
    package init(_ reference: PersistentReference) {
        self.init(reference.itemClass, synchronizable: .any)
        self.reference = reference
    }
}
