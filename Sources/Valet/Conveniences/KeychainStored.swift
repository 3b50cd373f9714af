// SPDX-License-Identifier: Apache-2.0

/// A property that is kept in a valet.
///
///     @KeychainStored("refresh token", in: .valet(with: identifier, accessibility: .whenUnlocked))
///     var refreshToken: String?
///
/// Reading gives nil if nothing is stored, and also if it could not be found out; setting nil
/// removes. A property cannot throw: `$refreshToken` can, and knows what went wrong the last time.
/// Each use is a call of the keychain: nothing is kept in memory.
@propertyWrapper
public struct KeychainStored<Value: Codable & Sendable>: Sendable {
    /// The key under which the value is stored.
    public let key: String
    private let valet: Valet
    private let memory = Memory()

    // What the last use of the property came to; copies of the wrapper share it.
    private final class Memory: Sendable {
        let failure = Guarded<(any Error)?>(nil)
    }

    /// A property that is stored under `key`, which must not be empty.
    public init(_ key: String, in valet: Valet) {
        self.key = key
        self.valet = valet
    }

    /// What is stored, in the form of ``Valet/Valet/set(_:forKey:)``.
    public var wrappedValue: Value? {
        get { remembering { try read() }.flatMap { $0 } }
        nonmutating set { remembering { try write(newValue) } }
    }

    /// The same property, for those who want to know what went wrong.
    public var projectedValue: KeychainStored<Value> { self }

    /// Why the last use of the property failed; nil if it worked.
    public var failure: (any Error)? { memory.failure.withLock { $0 } }

    /// What is stored; nil if nothing is.
    ///
    /// - Throws: As ``Valet/Valet/value(forKey:as:)``; `itemNotFound` only if something is stored
    ///   that is no text although `Value` is, or if it was stored by others meanwhile.
    public func read() throws -> Value? {
        do {
            return try valet.value(forKey: key, as: Value.self)
        } catch KeychainError.itemNotFound {
            // Only a keychain that says so itself has nothing: one that cannot be asked fails.
            guard try valet.containsObject(forKey: key) else { return nil }
            throw KeychainError.itemNotFound
        }
    }

    /// Stores `value`, or removes what is stored if there is none.
    ///
    /// - Throws: As ``Valet/Valet/set(_:forKey:)``.
    public func write(_ value: Value?) throws {
        if let value {
            try valet.set(value, forKey: key)
        } else {
            try valet.removeObject(forKey: key)
        }
    }

    @discardableResult
    private func remembering<R>(_ body: () throws -> R) -> R? {
        do {
            let result = try body()
            memory.failure.withLock { $0 = nil }
            return result
        } catch {
            memory.failure.withLock { $0 = error }
            return nil
        }
    }
}
