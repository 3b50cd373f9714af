// SPDX-License-Identifier: Apache-2.0

// The spelling of older code. The formatter wants names in lower case, which these are not for.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

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

    /// ``accessibleAfterFirstUnlock``, which has taken the place of "always".
    @available(*, deprecated, renamed: "accessibleAfterFirstUnlock")
    public static var accessibleAlways: Self { .accessibleAfterFirstUnlock }

    /// ``accessibleAfterFirstUnlockThisDeviceOnly``, which has taken the place of "always".
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
