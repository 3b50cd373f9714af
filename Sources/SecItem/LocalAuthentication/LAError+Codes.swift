// SPDX-License-Identifier: Apache-2.0

extension LAError {
    /// ``Code/authenticationFailed``
    public static var authenticationFailed: Code { .authenticationFailed }
    /// ``Code/userCancel``
    public static var userCancel: Code { .userCancel }
    /// ``Code/userFallback``
    public static var userFallback: Code { .userFallback }
    /// ``Code/systemCancel``
    public static var systemCancel: Code { .systemCancel }
    /// ``Code/passcodeNotSet``
    public static var passcodeNotSet: Code { .passcodeNotSet }
    /// ``Code/biometryNotAvailable``
    public static var biometryNotAvailable: Code { .biometryNotAvailable }
    /// ``Code/biometryNotEnrolled``
    public static var biometryNotEnrolled: Code { .biometryNotEnrolled }
    /// ``Code/biometryLockout``
    public static var biometryLockout: Code { .biometryLockout }
    /// ``Code/appCancel``
    public static var appCancel: Code { .appCancel }
    /// ``Code/invalidContext``
    public static var invalidContext: Code { .invalidContext }
    /// ``Code/companionNotAvailable``
    public static var companionNotAvailable: Code { .companionNotAvailable }
    /// ``Code/biometryNotPaired``
    public static var biometryNotPaired: Code { .biometryNotPaired }
    /// ``Code/biometryDisconnected``
    public static var biometryDisconnected: Code { .biometryDisconnected }
    /// ``Code/invalidDimensions``
    public static var invalidDimensions: Code { .invalidDimensions }
    /// ``Code/notInteractive``
    public static var notInteractive: Code { .notInteractive }

    /// The name that older code has for ``biometryNotAvailable``.
    public static var touchIDNotAvailable: Code { .biometryNotAvailable }
    /// The name that older code has for ``biometryNotEnrolled``.
    public static var touchIDNotEnrolled: Code { .biometryNotEnrolled }
    /// The name that older code has for ``biometryLockout``.
    public static var touchIDLockout: Code { .biometryLockout }
    /// The name that older code has for ``companionNotAvailable``.
    public static var watchNotAvailable: Code { .companionNotAvailable }
}

extension LAError.Code {
    /// The name that older code has for ``biometryNotAvailable``.
    public static var touchIDNotAvailable: LAError.Code { .biometryNotAvailable }
    /// The name that older code has for ``biometryNotEnrolled``.
    public static var touchIDNotEnrolled: LAError.Code { .biometryNotEnrolled }
    /// The name that older code has for ``biometryLockout``.
    public static var touchIDLockout: LAError.Code { .biometryLockout }
    /// The name that older code has for ``companionNotAvailable``.
    public static var watchNotAvailable: LAError.Code { .companionNotAvailable }

    /// One sentence for a person.
    var explanation: String {
        switch self {
        case .authenticationFailed: "Authentication failed."
        case .userCancel: "Authentication was cancelled."
        case .userFallback: "Another way to authenticate was chosen."
        case .systemCancel: "Nobody answered in time."
        case .passcodeNotSet: "The keychain has no passcode."
        case .biometryNotAvailable: "There is no fingerprint reader."
        case .biometryNotEnrolled: "No finger is enrolled."
        case .biometryLockout: "There were too many tries with a wrong finger."
        case .appCancel: "The application ended the authentication."
        case .invalidContext: "The authentication context is no longer valid."
        case .companionNotAvailable: "There is no other device near."
        case .biometryNotPaired: "The fingerprint reader is not paired."
        case .biometryDisconnected: "The fingerprint reader is gone."
        case .invalidDimensions: "There is no room for what is to be shown."
        case .notInteractive: "Nobody can be asked here."
        }
    }
}
