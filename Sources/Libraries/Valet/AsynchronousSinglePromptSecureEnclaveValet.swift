// SPDX-License-Identifier: Apache-2.0

public import Foundation

// The calls of `SinglePromptSecureEnclaveValet` for tasks, which block no thread of the tasks.

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
extension SinglePromptSecureEnclaveValet {
    /// The same valet for tasks: its calls do not block the task's thread.
    public var asynchronous: AsynchronousSinglePromptSecureEnclaveValet {
        AsynchronousSinglePromptSecureEnclaveValet(self)
    }
}

/// The calls of a ``SinglePromptSecureEnclaveValet`` for tasks. Each runs on another thread, off
/// every executor, and throws the errors of the call that it makes.
///
/// When the task is cancelled, a call that has not begun does nothing, and a call that reads stops
/// waiting: both throw `userCancelled`. The question stays open, because other reads of the valet
/// may wait for the same answer; ``requirePromptOnNextAccess()`` ends it. A call that writes and
/// has begun is waited for, because its outcome would otherwise be unknown.
@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
public struct AsynchronousSinglePromptSecureEnclaveValet: Hashable, Sendable {
    /// The valet whose calls are made.
    public let valet: SinglePromptSecureEnclaveValet

    init(_ valet: SinglePromptSecureEnclaveValet) {
        self.valet = valet
    }

    /// Calls ``SinglePromptSecureEnclaveValet/canAccessKeychain()`` on another thread. False also
    /// if the task is cancelled.
    public func canAccessKeychain() async -> Bool {
        let isAccessible = try? await Call.writing { () throws(KeychainError) in
            valet.canAccessKeychain()
        }
        return isAccessible ?? false
    }

    /// Calls ``SinglePromptSecureEnclaveValet/canMeetAccessControl()`` on another thread. False
    /// also if the task is cancelled.
    public func canMeetAccessControl() async -> Bool {
        let canMeet = try? await Call.reading { () throws(KeychainError) in
            valet.canMeetAccessControl()
        }
        return canMeet ?? false
    }

    /// Calls ``SinglePromptSecureEnclaveValet/setObject(_:forKey:)`` on another thread.
    public func setObject(_ object: Data, forKey key: String) async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in try valet.enclave.set(object, key) }
    }

    /// Calls ``SinglePromptSecureEnclaveValet/object(forKey:withPrompt:)`` on another thread.
    public func object(
        forKey key: String, withPrompt userPrompt: String
    ) async throws(KeychainError) -> Data {
        try await Call.reading { () throws(KeychainError) in
            try valet.enclave.object(key, valet.remembered.current.saying(userPrompt))
        }
    }

    /// Calls ``SinglePromptSecureEnclaveValet/containsObject(forKey:)`` on another thread.
    public func containsObject(forKey key: String) async throws(KeychainError) -> Bool {
        try await Call.reading { () throws(KeychainError) in
            try valet.enclave.contains(key)
        }
    }

    /// Calls ``SinglePromptSecureEnclaveValet/setString(_:forKey:)`` on another thread.
    public func setString(_ string: String, forKey key: String) async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in
            try valet.enclave.set(Data(string.utf8), key)
        }
    }

    /// Calls ``SinglePromptSecureEnclaveValet/string(forKey:withPrompt:)`` on another thread.
    public func string(
        forKey key: String, withPrompt userPrompt: String
    ) async throws(KeychainError) -> String {
        try await Call.reading { () throws(KeychainError) in
            try valet.enclave.string(key, valet.remembered.current.saying(userPrompt))
        }
    }

    /// Calls ``SinglePromptSecureEnclaveValet/requirePromptOnNextAccess()``, which does not wait.
    public func requirePromptOnNextAccess() {
        valet.requirePromptOnNextAccess()
    }

    /// Calls ``SinglePromptSecureEnclaveValet/allKeys(userPrompt:)`` on another thread.
    public func allKeys(userPrompt: String) async throws(KeychainError) -> Set<String> {
        try await Call.reading { () throws(KeychainError) in
            try valet.enclave.allKeys(valet.remembered.current.saying(userPrompt))
        }
    }

    /// Calls ``SinglePromptSecureEnclaveValet/removeObject(forKey:)`` on another thread.
    public func removeObject(forKey key: String) async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in try valet.enclave.remove(key) }
    }

    /// Calls ``SinglePromptSecureEnclaveValet/removeAllObjects()`` on another thread.
    public func removeAllObjects() async throws(KeychainError) {
        try await Call.writing { () throws(KeychainError) in try valet.enclave.removeAll() }
    }

    /// Calls ``SinglePromptSecureEnclaveValet/migrateObjects(matching:removeOnCompletion:)`` on
    /// another thread.
    public func migrateObjects(
        matching query: sending [String: AnyHashable], removeOnCompletion: Bool
    ) async throws {
        let sent = SentQuery(query)
        try await Call.untypedWriting {
            try valet.migrateObjects(matching: sent.query, removeOnCompletion: removeOnCompletion)
        }
    }

    /// Calls ``SinglePromptSecureEnclaveValet/migrateObjects(from:removeOnCompletion:)`` on another
    /// thread.
    public func migrateObjects(from other: Valet, removeOnCompletion: Bool) async throws {
        try await Call.untypedWriting {
            try valet.migrateObjects(from: other, removeOnCompletion: removeOnCompletion)
        }
    }
}
