// SPDX-License-Identifier: Apache-2.0

/// The form in which attribute values are compared and hashed.
package struct SearchKey: Hashable, Sendable {
    /// The kinds of keys; keys of different kinds never match.
    package enum Kind: UInt8, Sendable {
        case blob = 0
        case number = 1
        case text = 2
        case date = 3
    }

    /// What the bytes encode.
    package let kind: Kind
    /// What is compared: two keys of one kind match when these are equal.
    package let bytes: [UInt8]
}

extension Attribute {
    /// The normalised form of `value` for this attribute; nil for values that are never searched.
    ///
    /// Text and data compare by bytes, numbers given for text attributes by their four
    /// native bytes, numbers as numbers (spec/secitem.md §2.1).
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

    /// Four bytes, least significant first; eight for numbers that four cannot hold.
    private func nativeBytes(_ number: Int64) -> [UInt8] {
        let byteCount = Int32(exactly: number) == nil ? 8 : 4
        let bits = UInt64(bitPattern: number)
        return (0..<byteCount).map { UInt8(truncatingIfNeeded: bits >> (8 * UInt64($0))) }
    }
}
