// SPDX-License-Identifier: Apache-2.0

internal import ValetCSodium

// `SecretBytes` is public because some of it is inlined: see `FixedBytes` in the module Sealing.

/// Secret bytes: the only type that carries them.
///
/// Up to 4 KiB are in the guarded arena, a part of which is reserved for keys. Larger secrets are
/// in ordinary memory, and so are others while the arena is full, which ``SecretArena/failure``
/// reports. `deinit` wipes both kinds of memory, and both are aligned to 64 bytes. The type has no
/// copy, no `==` and no text, so that secrets do not spread by accident; closures borrow the bytes.
///
/// An allocation with its release costs about 30 ns.
@safe public struct SecretBytes: ~Copyable {
    @usableFromInline let start: UnsafeMutablePointer<UInt8>
    /// The number of bytes.
    public let byteCount: Int

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

    /// Copies `bytes`, and wipes them if this is their only owner, as when they are passed with
    /// `consume`.
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

    /// Makes `byteCount` zero bytes and calls `body` to fill them in.
    ///
    /// - Throws: The error of `body`; the bytes are wiped then.
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

    /// The same bytes, in guarded memory if there is room for keys.
    package consuming func asKeys() -> SecretBytes {
        guard !SecretArena.shared.contains(Int(bitPattern: unsafe start)) else { return self }
        return withBytes { bytes in SecretBytes(copying: bytes, for: .keys) }
    }

    /// Lends the bytes to `body`.
    @inlinable @inline(__always)
    public borrowing func withBytes<R: ~Copyable, E>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        let span = unsafe Span(_unsafeStart: UnsafePointer(start), count: byteCount)
        return try body(span)
    }

    /// Lends the bytes to `body`, which may change them.
    @inlinable @inline(__always)
    public mutating func withMutableBytes<R: ~Copyable, E>(
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

// Sendable because the memory has one owner, and is changed only through exclusive access to it.
extension SecretBytes: @unchecked Sendable {}

/// What secret bytes are for, which decides where in guarded memory they fit.
package enum SecretUse: Sendable {
    /// Keys and what derives them, up to 1 KiB: they have reserved room, however many values there
    /// are.
    case keys
    /// Everything else.
    case values
}

/// Immutable secret bytes with several owners; wiped when the last owner releases them.
public final class SecretValue: Sendable {
    /// The number of bytes, without the padding that may follow them.
    public let byteCount: Int
    @usableFromInline let storage: SecretBytes

    /// Takes over all of `bytes`.
    package init(_ bytes: consuming SecretBytes) {
        byteCount = bytes.byteCount
        storage = bytes
    }

    /// Takes over `bytes`, of which only the first `byteCount` are the value: the rest is padding.
    package init(_ bytes: consuming SecretBytes, byteCount: Int) {
        precondition(
            byteCount >= 0 && byteCount <= bytes.byteCount, "a value longer than its buffer")
        self.byteCount = byteCount
        storage = bytes
    }

    /// Copies `bytes`. Wiping the original remains its owner's duty.
    package convenience init(copying bytes: Span<UInt8>) {
        self.init(SecretBytes(copying: bytes))
    }

    /// Lends the bytes, without padding, to `body`.
    @inlinable @inline(__always)
    public func withBytes<R: ~Copyable, E>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        let count = byteCount
        return try storage.withBytes { (bytes: Span<UInt8>) throws(E) -> R in
            try body(bytes.extracting(first: count))
        }
    }
}

extension SecretValue {
    /// Whether both hold the same bytes, in a time that depends on their sizes alone.
    package func isEqual(to other: SecretValue) -> Bool {
        withBytes { left in other.withBytes { right in Sodium.isEqual(left, right) } }
    }
}

/// Random bytes of libsodium, which asks the kernel: fit for keys, and different after a fork.
package enum Randomness {
    /// Makes `count` random bytes that are not secret: ids, salts, nonces. For secrets there is
    /// ``SecretBytes/init(randomByteCount:)``.
    package static func bytes(_ count: Int) -> [UInt8] {
        Libsodium.start()
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            if let start = buffer.baseAddress { unsafe randombytes_buf(start, count) }
            initialized = count
        }
    }

    /// Overwrites all of `bytes` with random ones.
    package static func fill(_ bytes: inout MutableSpan<UInt8>) {
        Libsodium.start()
        unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return }
            unsafe randombytes_buf(start, buffer.count)
        }
    }

    /// A uniformly distributed number from 0 to `count` − 1, without modulo bias.
    package static func number(below count: Int) -> Int {
        precondition(1...Int(UInt32.max) ~= count, "no range to choose from")
        Libsodium.start()
        return Int(randombytes_uniform(UInt32(count)))
    }
}
