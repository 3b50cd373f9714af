// SPDX-License-Identifier: Apache-2.0

// Objects that this keychain does not have. Only their names exist, so that signatures of code for
// Apple's systems compile. Such an object cannot be made, and no call returns one.

/// An object that equals only itself.
public protocol UnavailableObject: AnyObject, Hashable {}

extension UnavailableObject {
    /// Whether both are the same object.
    public static func == (one: Self, other: Self) -> Bool { one === other }

    /// Equal for the same object.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// A cryptographic key. Does not exist here.
public final class SecKey: UnavailableObject, Sendable {
    private init() {}
}

/// The type id of keys.
public func SecKeyGetTypeID() -> UInt { 0x5343_4B59 }

/// A certificate. Does not exist here.
public final class SecCertificate: UnavailableObject, Sendable {
    private init() {}
}

/// The type id of certificates.
public func SecCertificateGetTypeID() -> UInt { 0x5343_4352 }

/// A private key with its certificate. Does not exist here.
public final class SecIdentity: UnavailableObject, Sendable {
    private init() {}
}

/// The type id of identities.
public func SecIdentityGetTypeID() -> UInt { 0x5343_4944 }

/// What is known of the trust in certificates. Does not exist here.
public final class SecTrust: UnavailableObject, Sendable {
    private init() {}
}

/// The type id of trust objects.
public func SecTrustGetTypeID() -> UInt { 0x5343_5452 }

/// Which programs may use an item of a file keychain. Does not exist here.
public final class SecAccess: UnavailableObject, Sendable {
    private init() {}
}

/// The type id of access objects.
public func SecAccessGetTypeID() -> UInt { 0x5343_4143 }
