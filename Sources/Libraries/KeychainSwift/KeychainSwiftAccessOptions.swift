// SPDX-License-Identifier: Apache-2.0

// The old names below start with capitals, as in older code.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import ValetKeychainModel

/// When an item of ``KeychainSwift`` may be read, and whether it may leave the device.
public enum KeychainSwiftAccessOptions: Sendable {
    /// While the keychain is unlocked: the default.
    case accessibleWhenUnlocked
    /// While the keychain is unlocked; the item never leaves the device.
    case accessibleWhenUnlockedThisDeviceOnly
    /// From the first unlock after the start of the system.
    case accessibleAfterFirstUnlock
    /// From the first unlock after the start of the system; the item never leaves the device.
    case accessibleAfterFirstUnlockThisDeviceOnly
    /// While the keychain is unlocked, and only if it has a passcode; the item never leaves the
    /// device.
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

/// Names that older code uses.
extension KeychainSwiftAccessOptions {
    /// ``accessibleWhenUnlocked`` by its older name.
    @available(*, deprecated, renamed: "accessibleWhenUnlocked")
    public static var AccessibleWhenUnlocked: Self {
        .accessibleWhenUnlocked
    }

    /// ``accessibleWhenUnlockedThisDeviceOnly`` by its older name.
    @available(*, deprecated, renamed: "accessibleWhenUnlockedThisDeviceOnly")
    public static var AccessibleWhenUnlockedThisDeviceOnly: Self {
        .accessibleWhenUnlockedThisDeviceOnly
    }

    /// ``accessibleAfterFirstUnlock`` by its older name.
    @available(*, deprecated, renamed: "accessibleAfterFirstUnlock")
    public static var AccessibleAfterFirstUnlock: Self {
        .accessibleAfterFirstUnlock
    }

    /// ``accessibleAfterFirstUnlockThisDeviceOnly`` by its older name.
    @available(*, deprecated, renamed: "accessibleAfterFirstUnlockThisDeviceOnly")
    public static var AccessibleAfterFirstUnlockThisDeviceOnly: Self {
        .accessibleAfterFirstUnlockThisDeviceOnly
    }

    /// ``accessibleWhenPasscodeSetThisDeviceOnly`` by its older name.
    @available(*, deprecated, renamed: "accessibleWhenPasscodeSetThisDeviceOnly")
    public static var AccessibleWhenPasscodeSetThisDeviceOnly: Self {
        .accessibleWhenPasscodeSetThisDeviceOnly
    }

    /// ``accessibleAfterFirstUnlock``, which replaced "always".
    @available(*, deprecated, renamed: "accessibleAfterFirstUnlock")
    public static var accessibleAlways: Self { .accessibleAfterFirstUnlock }

    /// ``accessibleAfterFirstUnlockThisDeviceOnly``, which replaced "always, this device only".
    @available(*, deprecated, renamed: "accessibleAfterFirstUnlockThisDeviceOnly")
    public static var accessibleAlwaysThisDeviceOnly: Self {
        .accessibleAfterFirstUnlockThisDeviceOnly
    }

    /// ``accessibleAlways`` by its older name.
    @available(*, deprecated, renamed: "accessibleAfterFirstUnlock")
    public static var AccessibleAlways: Self { .accessibleAfterFirstUnlock }

    /// ``accessibleAlwaysThisDeviceOnly`` by its older name.
    @available(*, deprecated, renamed: "accessibleAfterFirstUnlockThisDeviceOnly")
    public static var AccessibleAlwaysThisDeviceOnly: Self {
        .accessibleAfterFirstUnlockThisDeviceOnly
    }
}
