// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// Reads big-endian fields from the front of bytes that are not secret and may have any form.
///
/// A missing or malformed field throws the error that the reader was made with, so that a module's
/// parsers throw the module's own error.
package struct ByteReader<Failure: Error> {
    @usableFromInline let source: [UInt8]
    @usableFromInline var position = 0
    /// The error for missing or malformed fields.
    package let malformed: Failure

    package init(_ source: [UInt8], malformed: Failure) {
        self.source = source
        self.malformed = malformed
    }

    package var isAtEnd: Bool { position == source.count }

    /// The next `count` bytes.
    ///
    /// - Throws: ``malformed`` if there are fewer.
    @inlinable
    package mutating func bytes(_ count: Int) throws(Failure) -> [UInt8] {
        guard count >= 0, count <= source.count - position else { throw malformed }
        defer { position += count }
        return Array(source[position..<(position + count)])
    }

    /// The next `byteCount` bytes as a value of `type`.
    ///
    /// - Throws: ``malformed`` if there are fewer.
    package mutating func fixedBytes<let byteCount: Int, Name>(
        as type: FixedBytes<byteCount, Name>.Type = FixedBytes<byteCount, Name>.self
    ) throws(Failure) -> FixedBytes<byteCount, Name> {
        let bytes = try bytes(byteCount)
        do {
            return try FixedBytes(bytes)
        } catch {
            throw malformed
        }
    }

    /// The next number, most significant byte first.
    ///
    /// - Throws: ``malformed`` if there are fewer bytes than it has.
    @inlinable
    package mutating func integer<T: FixedWidthInteger>(
        _ type: T.Type = T.self
    ) throws(Failure) -> T {
        let byteCount = T.bitWidth / 8
        guard byteCount <= source.count - position else { throw malformed }
        defer { position += byteCount }
        return source[position..<(position + byteCount)].reduce(0) {
            $0 << 8 | T(truncatingIfNeeded: $1)
        }
    }
}

extension [UInt8] {
    /// Appends the bytes of `number`, most significant first.
    @inlinable
    package mutating func append(bigEndian number: some FixedWidthInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}
