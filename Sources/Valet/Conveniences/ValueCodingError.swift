// SPDX-License-Identifier: Apache-2.0

/// Why a value could not be turned into bytes, or bytes into a value.
///
/// Names types alone: what the coders of Foundation report may quote what they read.
@nonexhaustive
public enum ValueCodingError: Error, Hashable, Sendable {
    /// A value of this type cannot be written as JSON.
    case notEncodable(String)
    /// What is stored is no JSON of this type.
    case notDecodable(String)
}

extension ValueCodingError: CustomStringConvertible {
    /// One line: what could not be done, with what type.
    public var description: String {
        switch self {
        case .notEncodable(let type): "could not store a value: \(type) has no form in JSON"
        case .notDecodable(let type): "could not read a value: what is stored is no \(type)"
        }
    }
}
