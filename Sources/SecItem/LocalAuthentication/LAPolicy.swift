// SPDX-License-Identifier: Apache-2.0

/// What a person has to do to be believed.
///
/// The raw values are those of Apple's systems. New policies may come.
public enum LAPolicy: Int, Sendable {
    /// Biometry, and nothing else.
    case deviceOwnerAuthenticationWithBiometrics = 1
    /// Biometry where it can be had, else the keychain's passcode.
    case deviceOwnerAuthentication = 2
    /// A device that is near: there is none here.
    case deviceOwnerAuthenticationWithCompanion = 3
    /// Biometry, or a device that is near: biometry here.
    case deviceOwnerAuthenticationWithBiometricsOrCompanion = 4
    /// A watch on the wrist: there is none here.
    case deviceOwnerAuthenticationWithWristDetection = 5

    /// The name that older code has for a device that is near.
    public static var deviceOwnerAuthenticationWithWatch: LAPolicy {
        .deviceOwnerAuthenticationWithCompanion
    }

    /// The name that older code has for biometry, or a device that is near.
    public static var deviceOwnerAuthenticationWithBiometricsOrWatch: LAPolicy {
        .deviceOwnerAuthenticationWithBiometricsOrCompanion
    }
}
