// SPDX-License-Identifier: Apache-2.0

public import ValetKeychainModel
package import ValetKeychainStore
internal import ValetSystem

// `OSStatus`, and the last failure of a thread, for calls that return only a status. They share a
// file because modules re-export `OSStatus` from here: under `MemberImportVisibility` that also
// makes `KeychainFailure.last` visible.

/// The status that a call returns: 0, or one of the `errSec…` codes.
public typealias OSStatus = Int32
/// No error: `errSecSuccess` by its older name.
public let noErr: OSStatus = 0

extension KeychainFailure {
    /// The last failure of a keychain call on this thread; nil before the first failure.
    ///
    /// Like `errno` it is not reset by calls that succeed.
    public package(set) static var last: KeychainFailure? {
        get { lastOfThread.value }
        set { lastOfThread.value = newValue }
    }

    private static let lastOfThread = ThreadLocal<KeychainFailure>()
}

@inline(__always)
func remembering<R>(
    _ body: () throws(KeychainFailure) -> R
) throws(KeychainFailure) -> R {
    do {
        return try body()
    } catch {
        KeychainFailure.last = error
        throw error
    }
}

extension FoundItems {
    /// The items that can be read, for lists that have no other place to report damage. The damage
    /// becomes the thread's last failure.
    package func itemsReportingDamage() -> [Item] {
        var damage: KeychainFailure?
        let items = readable(noting: &damage)
        if let damage { KeychainFailure.last = damage }
        return items
    }

    /// ``items`` for calls of libraries: a failure becomes the thread's last one.
    package func itemsUnlessDamaged() throws(KeychainFailure) -> [Item] {
        try remembering { () throws(KeychainFailure) in try items }
    }
}
