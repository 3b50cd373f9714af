// SPDX-License-Identifier: Apache-2.0

package import KeychainModel

/// Keys that come and go together as a keychain is locked and unlocked: docs/FORMAT.md §4.7.
package enum KeyPart: CaseIterable, Hashable, Sendable {
    /// Of the classes ak, aku and akpu: there while the keychain is unlocked.
    case unlockedOnly
    /// Of the classes ck, cku, dk and dku, and the index key: there from the first unlock on.
    case afterFirstUnlock
}

extension ProtectionClass {
    /// The part that the keys of this class belong to.
    package var part: KeyPart {
        switch self {
        case .whenUnlocked, .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly:
            .unlockedOnly
        case .afterFirstUnlock, .always, .afterFirstUnlockThisDeviceOnly, .alwaysThisDeviceOnly:
            .afterFirstUnlock
        }
    }
}
