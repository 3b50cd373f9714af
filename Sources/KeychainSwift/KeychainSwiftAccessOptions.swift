// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// When an item of ``KeychainSwift`` may be read, and whether it may leave the device.
public enum KeychainSwiftAccessOptions: Sendable {
    /// While the keychain is unlocked: the default.
    case accessibleWhenUnlocked
    /// While the keychain is unlocked; never leaves the device.
    case accessibleWhenUnlockedThisDeviceOnly
    /// From the first unlock after the start of the system.
    case accessibleAfterFirstUnlock
    /// From the first unlock after the start of the system; never leaves the device.
    case accessibleAfterFirstUnlockThisDeviceOnly
    /// While the keychain is unlocked, and only where it has a passcode; never leaves the device.
    case accessibleWhenPasscodeSetThisDeviceOnly

    var protectionClass: ProtectionClass {
        switch self {
        case .accessibleWhenUnlocked: .whenUnlocked
        case .accessibleWhenUnlockedThisDeviceOnly: .whenUnlockedThisDeviceOnly
        case .accessibleAfterFirstUnlock: .afterFirstUnlock
        case .accessibleAfterFirstUnlockThisDeviceOnly: .afterFirstUnlockThisDeviceOnly
        case .accessibleWhenPasscodeSetThisDeviceOnly: .whenPasscodeSetThisDeviceOnly
        }
    }
}
