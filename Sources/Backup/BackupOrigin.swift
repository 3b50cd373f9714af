// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// Where a backup comes from: what its header says to everybody.
package struct BackupOrigin: Hashable, Sendable {
    /// The keychain that it was made from.
    package let keychainID: KeychainID
    /// When it was made, in milliseconds since 1970.
    package let milliseconds: Int64

    /// Names a keychain and a moment.
    package init(keychainID: KeychainID, milliseconds: Int64) {
        self.keychainID = keychainID
        self.milliseconds = milliseconds
    }
}
