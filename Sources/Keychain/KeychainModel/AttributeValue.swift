// SPDX-License-Identifier: Apache-2.0

/// The value of an attribute as it is stored: with the type that the caller used.
///
/// Equality also compares types; ``Attribute/matches(_:_:)`` compares as a search does.
package enum AttributeValue: Hashable, Sendable {
    case text(String)
    case bytes([UInt8])
    case number(Int64)
    /// Seconds since 2001-01-01 00:00 UTC, as CFAbsoluteTime counts.
    case date(Double)
    case accessControl([UInt8])

    /// Compares texts byte by byte: two that are equal in Swift may name different items.
    package static func == (left: AttributeValue, right: AttributeValue) -> Bool {
        switch (left, right) {
        case (.text(let left), .text(let right)): left.hasSameBytes(as: right)
        case (.bytes(let left), .bytes(let right)): left == right
        case (.accessControl(let left), .accessControl(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.date(let left), .date(let right)): left == right
        case (.text, _), (.bytes, _), (.accessControl, _), (.number, _), (.date, _): false
        }
    }

    /// The text; nil for values of other types.
    package var text: String? { if case .text(let text) = self { text } else { nil } }
}

package enum AttributeInput: Hashable, Sendable {
    case text(String)
    case bytes([UInt8])
    case number(Int64)
    case boolean(Bool)
    /// Seconds since 2001-01-01 00:00 UTC, as CFAbsoluteTime counts.
    case date(Double)
    case uuid(String)
    case accessControl([UInt8])
    /// Null, a fraction, or a type that no attribute accepts.
    case unsupported
}

extension String {
    /// The text that has these UTF-8 bytes; nil for bytes that are not UTF-8.
    @inlinable
    package init?(utf8 bytes: some Collection<UInt8>) {
        // Most texts are ASCII, and checking other ones takes the standard library long.
        if bytes.allSatisfy({ $0 < 0x80 }) {
            self.init(decoding: bytes, as: UTF8.self)
            return
        }
        if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, *) {
            self.init(validating: bytes, as: UTF8.self)
        } else {
            self.init(decoding: bytes, as: UTF8.self)
            // Bytes that are not UTF-8 have been replaced.
            guard utf8.elementsEqual(bytes) else { return nil }
        }
    }
}

/// A group of attributes that convert and compare in the same way (spec/secitem.md §2.1).
package enum AttributeFamily: Hashable, Sendable {
    case blob, number, string, date, accessControl

    /// Converts a caller's value into the stored one; nil for a value of a type that the family
    /// does not accept (errSecParam).
    package func value(from input: AttributeInput) -> AttributeValue? {
        switch self {
        case .blob: blob(from: input)
        case .number: number(from: input)
        case .string: string(from: input)
        case .date: if case .date(let seconds) = input { .date(seconds) } else { nil }
        case .accessControl:
            if case .accessControl(let bytes) = input { .accessControl(bytes) } else { nil }
        }
    }

    private func blob(from input: AttributeInput) -> AttributeValue? {
        switch input {
        case .text(let text): .text(text)
        case .bytes(let bytes): .bytes(bytes)
        case .number(let number): .number(number)
        case .boolean, .date, .uuid, .accessControl, .unsupported: nil
        }
    }

    private func number(from input: AttributeInput) -> AttributeValue? {
        switch input {
        case .number(let number): .number(number)
        case .boolean(let flag): .number(flag ? 1 : 0)
        case .text(let text):
            // Text becomes a number only if the number prints as that text: "007" stays text.
            if let number = Int32(text), String(number) == text {
                .number(Int64(number))
            } else {
                .text(text)
            }
        case .bytes, .date, .uuid, .accessControl, .unsupported: nil
        }
    }

    private func string(from input: AttributeInput) -> AttributeValue? {
        switch input {
        case .text(let text), .uuid(let text): .text(text)
        case .bytes(let bytes): String(utf8: bytes).map(AttributeValue.text)
        case .number, .boolean, .date, .accessControl, .unsupported: nil
        }
    }
}

/// The form in which attribute values are compared and hashed.
package struct SearchKey: Hashable, Sendable {
    /// The kinds of keys; keys of different kinds never match.
    package enum Kind: UInt8, Sendable {
        case blob = 0
        case number = 1
        case text = 2
        case date = 3
    }

    package let kind: Kind
    /// Two keys of one kind match if these are equal.
    package let bytes: [UInt8]
}

extension Attribute {
    /// The normalised form of `value` for this attribute; nil for values that are never searched.
    ///
    /// Text and data compare by bytes. A number compares as a number in a number attribute, else by
    /// its native bytes (spec/secitem.md §2.1).
    package func searchKey(for value: AttributeValue) -> SearchKey? {
        switch (family, value) {
        case (.accessControl, _), (_, .accessControl): nil
        case (.number, .number(let number)): SearchKey(kind: .number, bytes: bigEndian(number))
        case (.number, .text(let text)), (.string, .text(let text)):
            SearchKey(kind: .text, bytes: Array(text.utf8))
        case (_, .date(let seconds)):
            SearchKey(kind: .date, bytes: bigEndian(Int64(bitPattern: seconds.bitPattern)))
        case (_, .text(let text)): SearchKey(kind: .blob, bytes: Array(text.utf8))
        case (_, .bytes(let bytes)): SearchKey(kind: .blob, bytes: bytes)
        case (_, .number(let number)): SearchKey(kind: .blob, bytes: nativeBytes(number))
        }
    }

    /// Whether a search for `wanted` finds an item that has `stored`.
    package func matches(_ wanted: AttributeValue, _ stored: AttributeValue) -> Bool {
        guard let wanted = searchKey(for: wanted) else { return false }
        return wanted == searchKey(for: stored)
    }

    private func bigEndian(_ number: Int64) -> [UInt8] {
        let bits = UInt64(bitPattern: number)
        return (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * UInt64($0))) }
    }

    /// Four bytes, least significant first; eight for numbers that do not fit.
    private func nativeBytes(_ number: Int64) -> [UInt8] {
        let byteCount = Int32(exactly: number) == nil ? 8 : 4
        let bits = UInt64(bitPattern: number)
        return (0..<byteCount).map { UInt8(truncatingIfNeeded: bits >> (8 * UInt64($0))) }
    }
}
