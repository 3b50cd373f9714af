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
