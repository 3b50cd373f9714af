// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

// Asks a person for a secret.
//
// The module knows terminals, pinentry and inherited descriptors, and not what a passcode opens.
// Its calls wait for a person: never make them on the cooperative thread pool. Its errors never
// contain input.

/// Why a person has given no answer, beside `cancelled`, `timedOut` and `malformed`.
extension SystemError.Code {
    /// The answer has more bytes than ``PasscodePrompt/maximumByteCount``.
    package static let tooLong = Self("tooLong", "the answer is too long")
    /// Several lines were pasted, and one was asked for; none is used.
    package static let severalLines = Self("severalLines", "more than one line was entered")
    /// Two entries differed, three times.
    package static let mismatch = Self("mismatch", "the two entries differ")
    /// The answer is empty, which is not allowed.
    package static let empty = Self("empty", "the answer is empty")
    /// There is neither a terminal nor a pinentry with a screen.
    package static let nobodyThere = Self("nobodyThere", "there is no terminal and no pinentry")
    package static let inBackground = Self("inBackground", "the program runs in the background")
    /// The terminal cannot be used; `systemError` says why.
    package static let terminalUnusable = Self("terminalUnusable", "the terminal cannot be used")
    package static let pinentryUnusable = Self(
        "pinentryUnusable", "the pinentry program cannot be used")
    package static let descriptorUnreadable = Self(
        "descriptorUnreadable", "the descriptor cannot be read")
    /// An environment variable that says how to ask has an invalid value; the hint names it.
    package static let invalidSetting = Self("invalidSetting", "its value is invalid")
}

extension SystemError {
    /// An error of asking. `systemError` is 0 where the system gave no reason.
    package static func asking(
        _ code: Code, during operation: String = "ask for the passcode", hint: String? = nil,
        systemError: Int32 = 0
    ) -> SystemError {
        SystemError(
            code, during: operation, hint: hint,
            systemError: systemError == 0 ? nil : systemError)
    }

    /// What this error means for a question. `busy` comes only from waiting for a turn to ask.
    func ofAsking(
        _ code: Code, during operation: String = "ask for the passcode", hint: String? = nil
    ) -> SystemError {
        .asking(
            self.code == .busy ? .timedOut : code, during: operation, hint: hint,
            systemError: systemError ?? 0)
    }
}
