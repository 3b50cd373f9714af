// SPDX-License-Identifier: Apache-2.0

// An object that this keychain does not have: a name, so that the signatures of code for Apple's
// systems compile. Nobody can make one, and no call returns one.

/// What is known of the trust in certificates. There are no such objects here.
public final class SecTrust: Sendable {
    private init() {}
}

/// The number of the type of trust objects.
public func SecTrustGetTypeID() -> UInt { 0x5343_5452 }
