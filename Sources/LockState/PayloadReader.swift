// SPDX-License-Identifier: Apache-2.0

/// Takes values off the front of bytes of any shape. The bytes are secret and only lent, so that
/// they are passed along; what is remembered is how far they were read.
struct PayloadReader {
    private var position = 0
    /// Where to stop.
    private let end: Int

    init(end: Int) { self.end = end }

    var isAtEnd: Bool { position == end }

    /// Where the next `count` bytes are.
    ///
    /// - Throws: ``LockStateError/Code/malformed`` if there are fewer.
    mutating func next(_ count: Int) throws(LockStateError) -> Range<Int> {
        guard count <= end - position else {
            throw LockStateError(.malformed, during: .parse)
        }
        defer { position += count }
        return position..<(position + count)
    }

    /// The next big-endian number.
    mutating func integer<T: FixedWidthInteger & UnsignedInteger>(
        of bytes: Span<UInt8>, as type: T.Type = T.self
    ) throws(LockStateError) -> T {
        var number: T = 0
        for index in try next(T.bitWidth / 8) {
            number = T(truncatingIfNeeded: UInt64(number) << 8) | T(bytes[index])
        }
        return number
    }
}
