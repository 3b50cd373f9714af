// SPDX-License-Identifier: Apache-2.0

internal import Foundation
public import KeychainModel

extension KeychainFailure {
    /// The last failure of a keychain call on this thread; nil when there was none.
    ///
    /// Like `errno` it is not reset by calls that work.
    public package(set) static var last: KeychainFailure? {
        get { Thread.current.threadDictionary[lastKey] as? KeychainFailure }
        set { Thread.current.threadDictionary[lastKey] = newValue }
    }

    private static let lastKey = "valet.KeychainFailure.last"
}
