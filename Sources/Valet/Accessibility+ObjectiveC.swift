// SPDX-License-Identifier: Apache-2.0

internal import Foundation

// The declaration stands in this file because its Objective-C name is an attribute under `#if`.

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
    /// While the device is unlocked; exists only while a passcode is set, never leaves the device.
    case whenPasscodeSetThisDeviceOnly = 4
    /// While the device is unlocked; never leaves the device.
    case whenUnlockedThisDeviceOnly = 5
    /// From the first unlock after the device started; never leaves the device.
    case afterFirstUnlockThisDeviceOnly = 6
}
