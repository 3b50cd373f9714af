// SPDX-License-Identifier: Apache-2.0

/// The value of an attribute as it is stored: with the type it was given in.
///
/// Equality here compares types, too; ``Attribute/matches(_:_:)`` compares as a search does.
package enum AttributeValue: Hashable, Sendable {
    case text(String)
    case bytes([UInt8])
    case number(Int64)
    /// Seconds since 2001-01-01 00:00 UTC, as CFAbsoluteTime counts.
    case date(Double)
    /// A serialised access control object.
    case accessControl([UInt8])
}

/// A value as a caller hands it over, before it is converted for its attribute.
package enum AttributeInput: Hashable, Sendable {
    case text(String)
    case bytes([UInt8])
    case number(Int64)
    case boolean(Bool)
    case date(Double)
    /// A UUID in its textual form.
    case uuid(String)
    case accessControl([UInt8])
    /// Null, a fraction, or a type that no attribute takes.
    case unsupported
}

extension String {
    /// The text that has these UTF-8 bytes; nil for bytes that are not UTF-8.
    package init?(utf8 bytes: some Collection<UInt8>) {
        if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, *) {
            self.init(validating: bytes, as: UTF8.self)
        } else {
            self.init(decoding: bytes, as: UTF8.self)
            // What is not UTF-8 has been replaced.
            guard utf8.elementsEqual(bytes) else { return nil }
        }
    }
}
