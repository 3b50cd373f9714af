// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel

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
    /// - Returns: Nil for anything that ``encoded(_:_:)`` does not give.
    static func parse(
        _ bytes: [UInt8]
    ) -> (attributes: [Attribute: AttributeValue], accessGroup: AccessGroup)? {
        var rest = bytes[...]
        var attributes: [Attribute: AttributeValue] = [:]
        var last: UInt8 = 0
        while let tag = rest.popFirst() {
            guard tag > last, let attribute = Attribute(tag: tag),
                let type = rest.popFirst().flatMap(ValueType.init),
                let byteCount = rest.popNumber(UInt32.self),
                let body = rest.popBytes(Int(byteCount)), let value = value(type, body)
            else { return nil }
            last = tag
            attributes[attribute] = value
        }
        guard case .text(let name) = attributes.removeValue(forKey: .accessGroup) else {
            return nil
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

    private static func value(_ type: ValueType, _ body: ArraySlice<UInt8>) -> AttributeValue? {
        var rest = body
        switch type {
        case .text: return String(validating: body, as: UTF8.self).map { .text($0) }
        case .bytes: return .bytes(Array(body))
        case .accessControl: return .accessControl(Array(body))
        case .number:
            guard body.count == 8 else { return nil }
            return rest.popNumber(Int64.self).map { .number($0) }
        case .date:
            guard body.count == 8 else { return nil }
            return rest.popNumber(UInt64.self).map { .date(Double(bitPattern: $0)) }
        }
    }
}
