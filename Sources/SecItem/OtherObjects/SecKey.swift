// SPDX-License-Identifier: Apache-2.0

// An object that this keychain does not have: a name, so that the signatures of code for Apple's
// systems compile. Nobody can make one, and no call returns one.

/// A cryptographic key. There are no such objects here.
public final class SecKey: Sendable {
    private init() {}
}

/// The number of the type of keys.
public func SecKeyGetTypeID() -> UInt { 0x5343_4B59 }
