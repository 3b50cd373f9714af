// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel
internal import ValetKeychainServices

extension AuthenticationRefusal {
    /// The refusal as a context has it.
    var code: LAError.Code {
        switch self {
        case .declined: .userCancel
        case .wrong: .authenticationFailed
        case .ended: .appCancel
        case .invalidated: .invalidContext
        case .timedOut: .systemCancel
        case .passcodePreferred: .userFallback
        case .notInteractive: .notInteractive
        case .passcodeNotSet: .passcodeNotSet
        case .noReader: .biometryNotAvailable
        case .notEnrolled: .biometryNotEnrolled
        case .lockedOut: .biometryLockout
        case .impossible: .companionNotAvailable
        case .keychain(let failure):
            switch failure.code {
            case .userCancelled: .userCancel
            case .interactionNotAllowed: .notInteractive
            case .passcodeNotSet: .passcodeNotSet
            default: .authenticationFailed
            }
        }
    }

    /// The refusal with the failure that it is for the keychain, too.
    var error: LAError {
        LAError(code, userInfo: [NSUnderlyingErrorKey: KeychainFailure(self)])
    }
}
