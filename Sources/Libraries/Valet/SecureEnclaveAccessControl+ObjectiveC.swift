// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// How the user authenticates before a value is read.
///
/// The raw values are part of the Objective-C interface and never change.
#if canImport(ObjectiveC)
    @objc(VALSecureEnclaveAccessControl)
#endif
public enum SecureEnclaveAccessControl: Int, Sendable {
    /// By biometry or by the passcode.
    case userPresence = 1
    /// By any enrolled finger or face.
    case biometricAny = 2
    /// By a finger or face, as long as the same ones are enrolled as when the value was stored.
    case biometricCurrentSet = 3
    /// By the passcode.
    case devicePasscode = 4
}

extension SecureEnclaveAccessControl: CustomStringConvertible {
    /// The suffix of stored services. It never changes.
    public var description: String { demand.storedName }

    var demand: EnclaveDemand {
        switch self {
        case .userPresence: .userPresence
        case .biometricAny: .biometricAny
        case .biometricCurrentSet: .biometricCurrentSet
        case .devicePasscode: .devicePasscode
        }
    }
}
