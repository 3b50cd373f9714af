// SPDX-License-Identifier: Apache-2.0

/// What the user has to do to be authenticated.
///
/// The raw values are those of Apple's systems. New policies may come.
public enum LAPolicy: Int, Sendable {
    /// Biometry, and nothing else.
    case deviceOwnerAuthenticationWithBiometrics = 1
    /// Biometry if it is available, else the keychain's passcode.
    case deviceOwnerAuthentication = 2
    /// A device that is near: not supported here.
    case deviceOwnerAuthenticationWithCompanion = 3
    /// Biometry, or a device that is near: biometry here.
    case deviceOwnerAuthenticationWithBiometricsOrCompanion = 4
    /// A watch on the wrist: not supported here.
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

/// What an access control is evaluated for. The raw values are those of Apple's systems.
public enum LAAccessControlOperation: Int, Sendable {
    /// Storing a new item: never needs the user.
    case createItem = 0
    /// Reading an item.
    case useItem = 1
    /// Making a key: never needs the user.
    case createKey = 2
    /// Signing with a key.
    case useKeySign = 3
    /// Decrypting with a key.
    case useKeyDecrypt = 4
    /// Agreeing on a key with another.
    case useKeyKeyExchange = 5
}

/// The kinds of biometry. The raw values are those of Apple's systems.
public enum LABiometryType: Int, Sendable {
    /// None: there is no reader.
    case none = 0
    /// Fingers. A fingerprint reader of any maker goes by this name.
    case touchID = 1
    /// Faces; never found here.
    case faceID = 2
    /// Eyes; never found here.
    case opticID = 4

    /// The name that older code has for ``none``.
    @available(*, deprecated, renamed: "none")
    public static var LABiometryNone: LABiometryType { .none }
}

/// The credentials that an application can set in a context.
public enum LACredentialType: Int, Sendable {
    /// The application password of items with the access control `applicationPassword`.
    case applicationPassword = 0
    /// The keychain's passcode, which an application has asked for in its own way. Not on Apple's
    /// systems.
    case passcode = -1
    /// The PIN of a smart card: not supported here, and setting it is refused.
    case smartCardPIN = -3
}
