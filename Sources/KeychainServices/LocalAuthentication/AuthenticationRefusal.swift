// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetUserPresence

/// Why nobody was authenticated: what `LAError` and `KeychainFailure` are made of
/// (spec/secitem.md §10.6).
package enum AuthenticationRefusal: Error {
    /// The person declined.
    case declined
    /// Three passcodes, passwords or fingers were wrong, or the one that the application gave.
    case wrong
    /// The application ended the question.
    case ended
    /// The context had been invalidated before.
    case invalidated
    /// Nobody answered.
    case timedOut
    /// The person prefers the passcode to a finger.
    case passcodePreferred
    /// Nobody may be asked, or can be.
    case notInteractive(UserPresenceError?)
    /// The keychain has no passcode.
    case passcodeNotSet
    /// There is no fingerprint reader.
    case noReader
    /// No finger is enrolled.
    case notEnrolled
    /// There were too many tries with a wrong finger.
    case lockedOut
    /// It takes something that nobody has here: another device.
    case impossible
    /// The keychain could not make a proof.
    case keychain(KeychainFailure)

    /// What an asker's error means; `isEnded` tells whether the question was ended from outside.
    init(_ error: UserPresenceError, isEnded: Bool) {
        self =
            switch error.code {
            case .cancelled: isEnded ? .ended : .declined
            case .timedOut: .timedOut
            case .tooLong, .severalLines, .empty, .mismatch: .wrong
            case .unavailable, .malformed: .notInteractive(error)
            @unknown default: .notInteractive(error)
            }
    }

    /// What a reader's error means.
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

    /// Whether the passcode may take the place of the finger.
    var leavesPasscode: Bool {
        switch self {
        case .wrong, .noReader, .notEnrolled, .lockedOut, .timedOut, .passcodePreferred,
            // There was no place to tell the person; the passcode may have one.
            .notInteractive:
            true
        case .declined, .ended, .invalidated, .passcodeNotSet, .impossible, .keychain: false
        }
    }
}

extension KeychainFailure {
    /// The refusal as a call for items has it.
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
    /// What happened, as a failure says it.
    fileprivate var explanation: String {
        switch self {
        case .declined: "authentication was cancelled"
        case .wrong, .keychain: "authentication failed"
        case .ended: "the application ended the authentication"
        case .invalidated: "the authentication context is no longer valid"
        case .timedOut: "nobody answered in time"
        case .passcodePreferred: "another way to authenticate was chosen"
        case .notInteractive: "nobody can be asked here"
        case .passcodeNotSet: "the keychain has no passcode"
        case .noReader: "there is no fingerprint reader"
        case .notEnrolled: "no finger is enrolled"
        case .lockedOut: "there were too many tries with a wrong finger"
        case .impossible: "there is no other device near"
        }
    }
}
