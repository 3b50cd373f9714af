// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// When the values of a valet may be read.
///
/// The raw values are part of the Objective-C interface and never change.
#if canImport(ObjectiveC)
    @objc(VALAccessibility)
#endif
public enum Accessibility: Int, CaseIterable, Sendable {
    /// While the device is unlocked.
    case whenUnlocked = 1
    /// From the first unlock after the device started.
    case afterFirstUnlock = 2
    /// While the device is unlocked; the value exists only while a passcode is set, and never
    /// leaves the device.
    case whenPasscodeSetThisDeviceOnly = 4
    /// While the device is unlocked; the value never leaves the device.
    case whenUnlockedThisDeviceOnly = 5
    /// From the first unlock after the device started; the value never leaves the device.
    case afterFirstUnlockThisDeviceOnly = 6
}

extension Accessibility: CustomStringConvertible {
    /// The suffix of stored services, such as `AccessibleWhenUnlocked`. It never changes.
    public var description: String { protectionClass.storedName }

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

/// When the values of an iCloud valet may be read.
///
/// iCloud synchronizes the items on Apple's systems. On Linux the devices of a circle share them:
/// see <doc:SharingBetweenDevices>. They are stored apart from local items.
///
/// The raw values are part of the Objective-C interface and never change.
#if canImport(ObjectiveC)
    @objc(VALCloudAccessibility)
#endif
public enum CloudAccessibility: Int, CaseIterable, Sendable {
    /// While the device is unlocked.
    case whenUnlocked = 1
    /// From the first unlock after the device started.
    case afterFirstUnlock = 2
}

extension CloudAccessibility: CustomStringConvertible {
    /// The same accessibility for a local valet.
    public var accessibility: Accessibility {
        switch self {
        case .whenUnlocked: .whenUnlocked
        case .afterFirstUnlock: .afterFirstUnlock
        }
    }

    /// The description of the matching ``Accessibility``.
    public var description: String { accessibility.description }

    /// The value of the `kSecAttrAccessible…` constant of the same name.
    public var secAccessibilityAttribute: String { accessibility.secAccessibilityAttribute }
}
