// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSystem
internal import ValetUserPresence

/// The reasons why an authentication failed, in addition to the codes for questions and fingers.
/// `LAError` is made from the cause of the failure (spec/secitem.md §10.6).
extension SystemError.Code {
    /// Three passcodes, passwords or fingers were wrong, or the application's credential was.
    package static let wrongAnswer = Self("wrongAnswer", "authentication failed")
    package static let endedByApplication = Self(
        "endedByApplication", "the application ended the authentication")
    package static let contextInvalidated = Self(
        "contextInvalidated", "the authentication context is no longer valid")
    /// The user prefers the passcode to a finger.
    package static let passcodePreferred = Self(
        "passcodePreferred", "another way to authenticate was chosen")
    /// The user may not be asked, or cannot be reached.
    package static let notInteractive = Self(
        "notInteractive", "the user cannot be asked here")
    package static let noPasscode = Self("noPasscode", "the keychain has no passcode")
    package static let biometryNotAvailable = Self(
        "biometryNotAvailable", "there is no fingerprint reader")
    package static let biometryNotEnrolled = Self(
        "biometryNotEnrolled", "no finger is enrolled")
    package static let biometryLockout = Self(
        "biometryLockout", "there were too many tries with a wrong finger")
    /// The authentication needs another device, which Linux does not support.
    package static let otherDeviceNeeded = Self(
        "otherDeviceNeeded", "other devices are not supported")

    static let declined = Self(cancelled.name, "authentication was cancelled")
    package static let noAnswer = Self(timedOut.name, "no answer came in time")
}

extension KeychainFailure {
    package static func refused(_ cause: SystemError.Code) -> KeychainFailure {
        let code: Code =
            switch cause {
            case .declined: .userCancelled
            case .notInteractive: .interactionNotAllowed
            default: .authenticationFailed
            }
        let failure = KeychainFailure(
            code, during: "authenticate", message: cause.reason,
            hint: cause == .noPasscode ? "set one with `valet passcode set`" : nil)
        return KeychainFailure(failure, cause: cause)
    }

    static func notInteractive(_ error: SystemError) -> KeychainFailure {
        let failure = KeychainFailure(
            .interactionNotAllowed, during: "authenticate", message: "\(error)", hint: error.hint)
        return KeychainFailure(failure, cause: .notInteractive)
    }

    /// The failure of an authentication after an asker has thrown `error`.
    ///
    /// - Parameter isEnded: Whether the application ended the question.
    static func refused(_ error: SystemError, isEnded: Bool) -> KeychainFailure {
        switch error.code {
        case .cancelled: .refused(isEnded ? .endedByApplication : .declined)
        case .timedOut: .refused(.noAnswer)
        case .tooLong, .severalLines, .empty, .mismatch: .refused(.wrongAnswer)
        default: .notInteractive(error)
        }
    }

    static func refused(finger error: SystemError, isEnded: Bool) -> KeychainFailure {
        switch error.code {
        case .noMatch: .refused(.wrongAnswer)
        case .biometryLockout: .refused(.biometryLockout)
        case .nobodyEnrolled: .refused(.biometryNotEnrolled)
        case .cancelled: .refused(isEnded ? .endedByApplication : .declined)
        case .timedOut: .refused(.noAnswer)
        default: .refused(.biometryNotAvailable)
        }
    }

    /// Whether the user may enter the passcode instead, after a finger has failed with this cause.
    var leavesPasscode: Bool {
        switch cause {
        case .wrongAnswer, .biometryNotAvailable, .biometryNotEnrolled, .biometryLockout,
            .noAnswer, .passcodePreferred,
            // There was no place for a notice; the question for the passcode may have one.
            .notInteractive:
            true
        default: false
        }
    }

    /// The failure of `operation` when no passcode could be read.
    init(asking error: SystemError, during operation: String) {
        let code: Code =
            switch error.code {
            case .cancelled: .userCancelled
            case .timedOut: .timedOut
            case .invalidSetting: .invalidRequest
            case .tooLong, .severalLines, .mismatch, .empty, .malformed: .authenticationFailed
            default: .interactionNotAllowed
            }
        self.init(
            KeychainFailure(
                code, during: operation, message: "the passcode was not given: \(error)",
                hint: error.hint),
            systemError: error.systemError ?? 0)
    }
}
