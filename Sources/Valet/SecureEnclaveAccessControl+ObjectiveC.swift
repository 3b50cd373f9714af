// SPDX-License-Identifier: Apache-2.0

internal import Foundation

// The declaration stands in this file because its Objective-C name is an attribute under `#if`.

/// How a person proves to be there before a value is read.
///
/// The raw values are part of the Objective-C interface and never change.
#if canImport(ObjectiveC)
    @objc(VALSecureEnclaveAccessControl)
#endif
public enum SecureEnclaveAccessControl: Int, Sendable {
    /// By biometry or by the passcode.
    case userPresence = 1
    /// By any finger or face that is enrolled.
    case biometricAny = 2
    /// By a finger or face that was enrolled when the value was stored.
    case biometricCurrentSet = 3
    /// By the passcode.
    case devicePasscode = 4
}
