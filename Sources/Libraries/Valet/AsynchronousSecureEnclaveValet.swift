// SPDX-License-Identifier: Apache-2.0

public import Foundation

// The calls of `SecureEnclaveValet` for tasks, which block no thread of the tasks.

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
extension SecureEnclaveValet {
    /// The same valet for tasks: its calls do not block the task's thread.
    public var asynchronous: AsynchronousSecureEnclaveValet { AsynchronousSecureEnclaveValet(self) }
}

/// The calls of a ``SecureEnclaveValet`` for tasks. Each runs on another thread, off every
/// executor, and throws the errors of the call that it makes.
///
/// When the task is cancelled, a call that has not begun does nothing, and a call that reads stops
/// waiting and ends its question: both throw `userCancelled`. A call that writes and has begun is
/// waited for, because its outcome would otherwise be unknown.
@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
public struct AsynchronousSecureEnclaveValet: Hashable, Sendable {
    /// The valet whose calls are made.
    public let valet: SecureEnclaveValet

    init(_ valet: SecureEnclaveValet) {
        self.valet = valet
    }

    /// Calls ``SecureEnclaveValet/canAccessKeychain()`` on another thread. False also if the task
    /// is cancelled.
    public func canAccessKeychain() async -> Bool {
        let isAccessible = try? await Call.writing { () throws(KeychainError) in
            valet.canAccessKeychain()
        }
        return isAccessible ?? false
    }

    /// Calls ``SecureEnclaveValet/canMeetAccessControl()`` on another thread. False also if
    /// the task is cancelled.
    public func canMeetAccessControl() async -> Bool {
        let canMeet = try? await Call.reading { () throws(KeychainError) in
            valet.canMeetAccessControl()
        }
        return canMeet ?? false
    }

    /// Calls ``SecureEnclaveValet/setObject(_:forKey:)`` on another thread.
    public func setObject(_ object: Data, forKey key: String) async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in try valet.enclave.set(object, key) }
    }

    /// Calls ``SecureEnclaveValet/object(forKey:withPrompt:)`` on another thread.
    public func object(
        forKey key: String, withPrompt userPrompt: String
    ) async throws(KeychainError) -> Data {
        let authentication = valet.enclave.authentication()
        return try await Call.reading(orElse: authentication.forget) { () throws(KeychainError) in
            try valet.enclave.object(key, authentication.saying(userPrompt))
        }
    }

    /// Calls ``SecureEnclaveValet/object(forKey:)`` on another thread.
    public func object(forKey key: String) async throws(KeychainError) -> Data {
        try await object(forKey: key, withPrompt: "")
    }

    /// Calls ``SecureEnclaveValet/containsObject(forKey:)`` on another thread.
    public func containsObject(forKey key: String) async throws(KeychainError) -> Bool {
        try await Call.reading { () throws(KeychainError) in
            try valet.enclave.contains(key)
        }
    }

    /// Calls ``SecureEnclaveValet/setString(_:forKey:)`` on another thread.
    public func setString(_ string: String, forKey key: String) async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in
            try valet.enclave.set(Data(string.utf8), key)
        }
    }

    /// Calls ``SecureEnclaveValet/string(forKey:withPrompt:)`` on another thread.
    public func string(
        forKey key: String, withPrompt userPrompt: String
    ) async throws(KeychainError) -> String {
        let authentication = valet.enclave.authentication()
        return try await Call.reading(orElse: authentication.forget) { () throws(KeychainError) in
            try valet.enclave.string(key, authentication.saying(userPrompt))
        }
    }

    /// Calls ``SecureEnclaveValet/string(forKey:)`` on another thread.
    public func string(forKey key: String) async throws(KeychainError) -> String {
        try await string(forKey: key, withPrompt: "")
    }

    /// Calls ``SecureEnclaveValet/removeObject(forKey:)`` on another thread.
    public func removeObject(forKey key: String) async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in try valet.enclave.remove(key) }
    }

    /// Calls ``SecureEnclaveValet/removeAllObjects()`` on another thread.
    public func removeAllObjects() async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in try valet.enclave.removeAll() }
    }

    /// Calls ``SecureEnclaveValet/migrateObjects(matching:removeOnCompletion:)`` on another thread.
    public func migrateObjects(
        matching query: sending [String: AnyHashable], removeOnCompletion: Bool
    ) async throws {
        let sent = SentQuery(query)
        try await Call.untypedWriting {
            try valet.migrateObjects(matching: sent.query, removeOnCompletion: removeOnCompletion)
        }
    }

    /// Calls the method of that name of ``SecureEnclaveValet`` on another thread.
    public func migrateObjectsFromSinglePromptSecureEnclaveValet(
        withPrompt userPrompt: String = "", removeOnCompletion: Bool
    ) async throws {
        try await Call.untypedWriting {
            try valet.migrateObjectsFromSinglePromptSecureEnclaveValet(
                withPrompt: userPrompt, removeOnCompletion: removeOnCompletion)
        }
    }

    /// Calls ``SecureEnclaveValet/migrateObjects(from:removeOnCompletion:)`` on another thread.
    public func migrateObjects(from other: Valet, removeOnCompletion: Bool) async throws {
        try await Call.untypedWriting {
            try valet.migrateObjects(from: other, removeOnCompletion: removeOnCompletion)
        }
    }
}
