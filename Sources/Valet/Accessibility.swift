// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

extension Accessibility: CustomStringConvertible {
    /// The name that stored services end in, such as `AccessibleWhenUnlocked`; it never changes.
    public var description: String {
        switch self {
        case .whenUnlocked: "AccessibleWhenUnlocked"
        case .afterFirstUnlock: "AccessibleAfterFirstUnlock"
        case .whenPasscodeSetThisDeviceOnly: "AccessibleWhenPasscodeSetThisDeviceOnly"
        case .whenUnlockedThisDeviceOnly: "AccessibleWhenUnlockedThisDeviceOnly"
        case .afterFirstUnlockThisDeviceOnly: "AccessibleAfterFirstUnlockThisDeviceOnly"
        }
    }

    /// The value of the `kSecAttrAccessible…` constant of the same name.
    public var secAccessibilityAttribute: String { protectionClass.code }

    var protectionClass: ProtectionClass {
        switch self {
        case .whenUnlocked: .whenUnlocked
        case .afterFirstUnlock: .afterFirstUnlock
        case .whenPasscodeSetThisDeviceOnly: .whenPasscodeSetThisDeviceOnly
        case .whenUnlockedThisDeviceOnly: .whenUnlockedThisDeviceOnly
        case .afterFirstUnlockThisDeviceOnly: .afterFirstUnlockThisDeviceOnly
        }
    }
}
