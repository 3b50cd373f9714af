// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

// Stores and reads `Codable` values.

extension Valet {
    /// Stores `value` under `key` and replaces what was stored there.
    ///
    /// Stores text as ``setString(_:forKey:)`` does, `Data` as ``setObject(_:forKey:)`` does, and
    /// everything else as JSON. The JSON passes through memory that is not wiped: store keys and
    /// tokens as `Data`. Nil removes what is stored.
    ///
    /// - Throws: The ``KeychainError``s of ``setObject(_:forKey:)`` and, for nil, of
    ///   ``removeObject(forKey:)``; ``ValueCodingError/notEncodable(_:)``.
    public func set<Value: Encodable>(_ value: Value, forKey key: String) throws {
        if let optional = value as? any EncodableOptional {
            return try optional.store(in: self, forKey: key)
        }
        if let text = value as? String { return try setString(text, forKey: key) }
        try setObject(try value as? Data ?? encoded(value), forKey: key)
    }

    /// Returns the value that ``set(_:forKey:)`` stored under `key`. For an optional type it is nil
    /// if nothing is stored.
    ///
    /// - Throws: The ``KeychainError``s of ``object(forKey:)`` and, for text, of
    ///   ``string(forKey:)``; ``ValueCodingError/notDecodable(_:)`` if a value of another type is
    ///   stored there. It stays stored.
    public func value<Value: Decodable>(
        forKey key: String, as type: Value.Type = Value.self
    ) throws -> Value {
        if let optional = type as? any DecodableOptional.Type,
            let value = try optional.stored(in: self, forKey: key) as? Value
        {
            return value
        }
        if type == String.self, let text = try string(forKey: key) as? Value { return text }
        let object = try object(forKey: key)
        if let object = object as? Value { return object }
        do {
            return try JSONDecoder().decode(type, from: object)
        } catch {
            // The decoder's own error may quote the secret.
            throw ValueCodingError.notDecodable(String(reflecting: type))
        }
    }

    private func encoded<Value: Encodable>(_ value: Value) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        if #available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *) {
            encoder.outputFormatting.insert(.withoutEscapingSlashes)
        }
        do {
            return try encoder.encode(value)
        } catch {
            throw ValueCodingError.notEncodable(String(reflecting: Value.self))
        }
    }
}

/// Optionals mean absence: nil is not stored as JSON's `null`.
private protocol EncodableOptional {
    func store(in valet: Valet, forKey key: String) throws
}

extension Optional: EncodableOptional where Wrapped: Encodable {
    fileprivate func store(in valet: Valet, forKey key: String) throws {
        if let value = self {
            try valet.set(value, forKey: key)
        } else {
            try valet.removeObject(forKey: key)
        }
    }
}

private protocol DecodableOptional {
    static func stored(in valet: Valet, forKey key: String) throws -> Self
}

extension Optional: DecodableOptional where Wrapped: Decodable {
    fileprivate static func stored(in valet: Valet, forKey key: String) throws -> Self {
        do {
            return try valet.value(forKey: key, as: Wrapped.self)
        } catch KeychainError.itemNotFound {
            // Nil only if the keychain confirms it: the stored bytes may be of another type.
            guard try valet.containsObject(forKey: key) else { return nil }
            throw KeychainError.itemNotFound
        }
    }
}

/// Why a value could not be turned into bytes, or bytes into a value.
///
/// Names only types, because the errors of Foundation's coders may quote the secret.
@nonexhaustive
public enum ValueCodingError: Error, Hashable, Sendable {
    /// A value of this type cannot be written as JSON.
    case notEncodable(String)
    /// The stored bytes are not JSON of this type.
    case notDecodable(String)
}

extension ValueCodingError: CustomStringConvertible {
    /// One line that names the operation and the type.
    public var description: String {
        switch self {
        case .notEncodable(let type): "could not store a value: \(type) cannot be written as JSON"
        case .notDecodable(let type): "could not read a value: the stored bytes are not a \(type)"
        }
    }
}
