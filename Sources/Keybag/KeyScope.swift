// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel

/// Keys that come and go together as a keychain is locked and unlocked: docs/FORMAT.md §4.7.
package enum KeyScope: CaseIterable, Hashable, Sendable {
    /// Of the classes ak, aku and akpu: there while the keychain is unlocked.
    case whileUnlocked
    /// Of the classes ck, cku, dk and dku, and the index key: there from the first unlock on.
    case afterFirstUnlock
}

extension ProtectionClass {
    /// The scope that the keys of this class belong to.
    package var scope: KeyScope {
        switch self {
        case .whenUnlocked, .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly:
            .whileUnlocked
        case .afterFirstUnlock, .always, .afterFirstUnlockThisDeviceOnly, .alwaysThisDeviceOnly:
            .afterFirstUnlock
        }
    }
}
