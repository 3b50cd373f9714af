// SPDX-License-Identifier: Apache-2.0

/// A field of a binary layout. Its type defines how its bytes are written and read. So a layout is
/// an order of fields, which the writer and the reader each list once.
/// Numbers are big endian.
package protocol ByteField {
    /// Reads the next field.
    ///
    /// - Throws: The reader's error if the bytes are malformed.
    init<E>(from reader: inout ByteReader<E>) throws(E)
    /// Appends the bytes of the field.
    func append(to bytes: inout [UInt8])
}

extension ByteReader {
    /// Reads the next fields, which have the given types.
    package mutating func fields<each Field: ByteField>(
        _ types: repeat (each Field).Type
    ) throws(Failure) -> (repeat each Field) {
        (repeat try (each Field)(from: &self))
    }

    /// Reads the next fields, whose types the result determines.
    package mutating func fields<each Field: ByteField>() throws(Failure) -> (repeat each Field) {
        (repeat try (each Field)(from: &self))
    }

    /// Requires that every byte was taken.
    ///
    /// - Throws: ``malformed`` if bytes are left.
    package func finish() throws(Failure) {
        guard isAtEnd else { throw malformed }
    }
}

extension [UInt8] {
    /// The bytes of the fields, one after the other.
    package init<each Field: ByteField>(fields: repeat each Field) {
        self = []
        repeat (each fields).append(to: &self)
    }
}

extension ByteField where Self: FixedWidthInteger {
    package init<E>(from reader: inout ByteReader<E>) throws(E) { self = try reader.integer() }

    package func append(to bytes: inout [UInt8]) { bytes.append(bigEndian: self) }
}

extension UInt8: ByteField {}
extension UInt32: ByteField {}
extension UInt64: ByteField {}
extension UInt16: ByteField {}
extension Int64: ByteField {}

/// One byte, 0 or 1.
extension Bool: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        switch try reader.integer(UInt8.self) {
        case 0: self = false
        case 1: self = true
        default: throw reader.malformed
        }
    }

    package func append(to bytes: inout [UInt8]) { bytes.append(self ? 1 : 0) }
}

extension FixedBytes: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) { self = try reader.fixedBytes() }

    package func append(to bytes: inout [UInt8]) { bytes += self.bytes }
}

/// A flag, and the value if there is one.
extension Optional: ByteField where Wrapped: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        self = try Bool(from: &reader) ? try Wrapped(from: &reader) : nil
    }

    package func append(to bytes: inout [UInt8]) {
        (self != nil).append(to: &bytes)
        self?.append(to: &bytes)
    }
}

/// The number of elements in 4 bytes, then the elements.
extension Array: ByteField where Element: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        self = []
        for _ in 0..<(try reader.integer(UInt32.self)) { append(try Element(from: &reader)) }
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: UInt32(count))
        for element in self { element.append(to: &bytes) }
    }
}

/// An array in ascending order, so that each set has exactly one encoding.
extension Set: ByteField where Element: ByteField & Comparable {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        let elements = try [Element](from: &reader)
        guard zip(elements, elements.dropFirst()).allSatisfy(<) else { throw reader.malformed }
        self = Set(elements)
    }

    package func append(to bytes: inout [UInt8]) { sorted().append(to: &bytes) }
}

/// The number of pairs in 4 bytes, then the pairs in ascending order of their keys.
extension Dictionary: ByteField where Key: ByteField & Comparable, Value: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        self = [:]
        var last: Key?
        for _ in 0..<(try reader.integer(UInt32.self)) {
            let key = try Key(from: &reader)
            guard last.map({ $0 < key }) ?? true else { throw reader.malformed }
            let value = try Value(from: &reader)
            self[key] = value
            last = key
        }
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: UInt32(count))
        for (key, value) in sorted(by: { $0.key < $1.key }) {
            key.append(to: &bytes)
            value.append(to: &bytes)
        }
    }
}

/// The number of bytes in 4 bytes, then the bytes.
package struct SizedBytes: ByteField {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        bytes = try reader.bytes(Int(try reader.integer(UInt32.self)))
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: UInt32(self.bytes.count))
        bytes += self.bytes
    }
}

/// The number of bytes in 4 bytes, then the text in UTF-8.
extension String: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        let bytes = try SizedBytes(from: &reader).bytes
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw reader.malformed
        }
        self = text
    }

    package func append(to bytes: inout [UInt8]) { SizedBytes(Array(utf8)).append(to: &bytes) }
}
