// SPDX-License-Identifier: Apache-2.0

internal import UserPresence

extension CLIError {
    /// What it means for a command that nobody answered.
    init(_ error: UserPresenceError) {
        let message = "could not \(error.operation): \(error.reason)"
        let code: ExitCode =
            switch error.code {
            case .tooLong, .empty: .usage
            case .cancelled: .denied
            default: .failure
            }
        self.init(code, message, hint: error.hint)
    }
}

extension UserPresenceError {
    /// Why there is no answer, in words.
    var reason: String {
        systemError == 0 ? code.explanation : Terminal.text(forSystemError: systemError)
    }
}
