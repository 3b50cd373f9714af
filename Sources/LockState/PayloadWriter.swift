// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// Writes one value after another into guarded memory, big endian.
struct PayloadWriter {
    private(set) var position = 0

    /// Leaves the next `count` bytes as they are.
    mutating func skip(_ count: Int) { position += count }

    mutating func write<let byteCount: Int, Name>(
        _ name: FixedBytes<byteCount, Name>, to target: inout MutableSpan<UInt8>
    ) {
        for byte in name.bytes { write(byte, to: &target) }
    }

    mutating func write<P>(_ key: borrowing SymmetricKey<P>, to target: inout MutableSpan<UInt8>) {
        let start = position
        key.withBytes { bytes in
            for index in bytes.indices { target[start + index] = bytes[index] }
        }
        position += SymmetricKey<P>.byteCount
    }

    mutating func write(
        _ number: some FixedWidthInteger & UnsignedInteger, to target: inout MutableSpan<UInt8>
    ) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            target[position] = UInt8(truncatingIfNeeded: number >> shift)
            position += 1
        }
    }
}
