// SPDX-License-Identifier: Apache-2.0

public import ValetKeychainModel
internal import ValetSystem

// What calls that return a status alone leave behind: the status, and the failure behind it. A
// module that re-exports one of the first two names brings `KeychainFailure.last`, too, under
// `MemberImportVisibility`.

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

/// Runs `body` and keeps what it throws as the thread's last failure.
@inline(__always)
func remembering<R>(
    _ body: () throws(KeychainFailure) -> R
) throws(KeychainFailure) -> R {
    do throws(KeychainFailure) {
        return try body()
    } catch {
        KeychainFailure.last = error
        throw error
    }
}
