// SPDX-License-Identifier: Apache-2.0

internal import ValetCSodium

/// Bytes that nobody else should see, and the only carrier of such bytes.
///
/// Up to 4 KiB lie in the guarded arena, a part of which is for keys alone. Larger ones, and any
/// when the arena is full, lie in ordinary memory: ``SecretArena/failure`` tells of the latter.
/// Both are wiped by `deinit`, and both are aligned to 64 bytes. The type has no copy, no `==` and
/// no text, so secrets do not spread by accident; bytes are lent to a closure.
///
/// An allocation with its release costs about 30 ns.
// Sendable because the memory has one owner, and is changed only through exclusive access to it.
@safe package struct SecretBytes: ~Copyable, @unchecked Sendable {
    @usableFromInline let start: UnsafeMutablePointer<UInt8>
    /// The number of bytes.
    package let byteCount: Int

    /// Makes `byteCount` zero bytes.
    package init(byteCount: Int, for use: SecretUse = .values) {
        precondition(byteCount >= 0, "a negative number of bytes")
        self.byteCount = byteCount
        if let block = unsafe SecretArena.shared.allocate(byteCount: byteCount, for: use) {
            unsafe start = block
        } else {
            let memory = UnsafeMutableRawPointer.allocate(
                byteCount: max(1, byteCount), alignment: SecretArena.blockByteCount)
            unsafe start = memory.bindMemory(to: UInt8.self, capacity: byteCount)
            unsafe start.initialize(repeating: 0, count: byteCount)
        }
    }

    /// Copies `bytes`. Wiping the original remains its owner's duty.
    package init(copying bytes: Span<UInt8>, for use: SecretUse = .values) {
        self.init(byteCount: bytes.count, for: use)
        let (start, byteCount) = unsafe (start, byteCount)
        unsafe bytes.withUnsafeBufferPointer { source in
            guard let first = source.baseAddress else { return }
            unsafe start.update(from: first, count: byteCount)
        }
    }

    /// Copies `bytes`, and wipes them if nobody else has them: handed over with `consume`, they
    /// are nowhere else any more.
    package init(takingOver bytes: consuming [UInt8]) {
        self.init(copying: bytes.span)
        unsafe bytes.withUnsafeMutableBytes { memory in
            if let start = memory.baseAddress { unsafe sodium_memzero(start, memory.count) }
        }
    }

    /// Makes `randomByteCount` bytes of libsodium's randomness.
    package init(randomByteCount: Int, for use: SecretUse = .values) {
        self.init(byteCount: randomByteCount, for: use)
        unsafe randombytes_buf(start, randomByteCount)
    }

    /// Makes `byteCount` bytes and has `body` fill them in; they start as zeros.
    ///
    /// - Throws: What `body` throws; what it had written is wiped.
    @inlinable @inline(__always)
    package init<E>(
        byteCount: Int, for use: SecretUse = .values,
        initializingWith body: (inout MutableSpan<UInt8>) throws(E) -> Void
    ) throws(E) {
        self.init(byteCount: byteCount, for: use)
        try withMutableBytes(body)
    }

    deinit {
        guard unsafe !SecretArena.shared.release(start, byteCount: byteCount) else { return }
        unsafe sodium_memzero(start, byteCount)
        unsafe UnsafeMutableRawPointer(start).deallocate()
    }

    /// The same bytes, in guarded memory if that has room for keys.
    package consuming func asKeys() -> SecretBytes {
        guard !SecretArena.shared.contains(Int(bitPattern: unsafe start)) else { return self }
        return withBytes { bytes in SecretBytes(copying: bytes, for: .keys) }
    }

    /// Lends the bytes to `body`.
    @inlinable @inline(__always)
    package borrowing func withBytes<R: ~Copyable, E>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        let span = unsafe Span(_unsafeStart: UnsafePointer(start), count: byteCount)
        return try body(span)
    }

    /// Lends the bytes to `body`, to be changed.
    @inlinable @inline(__always)
    package mutating func withMutableBytes<R: ~Copyable, E>(
        _ body: (inout MutableSpan<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        var span = unsafe MutableSpan(_unsafeStart: start, count: byteCount)
        return try body(&span)
    }

    /// Overwrites the bytes from `offset` on with `bytes`, which must fit.
    package mutating func write(_ bytes: Span<UInt8>, at offset: Int) {
        precondition(
            offset >= 0 && bytes.count <= byteCount - offset, "writing beyond the end of a secret")
        let target = unsafe start + offset
        unsafe bytes.withUnsafeBufferPointer { source in
            guard let first = source.baseAddress else { return }
            unsafe target.update(from: first, count: source.count)
        }
    }

    /// Tells whether both hold the same bytes, in a time that depends on their number alone.
    package borrowing func isEqual(to other: borrowing SecretBytes) -> Bool {
        guard byteCount == other.byteCount else { return false }
        return unsafe sodium_memcmp(start, other.start, byteCount) == 0
    }
}
