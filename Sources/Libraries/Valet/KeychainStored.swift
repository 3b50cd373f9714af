// SPDX-License-Identifier: Apache-2.0

/// A property that is stored in a valet.
///
///     @KeychainStored("refresh token", in: .valet(with: identifier, accessibility: .whenUnlocked))
///     var refreshToken: String?
///
/// Reading returns nil if nothing is stored, and also if the keychain fails. Setting nil removes
/// the value. A property cannot throw; the methods of `$refreshToken` can, and its
/// ``failure`` is the last error of the property. Each use calls the keychain: nothing is cached.
@propertyWrapper
public struct KeychainStored<Value: Codable & Sendable>: Sendable {
    /// The key under which the value is stored.
    public let key: String
    private let valet: Valet
    private let memory = Memory()

    // The error of the property's last use. Copies of the wrapper share it.
    private final class Memory: Sendable {
        let failure = Guarded<(any Error)?>(nil)
    }

    /// A property that is stored under `key`. The key must not be empty.
    public init(_ key: String, in valet: Valet) {
        self.key = key
        self.valet = valet
    }

    /// The stored value, as ``Valet/Valet/set(_:forKey:)`` stores it; nil if nothing is stored or
    /// the keychain fails.
    public var wrappedValue: Value? {
        get { remembering { try read() }.flatMap { $0 } }
        nonmutating set { remembering { try write(newValue) } }
    }

    /// The property with its methods that throw, and its last error.
    public var projectedValue: KeychainStored<Value> { self }

    /// The error of the property's last use; nil if it succeeded.
    public var failure: (any Error)? { memory.failure.withLock { $0 } }

    /// Returns the stored value; nil if nothing is stored.
    ///
    /// - Throws: The errors of ``Valet/Valet/value(forKey:as:)``. `itemNotFound` means that the
    ///   stored bytes are not text although `Value` is, or that another program stored the value
    ///   during the call.
    public func read() throws -> Value? {
        try valet.value(forKey: key, as: Value?.self)
    }

    /// Stores `value`; removes the stored value if `value` is nil.
    ///
    /// - Throws: The errors of ``Valet/Valet/set(_:forKey:)`` and, for nil, of
    ///   ``Valet/Valet/removeObject(forKey:)``.
    public func write(_ value: Value?) throws {
        try valet.set(value, forKey: key)
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
