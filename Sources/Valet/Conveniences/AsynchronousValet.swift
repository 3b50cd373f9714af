// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainModel

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
extension Valet {
    /// The same valet for tasks: no call blocks the thread that the task runs on.
    public var asynchronous: AsynchronousValet { AsynchronousValet(self) }
}

/// A valet whose calls run on threads of their own, off every executor.
///
/// Each call does and throws what the one of the same name of ``Valet/Valet`` does. When the task
/// is cancelled, a call that has not begun does nothing, and one that reads gives up waiting: both
/// throw `userCancelled`. One that writes and has begun is waited for, within the bounds that every
/// call has: its outcome would be unknown otherwise. On Linux `KeychainFailure.last` tells more
/// right after a call has thrown, as long as nothing was awaited in between.
@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
public struct AsynchronousValet: Hashable, Sendable {
    /// The valet that does the work.
    public let valet: Valet

    init(_ valet: Valet) {
        self.valet = valet
    }

    /// ``Valet/Valet/canAccessKeychain()``; false, too, if the task is cancelled.
    public func canAccessKeychain() async -> Bool {
        let valet = valet
        let isAccessible = try? await Call.writing { () throws(KeychainError) in
            valet.canAccessKeychain()
        }
        return isAccessible ?? false
    }

    /// ``Valet/Valet/setObject(_:forKey:)``
    public func setObject(_ object: Data, forKey key: String) async throws(KeychainError) {
        let valet = valet
        try await Call.writing { () throws(KeychainError) in
            try valet.setObject(object, forKey: key)
        }
    }

    /// ``Valet/Valet/object(forKey:)``
    public func object(forKey key: String) async throws(KeychainError) -> Data {
        let valet = valet
        return try await Call.reading { () throws(KeychainError) in
            try valet.object(forKey: key)
        }
    }

    /// ``Valet/Valet/setString(_:forKey:)``
    public func setString(_ string: String, forKey key: String) async throws(KeychainError) {
        let valet = valet
        try await Call.writing { () throws(KeychainError) in
            try valet.setString(string, forKey: key)
        }
    }

    /// ``Valet/Valet/string(forKey:)``
    public func string(forKey key: String) async throws(KeychainError) -> String {
        let valet = valet
        return try await Call.reading { () throws(KeychainError) in
            try valet.string(forKey: key)
        }
    }

    /// ``Valet/Valet/containsObject(forKey:)``
    public func containsObject(forKey key: String) async throws(KeychainError) -> Bool {
        let valet = valet
        return try await Call.reading { () throws(KeychainError) in
            try valet.containsObject(forKey: key)
        }
    }

    /// ``Valet/Valet/allKeys()``
    public func allKeys() async throws(KeychainError) -> Set<String> {
        let valet = valet
        return try await Call.reading { () throws(KeychainError) in try valet.allKeys() }
    }

    /// ``Valet/Valet/removeObject(forKey:)``
    public func removeObject(forKey key: String) async throws(KeychainError) {
        let valet = valet
        try await Call.writing { () throws(KeychainError) in
            try valet.removeObject(forKey: key)
        }
    }

    /// ``Valet/Valet/removeAllObjects()``
    public func removeAllObjects() async throws(KeychainError) {
        let valet = valet
        try await Call.writing { () throws(KeychainError) in try valet.removeAllObjects() }
    }

    /// ``Valet/Valet/objects(forKeys:)``
    public func objects(
        forKeys keys: some Sequence<String>
    ) async throws(KeychainError) -> [String: Data] {
        let (valet, keys) = (valet, Set(keys))
        return try await Call.reading { () throws(KeychainError) in
            try valet.objects(forKeys: keys)
        }
    }

    /// ``Valet/Valet/setObjects(_:)``
    public func setObjects(_ objects: [String: Data]) async throws(KeychainError) {
        let valet = valet
        try await Call.writing { () throws(KeychainError) in try valet.setObjects(objects) }
    }
}
