// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// The attributes of an item as a backup has them, its access group among them: docs/FORMAT.md
/// §11.3.
struct BackupAttributes {
    let attributes: [Attribute: AttributeValue]
    let accessGroup: AccessGroup

    init(_ attributes: [Attribute: AttributeValue], _ accessGroup: AccessGroup) {
        self.attributes = attributes
        self.accessGroup = accessGroup
    }

    /// Nil for a list that is malformed, names what is no attribute, or lacks the access group.
    init?(encoded bytes: [UInt8]) {
        guard let list = AttributeList(encoded: bytes[...]) else { return nil }
        var attributes: [Attribute: AttributeValue] = [:]
        for entry in list.entries {
            guard let attribute = Attribute(tag: entry.tag) else { return nil }
            attributes[attribute] = entry.value
        }
        guard case .text(let group) = attributes.removeValue(forKey: .accessGroup) else {
            return nil
        }
        self.init(attributes, AccessGroup(group))
    }

    var list: AttributeList {
        var list = AttributeList(reservingCapacity: attributes.count + 1)
        for (attribute, value) in attributes { list.set(value, for: attribute.tag) }
        list.set(.text(accessGroup.rawValue), for: Attribute.accessGroup.tag)
        return list
    }
}
