// SPDX-License-Identifier: Apache-2.0

// An object that this keychain does not have: a name, so that the signatures of code for Apple's
// systems compile. Nobody can make one, and no call returns one.

/// Which programs may use an item of a file keychain. There are no such objects here.
public final class SecAccess: Sendable {
    private init() {}
}

/// The number of the type of access objects.
public func SecAccessGetTypeID() -> UInt { 0x5343_4143 }
