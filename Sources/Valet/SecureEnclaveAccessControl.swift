// SPDX-License-Identifier: Apache-2.0

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
}
