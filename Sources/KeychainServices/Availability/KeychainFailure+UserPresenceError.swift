// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetUserPresence

extension KeychainFailure {
    /// What it means for `operation` that there is no passcode.
    init(_ error: UserPresenceError, during operation: String) {
        let code: Code =
            switch error.code {
            case .cancelled: .userCancelled
            case .timedOut: .timedOut
            case .unavailable(.setting): .invalidRequest
            case .unavailable: .interactionNotAllowed
            case .tooLong, .severalLines, .mismatch, .empty, .malformed: .authenticationFailed
            @unknown default: .interactionNotAllowed
            }
        self.init(
            KeychainFailure(
                code, during: operation, message: "the passcode was not given: \(error)",
                hint: error.hint),
            systemError: error.systemError)
    }
}
