// SPDX-License-Identifier: Apache-2.0

// Objects that this keychain does not have. Only their names exist, so that signatures of code for
// Apple's systems compile. Such an object cannot be made, and no call returns one.

/// A cryptographic key. Does not exist here.
public final class SecKey: Hashable, Sendable {
    private init() {}

    /// Whether both are the same object.
    public static func == (one: SecKey, other: SecKey) -> Bool { one === other }

    /// Equal for the same object.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The type id of keys.
public func SecKeyGetTypeID() -> UInt { 0x5343_4B59 }

/// A certificate. Does not exist here.
public final class SecCertificate: Hashable, Sendable {
    private init() {}

    /// Whether both are the same object.
    public static func == (one: SecCertificate, other: SecCertificate) -> Bool { one === other }

    /// Equal for the same object.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The type id of certificates.
public func SecCertificateGetTypeID() -> UInt { 0x5343_4352 }

/// A private key with its certificate. Does not exist here.
public final class SecIdentity: Hashable, Sendable {
    private init() {}

    /// Whether both are the same object.
    public static func == (one: SecIdentity, other: SecIdentity) -> Bool { one === other }

    /// Equal for the same object.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The type id of identities.
public func SecIdentityGetTypeID() -> UInt { 0x5343_4944 }

/// What is known of the trust in certificates. Does not exist here.
public final class SecTrust: Hashable, Sendable {
    private init() {}

    /// Whether both are the same object.
    public static func == (one: SecTrust, other: SecTrust) -> Bool { one === other }

    /// Equal for the same object.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The type id of trust objects.
public func SecTrustGetTypeID() -> UInt { 0x5343_5452 }

/// Which programs may use an item of a file keychain. Does not exist here.
public final class SecAccess: Hashable, Sendable {
    private init() {}

    /// Whether both are the same object.
    public static func == (one: SecAccess, other: SecAccess) -> Bool { one === other }

    /// Equal for the same object.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The type id of access objects.
public func SecAccessGetTypeID() -> UInt { 0x5343_4143 }
