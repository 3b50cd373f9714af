// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeys
package import ValetSealing
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

/// Fields beside the value: docs/FORMAT.md §5.7.
extension ItemContent {
    /// How many fields the item has; nil for none.
    ///
    /// - Throws: ``SystemError``: `damagedContent` if the attribute is no such number.
    package var fieldCount: Int? {
        get throws(SystemError) {
            guard let attribute = attributes[.fieldCount] else { return nil }
            guard case .number(let number) = attribute,
                1...Int64(EntryFields.maximalCount) ~= number
            else { throw .row(.damagedContent) }
            return Int(number)
        }
    }

    /// Notes the size of a value to write, and the number of its fields.
    package mutating func note(_ value: ItemValue?) {
        valueByteCount = value?.value.byteCount
        let count = value?.fields.list.count ?? 0
        attributes[.fieldCount] = count > 0 ? .number(Int64(count)) : nil
    }

    /// Notes the size of a value that a row of this content is about to seal.
    ///
    /// - Returns: The size without fields; nil for no value.
    /// - Throws: ``SystemError``: `damagedContent` unless it has the fields that the content says.
    @discardableResult
    package mutating func noteSize(of sealed: SecretValue?) throws(SystemError) -> Int? {
        guard let fieldCount = try fieldCount else {
            valueByteCount = sealed?.byteCount
            return valueByteCount
        }
        guard let sealed, let value = ItemValue(sealedForm: sealed, fieldCount: fieldCount) else {
            throw .row(.damagedContent)
        }
        valueByteCount = value.value.byteCount
        return valueByteCount
    }

    /// The value and the fields in what a row has sealed.
    ///
    /// - Throws: ``SystemError``: `damagedContent` if it is no value with as many bytes and fields
    ///   as the content says.
    package func value(sealedAs sealed: SecretValue) throws(SystemError) -> ItemValue {
        let fieldCount = try fieldCount
        let value =
            if let fieldCount {
                ItemValue(sealedForm: sealed, fieldCount: fieldCount)
            } else {
                ItemValue?(ItemValue(sealed))
            }
        guard let value, value.value.byteCount == valueByteCount else {
            throw .row(.damagedContent)
        }
        return value
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

    /// Checks that a row's columns agree with the access control and the fields of its item.
    ///
    /// - Throws: ``SystemError``: `damagedContent`.
    func check(_ header: RowHeader) throws(SystemError) {
        guard try (fieldCount != nil) == header.flags.contains(.fields) else {
            throw .row(.damagedContent)
        }
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
