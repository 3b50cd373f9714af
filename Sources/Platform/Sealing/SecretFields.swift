// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

// Reads and writes plaintexts that hold keys or values, and so never lie in ordinary arrays. For
// bytes that are not secret see `ByteReader`.

/// Reads big-endian fields from the front of secret bytes that may have any form.
///
/// A missing or misfit field throws the error that the reader was made with.
package struct SecretReader<Failure: Error>: ~Copyable {
    private let plaintext: SecretBytes
    private let end: Int
    /// Where the next field begins.
    package private(set) var position = 0
    /// Thrown for bytes of another form.
    package let malformed: Failure

    /// Starts at the front of `plaintext`, and ends after `byteCount` bytes: the rest is padding.
    package init(_ plaintext: consuming SecretBytes, byteCount: Int, malformed: Failure) {
        precondition(byteCount <= plaintext.byteCount, "fields beyond the end of a plaintext")
        end = byteCount
        self.plaintext = plaintext
        self.malformed = malformed
    }

    package init(_ plaintext: consuming SecretBytes, malformed: Failure) {
        let byteCount = plaintext.byteCount
        self.init(plaintext, byteCount: byteCount, malformed: malformed)
    }

    package var remainingByteCount: Int { end - position }

    /// Requires that every byte was taken.
    ///
    /// - Throws: ``malformed`` if bytes are left.
    package func finish() throws(Failure) {
        guard position == end else { throw malformed }
    }

    /// Lends the next `count` bytes to `body`.
    ///
    /// - Throws: ``malformed`` if there are fewer, and what `body` throws.
    package mutating func withBytes<R: ~Copyable>(
        _ count: Int, _ body: (Span<UInt8>) throws(Failure) -> R
    ) throws(Failure) -> R {
        guard count >= 0, count <= end - position else { throw malformed }
        let start = position
        position += count
        return try plaintext.withBytes { (bytes: Span<UInt8>) throws(Failure) in
            try body(bytes.extracting(start..<(start + count)))
        }
    }

    /// The next number, most significant byte first.
    ///
    /// - Throws: ``malformed`` if there are fewer bytes than it has.
    package mutating func integer<T: FixedWidthInteger>(
        _ type: T.Type = T.self
    ) throws(Failure) -> T {
        try withBytes(T.bitWidth / 8) { bytes throws(Failure) in
            bytes.indices.reduce(0) { $0 << 8 | T(truncatingIfNeeded: bytes[$1]) }
        }
    }

    /// The next `byteCount` bytes as their own type, which is not secret.
    ///
    /// - Throws: ``malformed`` if there are fewer.
    package mutating func fixedBytes<let byteCount: Int, Name>(
        as type: FixedBytes<byteCount, Name>.Type = FixedBytes<byteCount, Name>.self
    ) throws(Failure) -> FixedBytes<byteCount, Name> {
        let malformed = malformed
        return try withBytes(byteCount) { bytes throws(Failure) in
            do {
                return try FixedBytes(copying: bytes)
            } catch {
                throw malformed
            }
        }
    }

    /// The next 32 bytes as a key.
    ///
    /// - Throws: ``malformed`` if there are fewer.
    package mutating func key<P>(
        as type: SymmetricKey<P>.Type = SymmetricKey<P>.self
    ) throws(Failure) -> SymmetricKey<P> {
        let malformed = malformed
        return try withBytes(SymmetricKey<P>.byteCount) { bytes throws(Failure) in
            do {
                return try SymmetricKey<P>(copying: bytes)
            } catch {
                throw malformed
            }
        }
    }

    /// The next flag, and the key after it if there is one.
    ///
    /// - Throws: ``malformed`` for a flag other than 0 and 1, and for too few bytes.
    package mutating func optionalKey<P>(
        as type: SymmetricKey<P>.Type = SymmetricKey<P>.self
    ) throws(Failure) -> SymmetricKey<P>? {
        switch try integer(UInt8.self) {
        case 0: return nil
        case 1: return try key()
        default: throw malformed
        }
    }

    /// The next `count` bytes, in memory that is not wiped: for attributes, not for values.
    ///
    /// - Throws: ``malformed`` if there are fewer.
    package mutating func bytes(_ count: Int) throws(Failure) -> [UInt8] {
        try withBytes(count) { bytes throws(Failure) in [UInt8](copying: bytes) }
    }

    /// The next `count` bytes, which are secret.
    ///
    /// - Throws: ``malformed`` if there are fewer.
    package mutating func secret(_ count: Int) throws(Failure) -> SecretValue {
        try withBytes(count) { bytes throws(Failure) in SecretValue(copying: bytes) }
    }

    /// Whether the bytes of `left` order before those of `right`.
    package func isRising(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
        plaintext.withBytes { bytes in
            bytes.extracting(left).precedes(bytes.extracting(right))
        }
    }
}

