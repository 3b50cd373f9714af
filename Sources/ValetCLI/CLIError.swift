// SPDX-License-Identifier: Apache-2.0

/// `ValetCLI` turns a command line into requests to the keychain.
///
/// What ends a command early: one line for people, an exit code for scripts.
struct CLIError: Error, Hashable, Sendable {
    /// What the process exits with; never ``ExitCode/success``.
    let code: ExitCode
    /// What is wrong: lower case, no full stop, never a value.
    let message: String
    /// What helps.
    let hint: String?

    /// A failure that the process ends with.
    init(_ code: ExitCode, _ message: String, hint: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }

    /// A command line that cannot be understood.
    static func usage(_ message: String, hint: String? = nil) -> CLIError {
        CLIError(.usage, message, hint: hint)
    }
}
