// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ValetSealing

@Suite struct `Secret bytes` {
    private struct Refusal: Error {}

    @Test(arguments: [0, 1, 63, 64, 65, 4_096, 4_097, 1 << 20])
    func `Secret bytes start as zeros`(byteCount: Int) {
        let bytes = SecretBytes(byteCount: byteCount)
        #expect(bytes.array == [UInt8](repeating: 0, count: byteCount))
    }

    @Test(arguments: [0, 1, 64, 100, 4_096, 5_000])
    func `Secret bytes hold a copy of what they are made from`(byteCount: Int) {
        let original = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let bytes = SecretBytes(copying: original.span)
        #expect(bytes.array == original)
    }

    @Test func `Secret bytes hold what the closure filled in`() {
        let bytes = SecretBytes(byteCount: 3) { (bytes: inout MutableSpan<UInt8>) in bytes[1] = 9 }
        #expect(bytes.array == [0, 9, 0])
    }

    @Test func `Secret bytes can be changed in place`() {
        var bytes = SecretBytes(byteCount: 2)
        bytes.withMutableBytes { bytes in bytes[1] = 7 }
        #expect(bytes.array == [0, 7])
    }

    @Test func `Secret bytes of random differ each time`() {
        let first = SecretBytes(randomByteCount: 32)
        let second = SecretBytes(randomByteCount: 32)
        #expect(first.array != second.array)
    }

    @Test(arguments: [0, 32, 5_000])
    func `Secret bytes are equal to their copy`(byteCount: Int) {
        let bytes = SecretBytes(randomByteCount: byteCount)
        let copy = SecretBytes(copying: bytes.array.span)
        let isEqual = bytes.isEqual(to: copy)
        #expect(isEqual)
    }

    @Test(arguments: 0..<33)
    func `Secret bytes differ when one byte does`(index: Int) {
        let bytes = SecretBytes(randomByteCount: 33)
        var other = SecretBytes(copying: bytes.array.span)
        other.withMutableBytes { bytes in bytes[index] ^= 1 }
        let isEqual = bytes.isEqual(to: other)
        #expect(!isEqual)
    }

    @Test func `Secret bytes differ when one is longer`() {
        let isEqual = SecretBytes(byteCount: 3).isEqual(to: SecretBytes(byteCount: 4))
        #expect(!isEqual)
    }

    @Test(arguments: [1, 100, 5_000])
    func `Secret bytes are aligned to 64 bytes`(byteCount: Int) {
        let bytes = SecretBytes(byteCount: byteCount)
        #expect(bytes.address % 64 == 0)
    }

    @Test func `Secret bytes above 4 KiB lie outside the arena`() {
        let isInArena = SecretBytes(byteCount: 4_097).isInArena
        #expect(!isInArena)
    }

    @Test func `Secret bytes of 4 KiB lie in the arena`() {
        let isInArena = SecretBytes(byteCount: 4_096).isInArena
        #expect(isInArena)
    }

    @Test func `Secret bytes pass on what the closure throws`() {
        #expect(throws: Refusal.self) {
            _ = try SecretBytes(byteCount: 8) { (_: inout MutableSpan<UInt8>) in throw Refusal() }
        }
    }

    @Test func `Secret bytes shared as a value leave out the padding`() {
        let value = SecretValue(SecretBytes(copying: [1, 2, 0x80, 0].span), byteCount: 2)
        #expect(value.withBytes { bytes in [bytes[0], bytes[1]] } == [1, 2])
        #expect(value.byteCount == 2)
    }

    @Test func `Secret bytes shared as a value are all there`() {
        let value = SecretValue(copying: [5, 6].span)
        #expect(value.withBytes { $0.count } == 2)
    }
}

@Suite struct `Randomness of libsodium` {
    @Test func `Randomness of libsodium gives as many bytes as asked for`() {
        #expect(Randomness.bytes(17).count == 17)
        #expect(Randomness.bytes(0).isEmpty)
    }

    @Test func `Randomness of libsodium fills all of what it is given`() {
        var seen = [UInt8](repeating: 0, count: 16)
        for _ in 0..<20 {
            var bytes = [UInt8](repeating: 0, count: 16)
            var span = bytes.mutableSpan
            Randomness.fill(&span)
            for index in seen.indices { seen[index] |= bytes[index] }
        }
        #expect(!seen.contains(0))
    }
}

extension SecretBytes {
    /// A copy, to compare with.
    var array: [UInt8] {
        withBytes { bytes in bytes.indices.map { bytes[$0] } }
    }

    /// Where the bytes lie.
    var address: Int { Int(bitPattern: unsafe start) }

    /// True if the bytes lie in the guarded arena.
    var isInArena: Bool { SecretArena.shared.contains(address) }
}

/// What lies at an address of the arena, for any owner: the arena is never unmapped.
func peek(_ address: Int, count: Int) -> [UInt8] {
    precondition(SecretArena.shared.contains(address), "not in the arena")
    return (0..<count).map { index in
        unsafe UnsafePointer<UInt8>(bitPattern: address + index)?.pointee ?? 0xFF
    }
}