/// Writes big-endian fields into guarded memory whose size is known in advance.
package struct SecretWriter: ~Copyable {
    private var bytes: SecretBytes
    private var position = 0

    /// Starts with room for `byteCount` bytes, all zeros.
    package init(byteCount: Int, for use: SecretUse = .values) {
        bytes = SecretBytes(byteCount: byteCount, for: use)
    }

    /// Starts with room for `byteCount` bytes, and pads them to a multiple of `step`.
    package init(byteCount: Int, paddedTo step: Int) {
        bytes = SecretBytes(
            byteCount: Padding.paddedByteCount(byteCount, toMultipleOf: step))
        bytes.withMutableBytes { bytes in bytes[byteCount] = 0x80 }
    }

    /// Leaves `count` bytes zeros.
    package mutating func skip(_ count: Int) { position += count }

    /// Appends the number in as many bytes as its type has.
    package mutating func append(_ number: some FixedWidthInteger) {
        let offset = position
        bytes.withMutableBytes { target in target.write(number, at: offset) }
        position += number.bitWidth / 8
    }

    /// Appends the bytes, which may be secret.
    package mutating func append(_ field: Span<UInt8>) {
        bytes.write(field, at: position)
        position += field.count
    }

    package mutating func append(_ field: [UInt8]) { append(field.span) }

    package mutating func append<let count: Int, Name>(_ field: FixedBytes<count, Name>) {
        field.withBytes { append($0) }
    }

    package mutating func append(_ value: SecretValue) { value.withBytes { append($0) } }

    package mutating func append<P>(_ key: borrowing SymmetricKey<P>) {
        key.withBytes { append($0) }
    }

    /// Appends a flag, and the key if there is one.
    package mutating func append<P>(optional key: borrowing SymmetricKey<P>?) {
        switch key {
        case .some(let key):
            append(UInt8(1))
            append(key)
        case .none: append(UInt8(0))
        }
    }

    /// The number of bytes that an optional key takes.
    package static func byteCount<P>(of key: borrowing SymmetricKey<P>?) -> Int {
        key == nil ? 1 : 1 + SymmetricKey<P>.byteCount
    }

    /// All bytes. The caller must have appended every field: this does not check it, as padding may
    /// follow the last one.
    package consuming func finish() -> SecretBytes { bytes }
}

extension Span<UInt8> {
    /// Whether these bytes begin with `beginning`. Not in constant time, so only for bytes that are
    /// not secret.
    package func starts(with beginning: [UInt8]) -> Bool {
        beginning.count <= count && beginning.indices.allSatisfy { self[$0] == beginning[$0] }
    }

    /// Whether these bytes order before `other`; if one is a prefix of the other, it is first.
    package func precedes(_ other: Span<UInt8>) -> Bool {
        for index in 0..<Swift.min(count, other.count) where self[index] != other[index] {
            return self[index] < other[index]
        }
        return count < other.count
    }
}
