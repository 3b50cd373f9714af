// SPDX-License-Identifier: Apache-2.0

/// Takes a sequence of parts, each as `LP(part)`: its length in 4 bytes, big endian, then its
/// bytes. Two different sequences never give the same bytes.
///
/// Format: docs/FORMAT.md §1.
public protocol PartAppending: ~Copyable {
    /// Appends `LP(part)`.
    mutating func append(_ part: Span<UInt8>)
}

extension PartAppending where Self: ~Copyable {
    /// Appends `LP` of the bytes.
    @inlinable @inline(__always)
    public mutating func append(_ part: [UInt8]) { append(part.span) }

    /// Appends `LP` of the text in UTF-8, as it is: nothing is normalised.
    @inlinable @inline(__always)
    public mutating func append(_ part: String) { append(part.utf8.span) }

    /// Appends `LP` of the bytes.
    @inlinable @inline(__always)
    public mutating func append<let count: Int, Name>(_ part: FixedBytes<count, Name>) {
        part.withBytes { bytes in append(bytes) }
    }

    /// Appends `LP` of the number in 8 bytes, big endian.
    @inlinable @inline(__always)
    public mutating func append(_ part: UInt64) {
        let bytes = InlineArray<8, UInt8> { UInt8(truncatingIfNeeded: part >> UInt64(56 - 8 * $0)) }
        append(bytes.span)
    }

    /// Appends `LP` of the number in 4 bytes, big endian.
    @inlinable @inline(__always)
    public mutating func append(_ part: UInt32) {
        let bytes = InlineArray<4, UInt8> { UInt8(truncatingIfNeeded: part >> UInt32(24 - 8 * $0)) }
        append(bytes.span)
    }

    /// Appends `LP` of the one byte.
    @inlinable @inline(__always)
    public mutating func append(_ part: UInt8) {
        let bytes: InlineArray<1, UInt8> = [part]
        append(bytes.span)
    }
}

/// Parts that are not secret, length-prefixed in one buffer: associated data, or what is hashed.
///
/// Its memory is not wiped: append secret parts to a ``KeyedHash`` instead.
package struct LengthPrefixed: PartAppending, Sendable {
    /// The parts, then unused room: writing into it costs less than growing an array.
    private var buffer: [UInt8]
    private var byteCount = 0

    /// Starts with no parts, and room for `byteCount` bytes, including 4 for each part.
    package init(reservingByteCount byteCount: Int = 64) {
        buffer = [UInt8](repeating: 0, count: byteCount)
    }

    /// Appends `LP(part)`; its 4 + n bytes are not wiped.
    package mutating func append(_ part: Span<UInt8>) {
        append(part, marker: nil)
    }

    /// Appends `LP` of the number in 8 bytes, big endian.
    package mutating func append(_ part: UInt64) {
        let offset = makeRoom(byteCount: 12)
        buffer.write(UInt32(8), at: offset)
        buffer.write(part, at: offset + 4)
    }

    /// Appends `LP` of the number in 4 bytes, big endian.
    package mutating func append(_ part: UInt32) {
        let offset = makeRoom(byteCount: 8)
        buffer.write(UInt32(4), at: offset)
        buffer.write(part, at: offset + 4)
    }

    /// Appends `LP` of the one byte.
    package mutating func append(_ part: UInt8) {
        let offset = makeRoom(byteCount: 5)
        buffer.write(UInt32(1), at: offset)
        buffer[offset + 4] = part
    }

    /// Appends `LP(marker ‖ text)`, the text in UTF-8 as it is.
    package mutating func append(marker: UInt8, _ text: String) {
        append(text.utf8.span, marker: marker)
    }

    @inline(__always)
    private mutating func append(_ part: Span<UInt8>, marker: UInt8?) {
        let offset = makeRoom(byteCount: (marker == nil ? 4 : 5) + part.count)
        buffer.write(lengthPrefixed: part, marker: marker, at: offset)
    }

    /// Adds `count` bytes to the parts; returns their offset.
    @inline(__always)
    private mutating func makeRoom(byteCount count: Int) -> Int {
        let offset = byteCount
        byteCount += count
        if byteCount > buffer.count { grow() }
        return offset
    }

    @inline(never)
    private mutating func grow() {
        let room = max(byteCount, 2 * buffer.count) - buffer.count
        buffer += [UInt8](repeating: 0, count: room)
    }

    @inline(__always)
    package func withBytes<R: ~Copyable, E>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        try body(buffer.span.extracting(first: byteCount))
    }

    package var bytes: [UInt8] { Array(buffer[..<byteCount]) }

    /// Drops all parts and keeps the memory for the next ones.
    package mutating func removeAll() { byteCount = 0 }
}

/// Fields of fixed width, one after the other; only the last one may have any length. So two
/// sequences of the same types of fields give the same bytes only if they are equal.
///
/// Format: docs/FORMAT.md §5.2.
public struct FixedFields: Sendable {
    // Holds the fields without an allocation if they fit, because a call makes a `FixedFields` for
    // each part that it seals or opens.
    private var inPlace = InlineArray<192, UInt8>(repeating: 0)
    private var buffer: [UInt8] = []
    private var byteCount = 0

    /// Starts without fields. The caller appends `byteCount` bytes at most.
    package init(byteCount: Int) {
        if byteCount > inPlace.count { buffer = [UInt8](repeating: 0, count: byteCount) }
    }

    /// Appends the number, big endian in as many bytes as it has.
    package mutating func append(_ field: UInt8) { appendNumber(field) }

    /// Appends the number, big endian in as many bytes as it has.
    package mutating func append(_ field: UInt32) { appendNumber(field) }

    /// Appends the number, big endian in as many bytes as it has.
    package mutating func append(_ field: UInt64) { appendNumber(field) }

    private mutating func appendNumber(_ field: some FixedWidthInteger) {
        let offset = byteCount
        if buffer.isEmpty {
            var target = inPlace.mutableSpan
            target.write(field, at: offset)
        } else {
            buffer.write(field, at: offset)
        }
        byteCount += field.bitWidth / 8
    }

    /// Appends the bytes.
    public mutating func append(_ field: Span<UInt8>) {
        let offset = byteCount
        if buffer.isEmpty {
            var target = inPlace.mutableSpan
            target.write(field, at: offset)
        } else {
            buffer.write(field, at: offset)
        }
        byteCount += field.count
    }

    /// Appends the bytes.
    @inlinable @inline(__always)
    public mutating func append<let count: Int, Name>(_ field: FixedBytes<count, Name>) {
        field.withBytes { bytes in append(bytes) }
    }

    package func withBytes<R: ~Copyable, E>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        guard buffer.isEmpty else { return try body(buffer.span.extracting(first: byteCount)) }
        return try body(inPlace.span.extracting(first: byteCount))
    }
}

/// The number of bytes in a part, big endian.
func lengthPrefix(_ byteCount: Int) -> InlineArray<4, UInt8> {
    let count = UInt32(byteCount)
    return InlineArray { UInt8(truncatingIfNeeded: count >> UInt32(24 - 8 * $0)) }
}
