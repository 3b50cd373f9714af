// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// Where a backup is to go, and what is asked of it.
package struct BackupRequest: Sendable {
    /// The file; its folder must exist and must not be one of the keychain's own.
    package let path: String
    /// Whether it may take the place of a file that is there.
    package var isReplacing = false
    /// Whether damaged items are left out; else they keep the backup from being made.
    package var skipsDamaged = false
    /// What a guess of the passphrase will cost; nil for what this machine can bear.
    package var cost: Argon2Cost?

    /// A backup in a new file, which has every item that may leave the device.
    package init(path: String) {
        self.path = path
    }
}

/// What a backup holds, and what it does not.
package struct BackupReport: Hashable, Sendable {
    /// The items in it.
    package var itemCount = 0
    /// Items that are left out because they may not leave the device.
    package var thisDeviceOnlyCount = 0
    /// Items that are left out because a person has to allow each use of them.
    package var accessControlledCount = 0
    /// Items that are left out because they are damaged.
    package var damagedCount = 0
}
