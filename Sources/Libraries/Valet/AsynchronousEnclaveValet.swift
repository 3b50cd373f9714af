// SPDX-License-Identifier: Apache-2.0

public import Foundation

// The calls of `SecureEnclaveValet` and `SinglePromptSecureEnclaveValet` for tasks. They do not
// block the task's thread.

/// The calls of a ``SecureEnclaveValet`` for tasks.
@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
public typealias AsynchronousSecureEnclaveValet = AsynchronousEnclaveValet<SecureEnclaveValet>

/// The calls of a ``SinglePromptSecureEnclaveValet`` for tasks.
@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
public typealias AsynchronousSinglePromptSecureEnclaveValet =
    AsynchronousEnclaveValet<SinglePromptSecureEnclaveValet>

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
extension SecureEnclaveValet {
    /// The same valet for tasks: its calls do not block the task's thread.
    public var asynchronous: AsynchronousSecureEnclaveValet {
        AsynchronousEnclaveValet(valet: self, enclave: enclave, remembered: nil)
    }
}

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
extension SinglePromptSecureEnclaveValet {
    /// The same valet for tasks: its calls do not block the task's thread.
    public var asynchronous: AsynchronousSinglePromptSecureEnclaveValet {
        AsynchronousEnclaveValet(valet: self, enclave: enclave, remembered: remembered)
    }
}

/// The calls of a ``SecureEnclaveValet`` or a ``SinglePromptSecureEnclaveValet`` for tasks. Each
/// runs on another thread, off every executor, and throws the errors of the call that it makes.
///
/// When the task is cancelled, a call that has not begun does nothing, and a call that reads stops
/// waiting: both throw `userCancelled`. The question of a ``SecureEnclaveValet`` ends; that of a
/// ``SinglePromptSecureEnclaveValet`` stays open, because other reads may wait for the same answer,
/// until ``requirePromptOnNextAccess()``. A call that writes and has begun is waited for, because
/// its outcome would otherwise be unknown.
@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
public struct AsynchronousEnclaveValet<Original: Hashable & Sendable>: Hashable, Sendable {
    /// The valet whose calls are made.
    public let valet: Original
    let enclave: Enclave
    /// What the user has proved to a single-prompt valet; nil for a valet that asks each time.
    let remembered: RememberedAuthentication?

    /// Whether both make the calls of equal valets.
    public static func == (one: Self, other: Self) -> Bool { one.valet == other.valet }

    /// Hashes the valet.
    public func hash(into hasher: inout Hasher) { hasher.combine(valet) }

    /// Calls ``SecureEnclaveValet/canAccessKeychain()`` on another thread. False also if the task
    /// is cancelled.
    public func canAccessKeychain() async -> Bool {
        let isAccessible = try? await Call.writing { () throws(KeychainError) in
            enclave.canAccessKeychain
        }
        return isAccessible ?? false
    }

    /// Calls ``SecureEnclaveValet/canMeetAccessControl()`` on another thread. False also if the
    /// task is cancelled.
    public func canMeetAccessControl() async -> Bool {
        let canMeet = try? await Call.reading { () throws(KeychainError) in
            enclave.canMeetAccessControl
        }
        return canMeet ?? false
    }

    /// Calls ``SecureEnclaveValet/setObject(_:forKey:)`` on another thread.
    public func setObject(_ object: Data, forKey key: String) async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in try enclave.set(object, key) }
    }

    /// Calls ``SecureEnclaveValet/object(forKey:withPrompt:)`` on another thread.
    public func object(
        forKey key: String, withPrompt userPrompt: String
    ) async throws(KeychainError) -> Data {
        try await asking { authentication throws(KeychainError) in
            try enclave.object(key, authentication.saying(userPrompt))
        }
    }

    /// Calls ``SecureEnclaveValet/containsObject(forKey:)`` on another thread.
    public func containsObject(forKey key: String) async throws(KeychainError) -> Bool {
        try await Call.reading { () throws(KeychainError) in try enclave.contains(key) }
    }

    /// Calls ``SecureEnclaveValet/setString(_:forKey:)`` on another thread.
    public func setString(_ string: String, forKey key: String) async throws(KeychainError) {
        try await setObject(Data(string.utf8), forKey: key)
    }

    /// Calls ``SecureEnclaveValet/string(forKey:withPrompt:)`` on another thread.
    public func string(
        forKey key: String, withPrompt userPrompt: String
    ) async throws(KeychainError) -> String {
        try await asking { authentication throws(KeychainError) in
            try enclave.string(key, authentication.saying(userPrompt))
        }
    }

    /// Calls ``SecureEnclaveValet/removeObject(forKey:)`` on another thread.
    public func removeObject(forKey key: String) async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in try enclave.remove(key) }
    }

    /// Calls ``SecureEnclaveValet/removeAllObjects()`` on another thread.
    public func removeAllObjects() async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in try enclave.removeAll() }
    }

    /// Calls ``SecureEnclaveValet/migrateObjects(matching:removeOnCompletion:)`` on another thread.
    public func migrateObjects(
        matching query: sending [String: AnyHashable], removeOnCompletion: Bool
    ) async throws {
        let sent = SentQuery(query)
        try await Call.untypedWriting {
            try enclave.migrate(matching: sent.query, removing: removeOnCompletion)
        }
    }

    /// Calls ``SecureEnclaveValet/migrateObjects(from:removeOnCompletion:)`` on another thread.
    public func migrateObjects(from other: Valet, removeOnCompletion: Bool) async throws {
        try await Call.untypedWriting {
            try enclave.migrate(from: other, removing: removeOnCompletion)
        }
    }

    func asking<Value: Sendable>(
        _ body: @escaping @Sendable (Authentication) throws(KeychainError) -> Value
    ) async throws(KeychainError) -> Value {
        guard let remembered else {
            let authentication = enclave.authentication()
            return try await Call.reading(orElse: authentication.forget) {
                () throws(KeychainError) in
                try body(authentication)
            }
        }
        return try await Call.reading { () throws(KeychainError) in try body(remembered.current) }
    }
}

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
extension AsynchronousEnclaveValet<SecureEnclaveValet> {
    /// Calls ``SecureEnclaveValet/object(forKey:)`` on another thread.
    public func object(forKey key: String) async throws(KeychainError) -> Data {
        try await object(forKey: key, withPrompt: "")
    }

    /// Calls ``SecureEnclaveValet/string(forKey:)`` on another thread.
    public func string(forKey key: String) async throws(KeychainError) -> String {
        try await string(forKey: key, withPrompt: "")
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
}

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
extension AsynchronousEnclaveValet<SinglePromptSecureEnclaveValet> {
    /// Calls ``SinglePromptSecureEnclaveValet/requirePromptOnNextAccess()``, which does not wait.
    public func requirePromptOnNextAccess() {
        valet.requirePromptOnNextAccess()
    }

    /// Calls ``SinglePromptSecureEnclaveValet/allKeys(userPrompt:)`` on another thread.
    public func allKeys(userPrompt: String) async throws(KeychainError) -> Set<String> {
        try await asking { authentication throws(KeychainError) in
            try enclave.allKeys(authentication.saying(userPrompt))
        }
    }
}
