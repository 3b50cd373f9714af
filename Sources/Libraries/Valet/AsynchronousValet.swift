// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainModel

// The calls of `Valet` for tasks, which block no thread of the tasks.

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
extension Valet {
    /// The same valet for tasks: its calls do not block the task's thread.
    public var asynchronous: AsynchronousValet { AsynchronousValet(self) }
}

/// The calls of a ``Valet/Valet`` for tasks. Each runs on another thread, off every executor, and
/// throws the errors of the call that it makes.
///
/// When the task is cancelled, a call that has not begun does nothing, and a call that reads stops
/// waiting: both throw `userCancelled`. A call that writes and has begun is waited for, within the
/// time limit of every call, because its outcome would otherwise be unknown.
///
/// On Linux `KeychainFailure.last` describes a failure in full, until the task suspends again.
@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
public struct AsynchronousValet: Hashable, Sendable {
    /// The valet whose calls are made.
    public let valet: Valet

    init(_ valet: Valet) {
        self.valet = valet
    }

    /// Calls ``Valet/Valet/canAccessKeychain()`` on another thread. False also if the task is
    /// cancelled.
    public func canAccessKeychain() async -> Bool {
        let isAccessible = try? await Call.writing { () throws(KeychainError) in
            valet.canAccessKeychain()
        }
        return isAccessible ?? false
    }

    /// Calls ``Valet/Valet/setObject(_:forKey:)`` on another thread.
    public func setObject(_ object: Data, forKey key: String) async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in
            try valet.setObject(object, forKey: key)
        }
    }

    /// Calls ``Valet/Valet/object(forKey:)`` on another thread.
    public func object(forKey key: String) async throws(KeychainError) -> Data {
        try await Call.reading { () throws(KeychainError) in try valet.object(forKey: key) }
    }

    /// Calls ``Valet/Valet/setString(_:forKey:)`` on another thread.
    public func setString(_ string: String, forKey key: String) async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in
            try valet.setString(string, forKey: key)
        }
    }

    /// Calls ``Valet/Valet/string(forKey:)`` on another thread.
    public func string(forKey key: String) async throws(KeychainError) -> String {
        try await Call.reading { () throws(KeychainError) in try valet.string(forKey: key) }
    }

    /// Calls ``Valet/Valet/containsObject(forKey:)`` on another thread.
    public func containsObject(forKey key: String) async throws(KeychainError) -> Bool {
        try await Call.reading { () throws(KeychainError) in
            try valet.containsObject(forKey: key)
        }
    }

    /// Calls ``Valet/Valet/allKeys()`` on another thread.
    public func allKeys() async throws(KeychainError) -> Set<String> {
        try await Call.reading { () throws(KeychainError) in try valet.allKeys() }
    }

    /// Calls ``Valet/Valet/removeObject(forKey:)`` on another thread.
    public func removeObject(forKey key: String) async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in try valet.removeObject(forKey: key) }
    }

    /// Calls ``Valet/Valet/removeAllObjects()`` on another thread.
    public func removeAllObjects() async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in try valet.removeAllObjects() }
    }

    /// Calls ``Valet/Valet/objects(forKeys:)`` on another thread.
    public func objects(
        forKeys keys: some Sequence<String>
    ) async throws(KeychainError) -> [String: Data] {
        let keys = Set(keys)
        return try await Call.reading { () throws(KeychainError) in
            try valet.objects(forKeys: keys)
        }
    }

    /// Calls ``Valet/Valet/setObjects(_:)`` on another thread.
    public func setObjects(_ objects: [String: Data]) async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in try valet.setObjects(objects) }
    }

    /// Calls ``Valet/Valet/set(_:forKey:)`` on another thread.
    public func set<Value: Encodable & Sendable>(_ value: Value, forKey key: String) async throws {
        try await Call.untypedWriting { try valet.set(value, forKey: key) }
    }

    /// Calls ``Valet/Valet/value(forKey:as:)`` on another thread.
    public func value<Value: Decodable & Sendable>(
        forKey key: String, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await Call.untypedReading { try valet.value(forKey: key, as: Value.self) }
    }

    /// Calls ``Valet/Valet/migrateObjects(matching:compactMap:)`` on another thread, which also
    /// calls `compactMap`.
    public func migrateObjects(
        matching query: sending [String: AnyHashable],
        compactMap:
            @escaping @Sendable (
                MigratableKeyValuePair<AnyHashable>
            ) throws -> MigratableKeyValuePair<String>?
    ) async throws {
        let sent = SentQuery(query)
        try await Call.untypedWriting {
            try valet.migrateObjects(matching: sent.query, compactMap: compactMap)
        }
    }

    /// Calls ``Valet/Valet/migrateObjects(matching:removeOnCompletion:)`` on another thread.
    public func migrateObjects(
        matching query: sending [String: AnyHashable], removeOnCompletion: Bool
    ) async throws {
        let sent = SentQuery(query)
        try await Call.untypedWriting {
            try valet.migrateObjects(matching: sent.query, removeOnCompletion: removeOnCompletion)
        }
    }

    /// Calls ``Valet/Valet/migrateObjects(from:compactMap:)`` on another thread, which also calls
    /// `compactMap`.
    public func migrateObjects(
        from other: Valet,
        compactMap:
            @escaping @Sendable (
                MigratableKeyValuePair<AnyHashable>
            ) throws -> MigratableKeyValuePair<String>?
    ) async throws {
        try await Call.untypedWriting {
            try valet.migrateObjects(from: other, compactMap: compactMap)
        }
    }

    /// Calls ``Valet/Valet/migrateObjects(from:removeOnCompletion:)`` on another thread.
    public func migrateObjects(from other: Valet, removeOnCompletion: Bool) async throws {
        try await Call.untypedWriting {
            try valet.migrateObjects(from: other, removeOnCompletion: removeOnCompletion)
        }
    }

    /// Calls ``Valet/Valet/migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion:)`` on
    /// another thread.
    public func migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion: Bool) async throws {
        try await Call.untypedWriting {
            try valet.migrateObjectsFromAlwaysAccessibleValet(
                removeOnCompletion: removeOnCompletion)
        }
    }

    /// Calls
    /// ``Valet/Valet/migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(removeOnCompletion:)``
    /// on another thread.
    public func migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(
        removeOnCompletion: Bool
    ) async throws {
        try await Call.untypedWriting {
            try valet.migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(
                removeOnCompletion: removeOnCompletion)
        }
    }
}
