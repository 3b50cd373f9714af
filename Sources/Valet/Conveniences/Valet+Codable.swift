// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

extension Valet {
    /// Stores `value` under `key`, in place of what was there.
    ///
    /// Text is stored as ``setString(_:forKey:)`` does it, and `Data` as ``setObject(_:forKey:)``
    /// does; everything else as JSON. JSON text of a secret passes through memory that is not
    /// wiped: a key or token is better off as `Data`.
    /// - Throws: ``KeychainError`` as ``setObject(_:forKey:)``;
    ///   ``ValueCodingError/notEncodable(_:)``.
    public func set<Value: Encodable>(_ value: Value, forKey key: String) throws {
        if let text = value as? String { return try setString(text, forKey: key) }
        try setObject(try value as? Data ?? encoded(value), forKey: key)
    }

    /// The value that is stored under `key`, as ``set(_:forKey:)`` stored it.
    ///
    /// - Throws: ``KeychainError`` as ``object(forKey:)`` and, for text, ``string(forKey:)``;
    ///   ``ValueCodingError/notDecodable(_:)`` if something else is stored there, which stays.
    public func value<Value: Decodable>(
        forKey key: String, as type: Value.Type = Value.self
    ) throws -> Value {
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
