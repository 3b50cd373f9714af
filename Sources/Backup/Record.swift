// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory

/// What the content of a backup is made of: docs/FORMAT.md §11.3.
enum RecordKind: UInt8 {
    case item = 1
    case trailer = 2
}

/// The bits of an item's flags.
struct RecordFlags: OptionSet {
    let rawValue: UInt8

    static let synchronizable = RecordFlags(rawValue: 1)
    static let hasValue = RecordFlags(rawValue: 2)
    static let all: RecordFlags = [.synchronizable, .hasValue]
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
