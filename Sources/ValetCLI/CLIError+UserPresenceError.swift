// SPDX-License-Identifier: Apache-2.0

internal import ValetUserPresence

extension CLIError {
    /// What it means for a command that nobody answered.
    init(_ error: UserPresenceError) {
        let message = "could not \(error.operation): \(error.reason)"
        let code: ExitCode =
            switch error.code {
            case .tooLong, .severalLines, .empty: .usage
            // An option takes the place of the person: as where there is nobody to agree.
            case .unavailable(.nobodyThere), .unavailable(.interactionOff): .usage
            case .cancelled: .denied
            default: .failure
            }
        let hint: String? =
            switch error.code {
            case .severalLines: "paste one line; nothing of the others was used"
            default: error.hint
            }
        self.init(code, message, hint: hint)
    }
}

extension UserPresenceError {
    /// Why there is no answer, in words.
    var reason: String {
        systemError == 0 ? code.explanation : Terminal.text(forSystemError: systemError)
    }
}
