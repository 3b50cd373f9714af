// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// Asks a person for a secret.
///
/// The module knows terminals, pinentry and inherited descriptors, and not what a passcode opens.
/// Its calls wait for a person: never make them on the cooperative thread pool.
///
/// All calls of the module throw this error: the operation, the reason why there is no answer and,
/// if there is one, the remedy. It never contains input.
package struct UserPresenceError: Error, Sendable {
    /// What the caller can do about it.
    @nonexhaustive
    package enum Code: Hashable, Sendable {
        /// The person declined or interrupted the question, or the terminal was closed.
        case cancelled
        /// No answer arrived before the deadline.
        case timedOut
        /// There is no way to ask.
        case unavailable(Reason)
        /// The answer has more bytes than ``PasscodePrompt/maximumByteCount``.
        case tooLong
        /// Several lines were pasted, and one was asked for; none is used.
        case severalLines
        /// Two entries differed, three times.
        case mismatch
        /// The answer is empty, which is not allowed.
        case empty
        /// The pinentry program did not follow its protocol.
        case malformed
    }

    /// Why there is no way to ask.
    @nonexhaustive
    package enum Reason: Hashable, Sendable {
        /// `VALET_INTERACTION=never`.
        case interactionOff
        /// The process has more rights than its caller: its terminal and environment are not
        /// trusted.
        case elevated
        /// There is neither a terminal nor a pinentry with a screen.
        case nobodyThere
        /// The process is a background job of its terminal.
        case inBackground
        /// The terminal cannot be used; ``UserPresenceError/systemError`` says why.
        case terminal
        /// The pinentry program is missing, or could not ask.
        case pinentry
        /// The chosen descriptor cannot be read.
        case descriptor
        /// An environment variable that says how to ask has an invalid value; the hint names it.
        case setting
    }

    /// What the caller can do about it.
    package let code: Code
    /// The operation, such as "ask for the passcode".
    package let operation: String
    /// The remedy, for a person.
    package let hint: String?
    /// `errno`, where the system gave a reason; else 0.
    package let systemError: Int32
    /// The error that caused this one.
    package let underlying: (any Error)?

    init(
        _ code: Code, during operation: String = "ask for the passcode", hint: String? = nil,
        systemError: Int32 = 0, underlying: (any Error)? = nil
    ) {
        self.code = code
        self.operation = operation
        self.hint = hint
        self.systemError = systemError
        self.underlying = underlying
    }
}

extension UserPresenceError {
    /// The error of a question for an error of the system. `busy` comes only from waiting for a
    /// turn to ask.
    init(
        _ error: SystemError, _ reason: Reason, during operation: String = "ask for the passcode",
        hint: String? = nil
    ) {
        self.init(
            error.code == .busy ? .timedOut : .unavailable(reason), during: operation, hint: hint,
            systemError: error.systemError ?? 0)
    }
}

extension UserPresenceError: CustomStringConvertible {
    /// One lower-case line: operation and reason, without input.
    package var description: String {
        var text = "could not \(operation): \(code.explanation)"
        if let underlying { text += " (\(underlying))" }
        if systemError != 0 { text += ", errno \(systemError)" }
        return text
    }
}

extension UserPresenceError.Code {
    /// The reason in words: lower case, no full stop.
    package var explanation: String {
        switch self {
        case .cancelled: "cancelled"
        case .timedOut: "nobody answered in time"
        case .unavailable(let reason): reason.explanation
        case .tooLong: "the answer is too long"
        case .severalLines: "more than one line was entered"
        case .mismatch: "the two entries differ"
        case .empty: "the answer is empty"
        case .malformed: "the answer of the pinentry program is invalid"
        }
    }
}

extension UserPresenceError.Reason {
    fileprivate var explanation: String {
        switch self {
        case .interactionOff: "questions are turned off"
        case .elevated: "the program has more rights than its caller"
        case .nobodyThere: "there is no terminal and no pinentry"
        case .inBackground: "the program runs in the background"
        case .terminal: "the terminal cannot be used"
        case .pinentry: "the pinentry program cannot be used"
        case .descriptor: "the descriptor cannot be read"
        case .setting: "its value is invalid"
        }
    }
}
