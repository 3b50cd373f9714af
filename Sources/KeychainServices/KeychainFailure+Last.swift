// SPDX-License-Identifier: Apache-2.0

internal import Foundation
public import ValetKeychainModel

// A module that re-exports one of these two names brings the member `last`, too, under
// `MemberImportVisibility`.

/// The status that a call returns: 0, or one of the `errSec…` codes.
public typealias OSStatus = Int32
/// No error: `errSecSuccess` by its older name.
public let noErr: OSStatus = 0

extension KeychainFailure {
    /// The last failure of a keychain call on this thread; nil when there was none.
    ///
    /// Like `errno` it is not reset by calls that work.
    public package(set) static var last: KeychainFailure? {
        get { (Thread.current.threadDictionary[lastKey] as? Memory)?.failure }
        set {
            let thread = Thread.current.threadDictionary
            if let memory = thread[lastKey] as? Memory {
                memory.failure = newValue
            } else {
                thread[lastKey] = Memory(newValue)
            }
        }
    }

    private static let lastKey = "valet.KeychainFailure.last"

    /// What a thread keeps: an object, which is three times as fast to set as a value.
    private final class Memory {
        var failure: KeychainFailure?

        init(_ failure: KeychainFailure?) {
            self.failure = failure
        }
    }
}
