// SPDX-License-Identifier: Apache-2.0

/// Something that takes a sequence of parts, each as `LP(part)`: its length in 4 bytes, big
/// endian, then its bytes. Two different sequences never give the same bytes.
///
/// Format: keys and states, 1.1.
package protocol PartAppending: ~Copyable {
    /// Appends `LP(part)`.
    mutating func append(_ part: Span<UInt8>)
}

extension PartAppending where Self: ~Copyable {
    /// Appends `LP` of the bytes.
    @inlinable
    package mutating func append(_ part: [UInt8]) { append(part.span) }

    /// Appends `LP` of the text in UTF-8, as it is: nothing is normalised.
    @inlinable
    package mutating func append(_ part: String) { append(part.utf8.span) }

    /// Appends `LP` of the bytes.
    @inlinable
    package mutating func append<let count: Int, Name>(_ part: FixedBytes<count, Name>) {
        append(part.storage.span)
    }

    /// Appends `LP` of the number in 8 bytes, big endian.
    @inlinable
    package mutating func append(_ part: UInt64) {
        let bytes = InlineArray<8, UInt8> { UInt8(truncatingIfNeeded: part >> UInt64(56 - 8 * $0)) }
        append(bytes.span)
    }

    /// Appends `LP` of the number in 4 bytes, big endian.
    @inlinable
    package mutating func append(_ part: UInt32) {
        let bytes = InlineArray<4, UInt8> { UInt8(truncatingIfNeeded: part >> UInt32(24 - 8 * $0)) }
        append(bytes.span)
    }

    /// Appends `LP` of the one byte.
    @inlinable
    package mutating func append(_ part: UInt8) {
        let bytes: InlineArray<1, UInt8> = [part]
        append(bytes.span)
    }
}

/// Parts that are not secret, length-prefixed in one buffer: associated data, or what is hashed.
///
/// Its memory is not wiped. Secret parts go straight into a ``KeyedHash``.
package struct LengthPrefixed: PartAppending, Sendable {
    /// All parts so far.
    package private(set) var bytes: [UInt8] = []

    /// Starts with no parts, and room for `byteCount` bytes, 4 a part included.
    package init(reservingByteCount byteCount: Int = 0) { bytes.reserveCapacity(byteCount) }

    package mutating func append(_ part: Span<UInt8>) {
        bytes.append(lengthPrefixed: part)
    }

    /// Appends `LP(marker ‖ text)`, the text in UTF-8 as it is.
    package mutating func append(marker: UInt8, _ text: String) {
        bytes.append(lengthPrefixed: text.utf8.span, marker: marker)
    }

    /// Drops all parts and keeps the memory for the next ones.
    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }
}

/// The number of bytes in a part, big endian.
func lengthPrefix(_ byteCount: Int) -> InlineArray<4, UInt8> {
    let count = UInt32(byteCount)
    return InlineArray { UInt8(truncatingIfNeeded: count >> UInt32(24 - 8 * $0)) }
}
