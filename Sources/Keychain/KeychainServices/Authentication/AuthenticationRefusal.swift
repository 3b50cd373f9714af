// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSystem
internal import ValetUserPresence

/// Why an authentication failed. `LAError` and `KeychainFailure` are made from it
/// (spec/secitem.md §10.6).
package enum AuthenticationRefusal: Error {
    /// The user declined.
    case declined
    /// Three passcodes, passwords or fingers were wrong, or the application's credential was.
    case wrong
    /// The application ended the question.
    case ended
    /// The context had been invalidated before.
    case invalidated
    /// No answer came in time.
    case timedOut
    /// The user prefers the passcode to a finger.
    case passcodePreferred
    /// The user may not be asked, or cannot be reached.
    case notInteractive(SystemError?)
    /// The keychain has no passcode.
    case passcodeNotSet
    /// There is no fingerprint reader.
    case noReader
    /// No finger is enrolled.
    case notEnrolled
    /// There were too many tries with a wrong finger.
    case lockedOut
    /// It needs another device, which Linux does not support.
    case impossible
    /// The keychain could not make a proof.
    case keychain(KeychainFailure)

    /// The refusal for an asker's error. `isEnded`: whether the application ended the question.
    init(_ error: SystemError, isEnded: Bool) {
        self =
            switch error.code {
            case .cancelled: isEnded ? .ended : .declined
            case .timedOut: .timedOut
            case .tooLong, .severalLines, .empty, .mismatch: .wrong
            default: .notInteractive(error)
            }
    }

    /// The refusal for a reader's error.
    init(_ failure: BiometryFailure, isEnded: Bool) {
        self =
            switch failure {
            case .noMatch: .wrong
            case .lockedOut: .lockedOut
            case .noReader: .noReader
            case .notEnrolled: .notEnrolled
            case .cancelled: isEnded ? .ended : .declined
            case .timedOut: .timedOut
            }
    }

    /// Whether the passcode may replace the finger.
    var leavesPasscode: Bool {
        switch self {
        case .wrong, .noReader, .notEnrolled, .lockedOut, .timedOut, .passcodePreferred,
            // There was no place for a notice; the question for the passcode may have one.
            .notInteractive:
            true
        case .declined, .ended, .invalidated, .passcodeNotSet, .impossible, .keychain: false
        }
    }
}

extension KeychainFailure {
    /// The failure of a call for items.
    package init(_ refusal: AuthenticationRefusal) {
        let code: Code
        var message = refusal.explanation
        var hint: String?
        switch refusal {
        case .declined: code = .userCancelled
        case .notInteractive(let error):
            code = .interactionNotAllowed
            if let error { (message, hint) = ("\(error)", error.hint) }
        case .passcodeNotSet:
            code = .authenticationFailed
            hint = "set one with `valet passcode set`"
        case .keychain(let failure):
            self = failure
            return
        case .wrong, .ended, .invalidated, .timedOut, .passcodePreferred, .noReader,
            .notEnrolled, .lockedOut, .impossible:
            code = .authenticationFailed
        }
        self.init(code, during: "authenticate", message: message, hint: hint)
    }
}

extension AuthenticationRefusal {
    /// The message of the failure.
    fileprivate var explanation: String {
        switch self {
        case .declined: "authentication was cancelled"
        case .wrong, .keychain: "authentication failed"
        case .ended: "the application ended the authentication"
        case .invalidated: "the authentication context is no longer valid"
        case .timedOut: "no answer came in time"
        case .passcodePreferred: "another way to authenticate was chosen"
        case .notInteractive: "the user cannot be asked here"
        case .passcodeNotSet: "the keychain has no passcode"
        case .noReader: "there is no fingerprint reader"
        case .notEnrolled: "no finger is enrolled"
        case .lockedOut: "there were too many tries with a wrong finger"
        case .impossible: "other devices are not supported"
        }
    }
}

extension KeychainFailure {
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
