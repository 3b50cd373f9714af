// SPDX-License-Identifier: Apache-2.0

extension AsynchronousValet {
    /// ``Valet/Valet/set(_:forKey:)``
    public func set<Value: Encodable & Sendable>(_ value: Value, forKey key: String) async throws {
        let valet = valet
        let result = try await Call.writing { () throws(KeychainError) in
            Result { try valet.set(value, forKey: key) }
        }
        try result.get()
    }

    /// ``Valet/Valet/value(forKey:as:)``
    public func value<Value: Decodable & Sendable>(
        forKey key: String, as type: Value.Type = Value.self
    ) async throws -> Value {
        let valet = valet
        let result = try await Call.reading { () throws(KeychainError) in
            Result { try valet.value(forKey: key, as: Value.self) }
        }
        return try result.get()
    }

    /// ``Valet/Valet/migrateObjects(from:removeOnCompletion:)``
    public func migrateObjects(from other: Valet, removeOnCompletion: Bool) async throws {
        let valet = valet
        let result = try await Call.writing { () throws(KeychainError) in
            Result { try valet.migrateObjects(from: other, removeOnCompletion: removeOnCompletion) }
        }
        try result.get()
    }
}
