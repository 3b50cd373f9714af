// SPDX-License-Identifier: Apache-2.0

internal import UserPresence

extension CLIError {
    /// What it means for a command that nobody answered.
    init(_ error: UserPresenceError) {
        var message = "could not \(error.operation): "
        message +=
            error.systemError == 0
            ? error.code.explanation : Terminal.text(forSystemError: error.systemError)
        let code: ExitCode =
            switch error.code {
            case .tooLong, .empty: .usage
            default: .failure
            }
        self.init(code, message, hint: error.hint)
    }
}
