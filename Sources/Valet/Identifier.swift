// SPDX-License-Identifier: Apache-2.0

/// The name of a valet's sandbox within one application: any text but the empty one.
public struct Identifier: CustomStringConvertible, Hashable, Sendable {
    /// The text that was given.
    public let description: String

    /// An identifier; nil for nil and for the empty text.
    ///
    /// The text is stored as given, and compares byte by byte once it is stored.
    public init?(nonEmpty string: String?) {
        guard let string, !string.isEmpty else { return nil }
        description = string
    }
}
