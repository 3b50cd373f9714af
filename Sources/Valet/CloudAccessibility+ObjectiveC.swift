// SPDX-License-Identifier: Apache-2.0

internal import Foundation

// The declaration stands in this file because its Objective-C name is an attribute under `#if`.

/// When the values of an iCloud valet may be read.
///
/// iCloud synchronizes its items on Apple's systems. On Linux they are kept apart from others, and
/// nothing sends them yet.
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
