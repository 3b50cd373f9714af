// SPDX-License-Identifier: Apache-2.0

public import Foundation

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
extension SinglePromptSecureEnclaveValet {
    /// The same valet for tasks: no call blocks the thread that the task runs on.
    public var asynchronous: AsynchronousSinglePromptSecureEnclaveValet {
        AsynchronousSinglePromptSecureEnclaveValet(self)
    }
}

/// A valet that asks a person once, whose calls run on threads of their own, off every executor.
///
/// Each call does and throws what the one of the same name of ``SinglePromptSecureEnclaveValet``
/// does. When the task is cancelled, a call that has not begun does nothing, and one that reads
/// gives up waiting: both throw `userCancelled`. The question stays open, for other reads of the
/// valet may wait for the same answer: ``requirePromptOnNextAccess()`` ends it. A call that writes
/// and has begun is waited for: its outcome would be unknown otherwise.
@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
public struct AsynchronousSinglePromptSecureEnclaveValet: Hashable, Sendable {
    /// The valet that does the work.
    public let valet: SinglePromptSecureEnclaveValet

    init(_ valet: SinglePromptSecureEnclaveValet) {
        self.valet = valet
    }

    /// ``SinglePromptSecureEnclaveValet/canAccessKeychain()``; false also if the task is cancelled.
    public func canAccessKeychain() async -> Bool {
        let valet = valet
        let isAccessible = try? await Call.writing { () throws(KeychainError) in
            valet.canAccessKeychain()
        }
        return isAccessible ?? false
    }

    /// ``SinglePromptSecureEnclaveValet/setObject(_:forKey:)``
    public func setObject(_ object: Data, forKey key: String) async throws(KeychainError) {
        let enclave = valet.enclave
        try await Call.writing { () throws(KeychainError) in
            try enclave.set(object, key)
        }
    }

    /// ``SinglePromptSecureEnclaveValet/object(forKey:withPrompt:)``
    public func object(
        forKey key: String, withPrompt userPrompt: String
    ) async throws(KeychainError) -> Data {
        let (enclave, remembered) = (valet.enclave, valet.remembered)
        return try await Call.reading { () throws(KeychainError) in
            try enclave.object(key, remembered.current.saying(userPrompt))
        }
    }

    /// ``SinglePromptSecureEnclaveValet/containsObject(forKey:)``
    public func containsObject(forKey key: String) async throws(KeychainError) -> Bool {
        let enclave = valet.enclave
        return try await Call.reading { () throws(KeychainError) in
            try enclave.contains(key)
        }
    }

    /// ``SinglePromptSecureEnclaveValet/setString(_:forKey:)``
    public func setString(_ string: String, forKey key: String) async throws(KeychainError) {
        let enclave = valet.enclave
        try await Call.writing { () throws(KeychainError) in
            try enclave.set(Data(string.utf8), key)
        }
    }

    /// ``SinglePromptSecureEnclaveValet/string(forKey:withPrompt:)``
    public func string(
        forKey key: String, withPrompt userPrompt: String
    ) async throws(KeychainError) -> String {
        let (enclave, remembered) = (valet.enclave, valet.remembered)
        return try await Call.reading { () throws(KeychainError) in
            try enclave.string(key, remembered.current.saying(userPrompt))
        }
    }

    /// ``SinglePromptSecureEnclaveValet/requirePromptOnNextAccess()``, which waits for nothing.
    public func requirePromptOnNextAccess() {
        valet.requirePromptOnNextAccess()
    }

    /// ``SinglePromptSecureEnclaveValet/allKeys(userPrompt:)``
    public func allKeys(userPrompt: String) async throws(KeychainError) -> Set<String> {
        let (enclave, remembered) = (valet.enclave, valet.remembered)
        return try await Call.reading { () throws(KeychainError) in
            try enclave.allKeys(remembered.current.saying(userPrompt))
        }
    }

    /// ``SinglePromptSecureEnclaveValet/removeObject(forKey:)``
    public func removeObject(forKey key: String) async throws(KeychainError) {
        let enclave = valet.enclave
        try await Call.writing { () throws(KeychainError) in
            try enclave.remove(key)
        }
    }

    /// ``SinglePromptSecureEnclaveValet/removeAllObjects()``
    public func removeAllObjects() async throws(KeychainError) {
        let enclave = valet.enclave
        try await Call.writing { () throws(KeychainError) in
            try enclave.removeAll()
        }
    }

    /// ``SinglePromptSecureEnclaveValet/migrateObjects(matching:removeOnCompletion:)``
    public func migrateObjects(
        matching query: sending [String: AnyHashable], removeOnCompletion: Bool
    ) async throws {
        let (valet, sent) = (valet, SentQuery(query))
        try await Call.untypedWriting {
            try valet.migrateObjects(matching: sent.query, removeOnCompletion: removeOnCompletion)
        }
    }

    /// ``SinglePromptSecureEnclaveValet/migrateObjects(from:removeOnCompletion:)``
    public func migrateObjects(from other: Valet, removeOnCompletion: Bool) async throws {
        let valet = valet
        try await Call.untypedWriting {
            try valet.migrateObjects(from: other, removeOnCompletion: removeOnCompletion)
        }
    }
}
