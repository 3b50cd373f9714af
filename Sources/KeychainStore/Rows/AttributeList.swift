// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel

/// The attributes in one sealed part of a row: docs/FORMAT.md §5.3.
struct AttributeList: Hashable {
    /// Values by tag.
    var values: [UInt8: AttributeValue] = [:]

    private enum ValueType: UInt8 {
        case text = 1
        case bytes = 2
        case number = 3
        case date = 4
        case accessControl = 5
    }

    init() {}

    /// tag u8 ‖ type u8 ‖ length u32 ‖ bytes, for each value in the order of the tags.
    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        for (tag, value) in values.sorted(by: { $0.key < $1.key }) {
            switch value {
            case .text(let text): Self.append(tag, .text, text.utf8, to: &bytes)
            case .bytes(let data): Self.append(tag, .bytes, data, to: &bytes)
            case .number(let number):
                Self.append(tag, .number, UInt64(bitPattern: number).bigEndianBytes, to: &bytes)
            case .date(let seconds):
                Self.append(tag, .date, seconds.bitPattern.bigEndianBytes, to: &bytes)
            case .accessControl(let data): Self.append(tag, .accessControl, data, to: &bytes)
            }
        }
        return bytes
    }

    private static func append(
        _ tag: UInt8, _ type: ValueType, _ body: some Collection<UInt8>, to bytes: inout [UInt8]
    ) {
        bytes.append(tag)
        bytes.append(type.rawValue)
        bytes += UInt32(body.count).bigEndianBytes
        bytes += body
    }

    /// The value of one attribute in an encoded list that has been authenticated; nil if the list
    /// has none. Stops there: what follows is not looked at.
    static func value(
        _ attribute: Attribute, in bytes: ArraySlice<UInt8>
    ) throws(RowFailure) -> AttributeValue? {
        var rest = bytes
        while let tag = rest.popFirst() {
            guard let type = rest.popFirst().flatMap(ValueType.init),
                let byteCount = rest.popInteger(UInt32.self), byteCount <= rest.count
            else { throw .content }
            if tag == attribute.tag { return try value(type, rest.prefix(Int(byteCount))) }
            guard tag < attribute.tag else { return nil }
            rest = rest.dropFirst(Int(byteCount))
        }
        return nil
    }

    /// Parses an encoded list.
    ///
    /// - Throws: ``RowFailure/content`` for anything that ``encoded`` does not give.
    init(parsing bytes: some RandomAccessCollection<UInt8>) throws(RowFailure) {
        var rest = bytes[...]
        var last: UInt8 = 0
        while let tag = rest.popFirst() {
            guard tag > last, let type = rest.popFirst().flatMap(ValueType.init),
                let byteCount = rest.popInteger(UInt32.self), byteCount <= rest.count
            else { throw .content }
            last = tag
            let body = rest.prefix(Int(byteCount))
            rest = rest.dropFirst(Int(byteCount))
            values[tag] = try Self.value(type, body)
        }
    }

    private static func value(
        _ type: ValueType, _ body: some RandomAccessCollection<UInt8>
    ) throws(RowFailure) -> AttributeValue {
        var rest = body[...]
        let value: AttributeValue? =
            switch type {
            case .text: String(validating: body, as: UTF8.self).map { .text($0) }
            case .bytes: .bytes(Array(body))
            case .accessControl: .accessControl(Array(body))
            case .number:
                rest.popInteger(UInt64.self).map { .number(Int64(bitPattern: $0)) }
            case .date: rest.popInteger(UInt64.self).map { .date(Double(bitPattern: $0)) }
            }
        guard let value else { throw .content }
        if type == .number || type == .date {
            guard rest.isEmpty else { throw .content }
        }
        return value
    }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// The bytes, most significant first.
    var bigEndianBytes: [UInt8] {
        stride(from: bitWidth - 8, through: 0, by: -8).map {
            UInt8(truncatingIfNeeded: self >> $0)
        }
    }
}

extension RandomAccessCollection where Element == UInt8, SubSequence == Self {
    /// Takes a big-endian integer off the front; nil if there are too few bytes.
    mutating func popInteger<T: FixedWidthInteger>(_ type: T.Type) -> T? {
        let byteCount = T.bitWidth / 8
        guard count >= byteCount else { return nil }
        defer { self = dropFirst(byteCount) }
        return prefix(byteCount).reduce(0) { $0 << 8 | T($1) }
    }
}
