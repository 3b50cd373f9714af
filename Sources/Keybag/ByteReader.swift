// SPDX-License-Identifier: Apache-2.0

internal import Sealing

/// Takes big-endian values off the front of bytes that may be of any shape.
struct ByteReader {
    private let source: [UInt8]
    private var position = 0

    init(_ source: [UInt8]) {
        self.source = source
    }

    var isAtEnd: Bool { position == source.count }

    /// The next `count` bytes.
    ///
    /// - Throws: ``KeybagError/Code/malformed`` if there are fewer.
    mutating func bytes(_ count: Int) throws(KeybagError) -> [UInt8] {
        guard count >= 0, count <= source.count - position else { throw .malformedKeybag }
        defer { position += count }
        return Array(source[position..<(position + count)])
    }

    /// The next `byteCount` bytes under the name of their kind.
    mutating func fixedBytes<let byteCount: Int, Name>() throws(KeybagError)
        -> FixedBytes<byteCount, Name>
    {
        let bytes = try bytes(byteCount)
        do throws(SealingError) {
            return try FixedBytes(bytes)
        } catch {
            throw .malformedKeybag
        }
    }

    mutating func uint8() throws(KeybagError) -> UInt8 { try integer() }
    mutating func uint16() throws(KeybagError) -> UInt16 { try integer() }
    mutating func uint32() throws(KeybagError) -> UInt32 { try integer() }
    mutating func uint64() throws(KeybagError) -> UInt64 { try integer() }

    private mutating func integer<T: FixedWidthInteger>() throws(KeybagError) -> T {
        try bytes(T.bitWidth / 8).reduce(0) { $0 << 8 | T($1) }
    }
}

extension [UInt8] {
    /// Appends the bytes of `value`, most significant first.
    mutating func append(bigEndian value: some FixedWidthInteger & UnsignedInteger) {
        for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}
