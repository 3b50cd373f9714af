// SPDX-License-Identifier: Apache-2.0

internal import ValetSecretMemory

/// A fixed number of bytes that are not secret, with a name that keeps them apart from others.
///
/// `==` takes the same time whatever the bytes are.
package struct FixedBytes<let byteCount: Int, Name>: Sendable {
    // In place: an array would cost an allocation for each of the many that a call makes.
    @usableFromInline var storage: InlineArray<byteCount, UInt8>

    // Inlined like all that is called for each row: in another module a generic function would ask
    // for its type's metadata each time.
    /// Takes `bytes`.
    @inlinable @inline(__always)
    package init(_ bytes: InlineArray<byteCount, UInt8>) {
        storage = bytes
    }

    /// Copies `bytes`.
    ///
    /// - Throws: ``SealingError/Code/malformed`` if their number is not `byteCount`.
    package init(copying bytes: Span<UInt8>) throws(SealingError) {
        guard bytes.count == byteCount else {
            throw SealingError(.malformed, during: .parse, of: "\(Name.self)")
        }
        storage = InlineArray { bytes[$0] }
    }

    /// Takes `bytes`.
    ///
    /// - Throws: ``SealingError/Code/malformed`` if their number is not `byteCount`.
    package init(_ bytes: [UInt8]) throws(SealingError) {
        try self.init(copying: bytes.span)
    }

    /// A copy of the bytes.
    package var bytes: [UInt8] { [UInt8](copying: storage.span) }

    /// Has `body` fill in the bytes, which start as zeros.
    init<E>(initializingWith body: (inout MutableSpan<UInt8>) throws(E) -> Void) throws(E) {
        storage = InlineArray(repeating: 0)
        var span = storage.mutableSpan
        try body(&span)
    }

    /// Makes random bytes.
    package static func random() -> Self {
        Self { (bytes: inout MutableSpan<UInt8>) in Randomness.fill(&bytes) }
    }

    /// Lends the bytes to `body`.
    @inlinable @inline(__always)
    package func withBytes<R: ~Copyable, E>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        try body(storage.span)
    }
}

extension FixedBytes: Hashable {
    package static func == (left: Self, right: Self) -> Bool {
        Sodium.isEqual(left.storage.span, right.storage.span)
    }

    package func hash(into hasher: inout Hasher) {
        for index in storage.indices { hasher.combine(storage[index]) }
    }
}

extension FixedBytes: CustomStringConvertible {
    /// The bytes as lower-case hexadecimal digits.
    package var description: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in bytes { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}
