// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// The accessibilities that the command offers, as it spells them.
enum Accessibility: String, CaseIterable, Sendable {
    case whenUnlocked = "when-unlocked"
    case afterFirstUnlock = "after-first-unlock"
    case whenPasscodeSetThisDeviceOnly = "when-passcode-set-this-device-only"
    case whenUnlockedThisDeviceOnly = "when-unlocked-this-device-only"
    case afterFirstUnlockThisDeviceOnly = "after-first-unlock-this-device-only"

    /// The class that protects the items.
    var protectionClass: ProtectionClass {
        switch self {
        case .whenUnlocked: .whenUnlocked
        case .afterFirstUnlock: .afterFirstUnlock
        case .whenPasscodeSetThisDeviceOnly: .whenPasscodeSetThisDeviceOnly
        case .whenUnlockedThisDeviceOnly: .whenUnlockedThisDeviceOnly
        case .afterFirstUnlockThisDeviceOnly: .afterFirstUnlockThisDeviceOnly
        }
    }

    /// The name that service names end in (docs/FORMAT.md §8).
    var storedName: String {
        switch self {
        case .whenUnlocked: "AccessibleWhenUnlocked"
        case .afterFirstUnlock: "AccessibleAfterFirstUnlock"
        case .whenPasscodeSetThisDeviceOnly: "AccessibleWhenPasscodeSetThisDeviceOnly"
        case .whenUnlockedThisDeviceOnly: "AccessibleWhenUnlockedThisDeviceOnly"
        case .afterFirstUnlockThisDeviceOnly: "AccessibleAfterFirstUnlockThisDeviceOnly"
        }
    }

    /// How `list` shows a class; the retired ones have names, too.
    static func name(of protectionClass: ProtectionClass) -> String {
        switch protectionClass {
        case .whenUnlocked: Self.whenUnlocked.rawValue
        case .afterFirstUnlock: Self.afterFirstUnlock.rawValue
        case .always: "always"
        case .whenUnlockedThisDeviceOnly: Self.whenUnlockedThisDeviceOnly.rawValue
        case .afterFirstUnlockThisDeviceOnly: Self.afterFirstUnlockThisDeviceOnly.rawValue
        case .alwaysThisDeviceOnly: "always-this-device-only"
        case .whenPasscodeSetThisDeviceOnly: Self.whenPasscodeSetThisDeviceOnly.rawValue
        }
    }
}
