// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import Sealing

/// The attributes of an item as a backup has them: docs/FORMAT.md §11.3, in the form of §5.3.
enum AttributeList {
    private enum ValueType: UInt8 {
        case text = 1
        case bytes = 2
        case number = 3
        case date = 4
        case accessControl = 5
    }

    /// tag u8 ‖ type u8 ‖ length u32 ‖ bytes, for each attribute in the order of the tags.
    static func encoded(
        _ attributes: [Attribute: AttributeValue], _ accessGroup: AccessGroup
    ) -> [UInt8] {
        var all = attributes
        all[.accessGroup] = .text(accessGroup.rawValue)
        var bytes: [UInt8] = []
        for (attribute, value) in all.sorted(by: { $0.key.tag < $1.key.tag }) {
            let (type, body) = encoded(value)
            bytes.append(attribute.tag)
            bytes.append(type.rawValue)
            bytes.append(bigEndian: UInt32(body.count))
            bytes += body
        }
        return bytes
    }

    /// How many bytes the list has; counted without making it, since it may be of any size.
    static func byteCount(
        _ attributes: [Attribute: AttributeValue], _ accessGroup: AccessGroup
    ) -> Int {
        attributes.values.reduce(6 + accessGroup.rawValue.utf8.count) { sum, value in
            switch value {
            case .text(let text): sum + 6 + text.utf8.count
            case .bytes(let bytes), .accessControl(let bytes): sum + 6 + bytes.count
            case .number, .date: sum + 6 + 8
            }
        }
    }

    /// Parses a list.
    ///
    /// - Throws: `malformed` for anything that ``encoded(_:_:)`` does not give.
    static func parse<E: Error>(
        _ bytes: [UInt8], malformed: E
    ) throws(E) -> (attributes: [Attribute: AttributeValue], accessGroup: AccessGroup) {
        var reader = ByteReader(bytes, malformed: malformed)
        var attributes: [Attribute: AttributeValue] = [:]
        var last: UInt8 = 0
        while !reader.isAtEnd {
            let tag: UInt8 = try reader.integer()
            guard tag > last, let attribute = Attribute(tag: tag) else { throw malformed }
            last = tag
            attributes[attribute] = try value(from: &reader)
        }
        guard case .text(let name) = attributes.removeValue(forKey: .accessGroup) else {
            throw malformed
        }
        return (attributes, AccessGroup(name))
    }

    private static func encoded(_ value: AttributeValue) -> (ValueType, [UInt8]) {
        var number: [UInt8] = []
        switch value {
        case .text(let text): return (.text, Array(text.utf8))
        case .bytes(let bytes): return (.bytes, bytes)
        case .accessControl(let bytes): return (.accessControl, bytes)
        case .number(let value):
            number.append(bigEndian: value)
            return (.number, number)
        case .date(let seconds):
            number.append(bigEndian: seconds.bitPattern)
            return (.date, number)
        }
    }

    /// type u8 ‖ length u32 ‖ bytes.
    private static func value<E: Error>(
        from reader: inout ByteReader<E>
    ) throws(E) -> AttributeValue {
        let type = ValueType(rawValue: try reader.integer())
        let byteCount = Int(try reader.integer(UInt32.self))
        switch type {
        case .text:
            guard let text = String(validating: try reader.bytes(byteCount), as: UTF8.self) else {
                throw reader.malformed
            }
            return .text(text)
        case .bytes: return .bytes(try reader.bytes(byteCount))
        case .accessControl: return .accessControl(try reader.bytes(byteCount))
        case .number where byteCount == 8: return .number(try reader.integer())
        case .date where byteCount == 8: return .date(Double(bitPattern: try reader.integer()))
        case .number, .date, nil: throw reader.malformed
        }
    }
}
