// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

/// An item in a backup. Only an item that may leave its device can be in a backup. ``BackupWriter``
/// takes such items, and ``BackupItems`` returns them.
package struct BackupItem: Sendable {
    /// The most bytes that a value, and all attributes of one item together, may have: 16 MiB.
    package static let maximalByteCount = 16 << 20

    /// Class, attributes, group, synchronizable flag and protection class.
    package let properties: NewItem
    /// The group, which an item in a backup always has.
    package let accessGroup: AccessGroup
    /// The logical time of the item's last write (docs/FORMAT.md §5.1), or when a former row came
    /// into its table.
    package let logicalTime: Int64
    /// Why this is a former row; nil for an item.
    package let formerReason: FormerReason?
    /// The value, in the form of docs/FORMAT.md §5.7 if the item has fields; nil for an item
    /// without one.
    package let value: SecretValue?
    /// The value's size without fields; nil for an item without a value.
    let valueByteCount: Int?

    /// Checks an item, which may come from a file.
    ///
    /// - Throws: ``KeychainFailure``: `internalFault` for a protection class of this device only,
    ///   for an access control, without a group, or with an attribute that the class lacks or that
    ///   is a property of its own; `inputOutput` above ``maximalByteCount``.
    package init(
        _ properties: NewItem, logicalTime: Int64, value: SecretValue?,
        former reason: FormerReason? = nil
    ) throws(KeychainFailure) {
        guard !properties.protectionClass.isThisDeviceOnly,
            !properties.attributes.contains(where: { Self.isAccessControl($0, $1) })
        else { throw KeychainFailure(.notMigratable, during: .check) }
        guard let accessGroup = properties.accessGroup,
            properties.attributes.keys.allSatisfy({ $0.isInBackup(of: properties.itemClass) })
        else { throw KeychainFailure(.invalidItem, during: .check) }
        guard value.map({ $0.byteCount <= Self.maximalByteCount }) ?? true,
            BackupAttributes(properties.attributes, accessGroup).list.encodedByteCount
                <= Self.maximalByteCount
        else { throw KeychainFailure(.tooLarge, during: .check) }
        var content = ItemContent(
            accessGroup: accessGroup, attributes: properties.attributes, valueByteCount: nil)
        do {
            valueByteCount = try content.noteSize(of: value)
        } catch {
            throw KeychainFailure(.invalidItem, during: .check)
        }
        self.properties = properties
        self.accessGroup = accessGroup
        self.logicalTime = logicalTime
        formerReason = reason
        self.value = value
    }

    /// Whether the attributes of an item fit into a backup.
    static func holds(_ properties: NewItem) -> Bool {
        let group = properties.accessGroup ?? AccessGroup("")
        return BackupAttributes(properties.attributes, group).list.encodedByteCount
            <= maximalByteCount
    }

    /// Whether this is a valet's canary, which backups leave out.
    var isCanary: Bool { ServiceName.isCanary(properties.itemClass, properties.attributes) }

    /// Whether this is an item of the keychain's own, which no count counts.
    var isOfKeychain: Bool { accessGroup.isOfKeychain || isCanary }

    /// The item's primary key alone.
    var name: NewItem {
        let key = properties.itemClass.primaryKeyAttributes
        return NewItem(
            properties.itemClass, attributes: properties.attributes.filter { key.contains($0.key) },
            accessGroup: accessGroup, isSynchronizable: properties.isSynchronizable)
    }

    private static func isAccessControl(_ attribute: Attribute, _ value: AttributeValue) -> Bool {
        if case .accessControl = value { return true }
        return attribute == .accessControl
    }
}

extension Attribute {
    /// Whether backups store this attribute in the list of attributes of an item of `itemClass`.
    fileprivate func isInBackup(of itemClass: ItemClass) -> Bool {
        switch self {
        case .accessGroup, .synchronizable, .accessible, .accessControl: false
        default: exists(in: itemClass)
        }
    }
}

/// The attributes of an item in a backup, including its access group: docs/FORMAT.md §11.3.
struct BackupAttributes {
    let attributes: ItemAttributes
    let accessGroup: AccessGroup

    init(_ attributes: ItemAttributes, _ accessGroup: AccessGroup) {
        self.attributes = attributes
        self.accessGroup = accessGroup
    }

    /// Nil for a list that is malformed, has an unknown tag, or lacks the access group.
    init?(encoded bytes: [UInt8]) {
        guard let list = AttributeList(encoded: bytes[...]) else { return nil }
        var attributes: ItemAttributes = [:]
        for entry in list.entries {
            guard let attribute = Attribute(tag: entry.tag) else { return nil }
            attributes[attribute] = entry.value
        }
        guard case .text(let group)? = attributes[.accessGroup] else { return nil }
        attributes[.accessGroup] = nil
        self.init(attributes, AccessGroup(group))
    }

    var list: AttributeList {
        var list = AttributeList(reservingCapacity: attributes.count + 1)
        for (attribute, value) in attributes { list.set(value, for: attribute.tag) }
        list.set(.text(accessGroup.rawValue), for: Attribute.accessGroup.tag)
        return list
    }
}

/// The records of a backup: docs/FORMAT.md §11.3.
enum RecordKind: UInt8 {
    case item = 1
    case trailer = 2
}

/// The bits of an item's flags.
struct RecordFlags: OptionSet {
    let rawValue: UInt8

    static let synchronizable = RecordFlags(rawValue: 1)
    static let hasValue = RecordFlags(rawValue: 2)
    static let all = RecordFlags(rawValue: 0b1111)

    /// The reason of a former row, in bits 2 and 3; nil for an item.
    var formerReason: FormerReason? {
        get { FormerReason(rawValue: rawValue >> 2) }
        set { self = RecordFlags(rawValue: rawValue & 0b11 | (newValue?.rawValue ?? 0) << 2) }
    }
}

extension BackupItem {
    /// Class, protection class, flags, logical time and the length of the attributes.
    static let fixedByteCount = 1 + 1 + 1 + 8 + 4

    /// The record up to the bytes of the value.
    var recordStart: [UInt8] {
        let attributes = BackupAttributes(properties.attributes, accessGroup).list.encoded
        let valueByteCount = value.map { 4 + $0.byteCount } ?? 0
        var flags: RecordFlags = properties.isSynchronizable ? .synchronizable : []
        if value != nil { flags.insert(.hasValue) }
        flags.formerReason = formerReason
        var bytes = [RecordKind.item.rawValue]
        bytes.append(bigEndian: UInt32(Self.fixedByteCount + attributes.count + valueByteCount))
        bytes.append(properties.itemClass.rawValue)
        bytes.append(properties.protectionClass.rawValue)
        bytes.append(flags.rawValue)
        bytes.append(bigEndian: logicalTime)
        bytes.append(bigEndian: UInt32(attributes.count))
        bytes += attributes
        if let value { bytes.append(bigEndian: UInt32(value.byteCount)) }
        return bytes
    }
}
