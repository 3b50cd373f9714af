// SPDX-License-Identifier: Apache-2.0

/// Attributes as they are sealed into rows and written to backups: docs/FORMAT.md §5.3.
package struct AttributeList: Hashable, Sendable {
    /// A value with its tag, which need not be the tag of an attribute.
    package struct Entry: Hashable, Sendable {
        package let tag: UInt8
        package let value: AttributeValue
    }

    /// The entries, by strictly rising tags.
    package private(set) var entries: [Entry] = []

    package init(reservingCapacity count: Int = 0) {
        entries.reserveCapacity(count)
    }

    package subscript(tag: UInt8) -> AttributeValue? {
        get { entries.first { $0.tag == tag }?.value }
        set {
            if let newValue {
                set(newValue, for: tag)
            } else {
                entries.removeAll { $0.tag == tag }
            }
        }
    }

    /// Sets `value` for `tag`, in order, replacing an earlier value.
    package mutating func set(_ value: AttributeValue, for tag: UInt8) {
        // A list has about a dozen entries: a linear search costs less than a table.
        guard let last = entries.last, last.tag >= tag else {
            return entries.append(Entry(tag: tag, value: value))
        }
        let index = entries.firstIndex { $0.tag >= tag } ?? entries.endIndex
        if index < entries.endIndex, entries[index].tag == tag { entries.remove(at: index) }
        entries.insert(Entry(tag: tag, value: value), at: index)
    }

    package var encodedByteCount: Int {
        entries.reduce(0) { $0 + Self.headByteCount + $1.value.encodedByteCount }
    }

    /// tag u8 ‖ type u8 ‖ length u32 ‖ bytes, for each entry.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(encodedByteCount)
        for entry in entries {
            bytes.append(entry.tag)
            bytes.append(entry.value.type.rawValue)
            bytes.appendBigEndian(UInt64(entry.value.encodedByteCount), byteCount: 4)
            switch entry.value {
            case .text(let text): bytes += text.utf8
            case .bytes(let data), .accessControl(let data): bytes += data
            case .number(let number):
                bytes.appendBigEndian(UInt64(bitPattern: number), byteCount: 8)
            case .date(let seconds): bytes.appendBigEndian(seconds.bitPattern, byteCount: 8)
            }
        }
        return bytes
    }

    /// Parses ``encoded``; nil for every other byte sequence.
    package init?(encoded bytes: ArraySlice<UInt8>) {
        var position = bytes.startIndex
        var last: UInt8 = 0
        entries.reserveCapacity(Self.usualCount)
        while position < bytes.endIndex {
            guard let part = Part(of: bytes, at: position), part.tag > last,
                let value = AttributeValue(part.type, encoded: bytes[part.body])
            else { return nil }
            entries.append(Entry(tag: part.tag, value: value))
            (position, last) = (part.body.upperBound, part.tag)
        }
    }

    /// The value of one attribute in an encoded list that has been authenticated; nil if the list
    /// lacks it, or is malformed before it. Later entries are not examined.
    package static func value(
        of attribute: Attribute, in bytes: ArraySlice<UInt8>
    ) -> AttributeValue? {
        var position = bytes.startIndex
        while let part = Part(of: bytes, at: position), part.tag <= attribute.tag {
            if part.tag == attribute.tag {
                return AttributeValue(part.type, encoded: bytes[part.body])
            }
            position = part.body.upperBound
        }
        return nil
    }

    private static let headByteCount = 6
    /// About how many entries an item has.
    private static let usualCount = 12

    private struct Part {
        let tag: UInt8
        let type: AttributeValue.EncodedType
        let body: Range<Int>

        /// Nil for too few bytes, or an unknown type.
        init?(of bytes: ArraySlice<UInt8>, at position: Int) {
            let start = position + headByteCount
            guard start <= bytes.endIndex,
                let type = AttributeValue.EncodedType(rawValue: bytes[position + 1])
            else { return nil }
            let byteCount = Int(UInt64(bigEndian: bytes[(position + 2)..<start]))
            guard byteCount <= bytes.endIndex - start else { return nil }
            tag = bytes[position]
            self.type = type
            body = start..<(start + byteCount)
        }
    }
}

extension AttributeValue {
    fileprivate enum EncodedType: UInt8 {
        case text = 1
        case bytes = 2
        case number = 3
        case date = 4
        case accessControl = 5
    }

    fileprivate var type: EncodedType {
        switch self {
        case .text: .text
        case .bytes: .bytes
        case .number: .number
        case .date: .date
        case .accessControl: .accessControl
        }
    }

    fileprivate var encodedByteCount: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .bytes(let data), .accessControl(let data): data.count
        case .number, .date: 8
        }
    }

    /// Nil for text that is not UTF-8, and for numbers and dates that do not have 8 bytes.
    fileprivate init?(_ type: EncodedType, encoded bytes: ArraySlice<UInt8>) {
        switch type {
        case .text:
            guard let text = String(utf8: bytes) else { return nil }
            self = .text(text)
        case .bytes: self = .bytes(Array(bytes))
        case .accessControl: self = .accessControl(Array(bytes))
        case .number where bytes.count == 8:
            self = .number(Int64(bitPattern: UInt64(bigEndian: bytes)))
        case .date where bytes.count == 8:
            self = .date(Double(bitPattern: UInt64(bigEndian: bytes)))
        case .number, .date: return nil
        }
    }
}

extension UInt64 {
    /// The number in at most 8 bytes, most significant first.
    fileprivate init(bigEndian bytes: ArraySlice<UInt8>) {
        self = 0
        for byte in bytes { self = self << 8 | UInt64(byte) }
    }
}

extension [UInt8] {
    /// Appends the low `byteCount` bytes of `number`, most significant first.
    fileprivate mutating func appendBigEndian(_ number: UInt64, byteCount: Int) {
        for index in 1...byteCount {
            append(UInt8(truncatingIfNeeded: number >> UInt64(8 * (byteCount - index))))
        }
    }
}
