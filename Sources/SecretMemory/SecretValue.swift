// SPDX-License-Identifier: Apache-2.0

/// Secret bytes that several owners read and nobody changes; wiped when the last owner lets go.
package final class SecretValue: Sendable {
    /// The number of bytes, without the padding that may follow them.
    package let byteCount: Int
    @usableFromInline let storage: SecretBytes

    /// Takes over all of `bytes`.
    package init(_ bytes: consuming SecretBytes) {
        byteCount = bytes.byteCount
        storage = bytes
    }

    /// Takes over `bytes`, of which only the first `byteCount` count: the rest is padding.
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
    package func withBytes<R: ~Copyable, E>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        let count = byteCount
        return try storage.withBytes { (bytes: Span<UInt8>) throws(E) -> R in
            try body(bytes.extracting(first: count))
        }
    }
}
