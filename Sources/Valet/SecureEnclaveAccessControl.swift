// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

extension SecureEnclaveAccessControl: CustomStringConvertible {
    /// What stored services end in; it never changes.
    public var description: String {
        switch self {
        case .userPresence: ""
        case .biometricAny: "_AccessControlTouchIDAnyFingerprint"
        case .biometricCurrentSet: "_AccessControlTouchIDCurrentFingerprintSet"
        case .devicePasscode: "_AccessControlDevicePasscode"
        }
    }

    /// Whether nothing but a finger or a face opens what is stored with it.
    var takesBiometry: Bool {
        switch self {
        case .biometricAny, .biometricCurrentSet: true
        case .userPresence, .devicePasscode: false
        }
    }

    /// What items have that are stored with it.
    var accessControl: AccessControl {
        let constraint: AccessControl.Constraints =
            switch self {
            case .userPresence: .userPresence
            case .biometricAny: .biometryAny
            case .biometricCurrentSet: .biometryCurrentSet
            case .devicePasscode: .devicePasscode
            }
        do throws(AccessControl.Contradiction) {
            return try AccessControl(.whenPasscodeSetThisDeviceOnly, constraint)
        } catch {
            preconditionFailure("one constraint alone contradicts nothing")
        }
    }
}
