// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeys
package import ValetSystem

/// Everything about an item that is sealed, except its value.
package struct ItemContent: Hashable {
    /// The group that the item is in.
    package var accessGroup: AccessGroup
    /// The attributes that were set, the defaults of the primary key, and both dates.
    package var attributes: ItemAttributes
    /// The size of the value in bytes; nil for an item without one.
    package var valueByteCount: Int?

    /// The tag of the value's size in part N.
    static let valueByteCountTag: UInt8 = 64

    /// The content of an item to write.
    package init(
        accessGroup: AccessGroup, attributes: ItemAttributes, valueByteCount: Int?
    ) {
        self.accessGroup = accessGroup
        self.attributes = attributes
        self.valueByteCount = valueByteCount
    }

    /// The plaintext of part N: access group, attributes other than defaults, and the value's size.
    package var list: AttributeList {
        var list = AttributeList(reservingCapacity: attributes.count + 2)
        list.set(.text(accessGroup.rawValue), for: Attribute.accessGroup.tag)
        for (attribute, value) in attributes where value != attribute.defaultValue {
            list.set(value, for: attribute.tag)
        }
        if let valueByteCount {
            list.set(.number(Int64(valueByteCount)), for: Self.valueByteCountTag)
        }
        return list
    }

    /// Parses a ``list``.
    ///
    /// - Throws: ``SystemError``: `damagedContent` if it holds anything else.
    package init(
        _ itemClass: ItemClass, _ list: consuming AttributeList
    ) throws(SystemError) {
        guard case .text(let group)? = list[Attribute.accessGroup.tag] else {
            throw .row(.damagedContent)
        }
        accessGroup = AccessGroup(group)
        list[Attribute.accessGroup.tag] = nil
        valueByteCount = nil
        if let byteCount = list[Self.valueByteCountTag] {
            guard case .number(let number) = byteCount, let size = Int(exactly: number), size >= 0
            else { throw .row(.damagedContent) }
            valueByteCount = size
            list[Self.valueByteCountTag] = nil
        }
        guard let known = ItemAttributes(list, of: itemClass) else { throw .row(.damagedContent) }
        attributes = known
        for attribute in itemClass.primaryKeyAttributes
        where attributes[attribute] == nil && !Attribute.variants.contains(attribute) {
            attributes[attribute] = attribute.defaultValue
        }
    }
}

extension AccessControl {
    /// The key pair to which the value of an item with this access control is sealed; nil if the
    /// item needs no presence. docs/FORMAT.md §5.4.
    package var presencePair: PresencePair? {
        if demand.isNothing { return nil }
        return demand.needsPasscode ? .passcode : .person
    }

    /// The value that an item with this access control has for attribute `accessControl`.
    package var attributeValue: AttributeValue { .accessControl(encoded) }
}

extension ItemContent {
    /// The access control; nil for an item without one.
    ///
    /// - Throws: ``SystemError``: `damagedContent` if the attribute is no valid access control.
    package var accessControl: AccessControl? {
        get throws(SystemError) {
            guard let value = attributes[.accessControl] else { return nil }
            guard case .accessControl(let bytes) = value,
                let accessControl = AccessControl(encoded: bytes)
            else { throw .row(.damagedContent) }
            return accessControl
        }
    }

    /// Checks that a row's columns agree with the access control of its item.
    ///
    /// - Throws: ``SystemError``: `damagedContent`.
    func checkAccessControl(_ header: RowHeader) throws(SystemError) {
        guard let accessControl = try accessControl else {
            guard !header.flags.isGuarded else { throw .row(.damagedContent) }
            return
        }
        guard accessControl.protectionClass == header.protectionClass,
            accessControl.presencePair == header.flags.presence,
            accessControl.takesPassword == header.flags.contains(.password)
        else { throw .row(.damagedContent) }
    }
}
