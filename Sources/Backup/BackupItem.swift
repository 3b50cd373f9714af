// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSecretMemory

/// An item that may leave its device.
package struct BackupItem: Sendable {
    /// The most bytes that a value, and all attributes of one item together, may have: 16 MiB.
    package static let maximalByteCount = 16 << 20

    /// Class, attributes, group, synchronizable flag and protection class.
    package let properties: NewItem
    /// The group, which an item in a backup always has.
    package let accessGroup: AccessGroup
    /// The logical time of the item's last write: docs/FORMAT.md §5.1.
    package let logicalTime: Int64
    /// The value; nil for an item without one.
    package let value: SecretValue?

    /// Checks an item, which may come from a file.
    ///
    /// - Throws: ``BackupError/Code/notMigratable`` for a protection class of this device only, or
    ///   an access control; ``BackupError/Code/invalidItem`` without a group, or with an attribute
    ///   that the class does not have or that is a property; ``BackupError/Code/tooLarge`` above
    ///   ``maximalByteCount``.
    package init(
        _ properties: NewItem, logicalTime: Int64, value: SecretValue?
    ) throws(BackupError) {
        guard !properties.protectionClass.isThisDeviceOnly,
            !properties.attributes.contains(where: { Self.isAccessControl($0, $1) })
        else { throw BackupError(.notMigratable, during: .check) }
        guard let accessGroup = properties.accessGroup,
            properties.attributes.keys.allSatisfy({ $0.isInBackup(of: properties.itemClass) })
        else { throw BackupError(.invalidItem, during: .check) }
        guard value.map({ $0.byteCount <= Self.maximalByteCount }) ?? true,
            BackupAttributes(properties.attributes, accessGroup).list.encodedByteCount
                <= Self.maximalByteCount
        else { throw BackupError(.tooLarge, during: .check) }
        self.properties = properties
        self.accessGroup = accessGroup
        self.logicalTime = logicalTime
        self.value = value
    }

    private static func isAccessControl(_ attribute: Attribute, _ value: AttributeValue) -> Bool {
        if case .accessControl = value { return true }
        return attribute == .accessControl
    }
}

extension Attribute {
    /// Whether it is an attribute of its own in a backup, of items of `itemClass`.
    fileprivate func isInBackup(of itemClass: ItemClass) -> Bool {
        switch self {
        case .accessGroup, .synchronizable, .accessible, .accessControl: false
        default: exists(in: itemClass)
        }
    }
}
