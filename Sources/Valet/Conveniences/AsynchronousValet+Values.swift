// SPDX-License-Identifier: Apache-2.0

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
extension AsynchronousValet {
    /// ``Valet/Valet/set(_:forKey:)``
    public func set<Value: Encodable & Sendable>(_ value: Value, forKey key: String) async throws {
        let valet = valet
        try await Call.untypedWriting { try valet.set(value, forKey: key) }
    }

    /// ``Valet/Valet/value(forKey:as:)``
    public func value<Value: Decodable & Sendable>(
        forKey key: String, as type: Value.Type = Value.self
    ) async throws -> Value {
        let valet = valet
        return try await Call.untypedReading { try valet.value(forKey: key, as: Value.self) }
    }
}
