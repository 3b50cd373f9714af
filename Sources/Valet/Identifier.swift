// SPDX-License-Identifier: Apache-2.0

/// The name of a valet's sandbox within one application: any text that is not empty.
public struct Identifier: CustomStringConvertible, Hashable, Sendable {
    /// The text.
    public let description: String

    /// An identifier; nil if `string` is nil or empty.
    ///
    /// The text is stored unchanged. The keychain compares it byte by byte.
    public init?(nonEmpty string: String?) {
        guard let string, !string.isEmpty else { return nil }
        description = string
    }
}
