// SPDX-License-Identifier: Apache-2.0

public import Foundation

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
extension SecureEnclaveValet {
    /// The same valet for tasks: no call blocks the thread that the task runs on.
    public var asynchronous: AsynchronousSecureEnclaveValet { AsynchronousSecureEnclaveValet(self) }
}

/// A valet that asks a person at each read, whose calls run on threads of their own, off every
/// executor.
///
/// Each call does and throws what the one of the same name of ``SecureEnclaveValet`` does. When the
/// task is cancelled, a call that has not begun does nothing, and one that reads gives up waiting
/// and ends its question: both throw `userCancelled`. A call that writes and has begun is waited
/// for: its outcome would be unknown otherwise.
@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
public struct AsynchronousSecureEnclaveValet: Hashable, Sendable {
    /// The valet that does the work.
    public let valet: SecureEnclaveValet

    init(_ valet: SecureEnclaveValet) {
        self.valet = valet
    }

    /// ``SecureEnclaveValet/canAccessKeychain()``; false, too, if the task is cancelled.
    public func canAccessKeychain() async -> Bool {
        let valet = valet
        let isAccessible = try? await Call.writing { () throws(KeychainError) in
            valet.canAccessKeychain()
        }
        return isAccessible ?? false
    }

    /// ``SecureEnclaveValet/setObject(_:forKey:)``
    public func setObject(_ object: Data, forKey key: String) async throws(KeychainError) {
        let enclave = valet.enclave
        try await Call.writing { () throws(KeychainError) in
            try enclave.set(object, key)
        }
    }

    /// ``SecureEnclaveValet/object(forKey:withPrompt:)``
    public func object(
        forKey key: String, withPrompt userPrompt: String
    ) async throws(KeychainError) -> Data {
        let (enclave, person) = (valet.enclave, valet.enclave.authentication())
        return try await Call.reading(orElse: person.forget) { () throws(KeychainError) in
            try enclave.object(key, person.saying(userPrompt))
        }
    }

    /// ``SecureEnclaveValet/object(forKey:)``
    public func object(forKey key: String) async throws(KeychainError) -> Data {
        try await object(forKey: key, withPrompt: "")
    }

    /// ``SecureEnclaveValet/containsObject(forKey:)``
    public func containsObject(forKey key: String) async throws(KeychainError) -> Bool {
        let enclave = valet.enclave
        return try await Call.reading { () throws(KeychainError) in
            try enclave.contains(key)
        }
    }

    /// ``SecureEnclaveValet/setString(_:forKey:)``
    public func setString(_ string: String, forKey key: String) async throws(KeychainError) {
        let enclave = valet.enclave
        try await Call.writing { () throws(KeychainError) in
            try enclave.set(Data(string.utf8), key)
        }
    }

    /// ``SecureEnclaveValet/string(forKey:withPrompt:)``
    public func string(
        forKey key: String, withPrompt userPrompt: String
    ) async throws(KeychainError) -> String {
        let (enclave, person) = (valet.enclave, valet.enclave.authentication())
        return try await Call.reading(orElse: person.forget) { () throws(KeychainError) in
            try enclave.string(key, person.saying(userPrompt))
        }
    }

    /// ``SecureEnclaveValet/string(forKey:)``
    public func string(forKey key: String) async throws(KeychainError) -> String {
        try await string(forKey: key, withPrompt: "")
    }

    /// ``SecureEnclaveValet/removeObject(forKey:)``
    public func removeObject(forKey key: String) async throws(KeychainError) {
        let enclave = valet.enclave
        try await Call.writing { () throws(KeychainError) in
            try enclave.remove(key)
        }
    }

    /// ``SecureEnclaveValet/removeAllObjects()``
    public func removeAllObjects() async throws(KeychainError) {
        let enclave = valet.enclave
        try await Call.writing { () throws(KeychainError) in
            try enclave.removeAll()
        }
    }

    /// ``SecureEnclaveValet/migrateObjects(matching:removeOnCompletion:)``
    public func migrateObjects(
        matching query: sending [String: AnyHashable], removeOnCompletion: Bool
    ) async throws {
        let (valet, sent) = (valet, SentQuery(query))
        try await Call.untypedWriting {
            try valet.migrateObjects(matching: sent.query, removeOnCompletion: removeOnCompletion)
        }
    }

    /// The method of that name of ``SecureEnclaveValet``.
    public func migrateObjectsFromSinglePromptSecureEnclaveValet(
        withPrompt userPrompt: String = "", removeOnCompletion: Bool
    ) async throws {
        let valet = valet
        try await Call.untypedWriting {
            try valet.migrateObjectsFromSinglePromptSecureEnclaveValet(
                withPrompt: userPrompt, removeOnCompletion: removeOnCompletion)
        }
    }

    /// ``SecureEnclaveValet/migrateObjects(from:removeOnCompletion:)``
    public func migrateObjects(from other: Valet, removeOnCompletion: Bool) async throws {
        let valet = valet
        try await Call.untypedWriting {
            try valet.migrateObjects(from: other, removeOnCompletion: removeOnCompletion)
        }
    }
}
