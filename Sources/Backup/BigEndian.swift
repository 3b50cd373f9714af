// SPDX-License-Identifier: Apache-2.0

extension [UInt8] {
    /// Appends the bytes of `number`, most significant first.
    mutating func append(bigEndian number: some FixedWidthInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}

extension ArraySlice<UInt8> {
    /// Takes a big-endian number off the front; nil if there are too few bytes.
    mutating func popNumber<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T? {
        let byteCount = T.bitWidth / 8
        guard let bytes = popBytes(byteCount) else { return nil }
        return bytes.reduce(0) { $0 << 8 | T(truncatingIfNeeded: $1) }
    }

    /// Takes `byteCount` bytes off the front; nil if there are too few.
    mutating func popBytes(_ byteCount: Int) -> ArraySlice<UInt8>? {
        guard byteCount >= 0, byteCount <= count else { return nil }
        defer { self = dropFirst(byteCount) }
        return prefix(byteCount)
    }
}
