// SPDX-License-Identifier: Apache-2.0

internal import SecretMemory

/// A fixed number of bytes that are not secret, with a name that keeps them apart from others.
///
/// `==` takes the same time whatever the bytes are.
package struct FixedBytes<let byteCount: Int, Name>: Sendable {
    /// The bytes.
    package let bytes: [UInt8]

    /// Copies `bytes`.
    ///
    /// - Throws: ``SealingError/Code/malformed`` if their number is not `byteCount`.
    package init(copying bytes: Span<UInt8>) throws(SealingError) {
        guard bytes.count == byteCount else {
            throw SealingError(.malformed, during: .parse, of: "\(Name.self)")
        }
        self.bytes = [UInt8](copying: bytes)
    }

    /// Takes `bytes`.
    ///
    /// - Throws: ``SealingError/Code/malformed`` if their number is not `byteCount`.
    package init(_ bytes: [UInt8]) throws(SealingError) {
        guard bytes.count == byteCount else {
            throw SealingError(.malformed, during: .parse, of: "\(Name.self)")
        }
        self.bytes = bytes
    }

    /// Has `body` fill in the bytes, which start as zeros.
    init<E>(initializingWith body: (inout MutableSpan<UInt8>) throws(E) -> Void) throws(E) {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        var span = bytes.mutableSpan
        try body(&span)
        self.bytes = bytes
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
        try body(bytes.span)
    }
}

extension FixedBytes: Hashable {
    package static func == (left: Self, right: Self) -> Bool {
        Sodium.isEqual(left.bytes.span, right.bytes.span)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(bytes)
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
