// SPDX-License-Identifier: Apache-2.0

/// Asks a person for a secret.
///
/// The module knows terminals, pinentry and inherited descriptors; what a passcode opens is its
/// caller's concern. Its calls wait for a person: never make them on the cooperative thread pool.
///
/// This is the one error of the module: what was being done, why there is no answer and, where
/// somebody can mend it, how. Nothing that was typed is ever part of it.
package struct UserPresenceError: Error, Sendable {
    /// What the caller can do about it.
    @nonexhaustive
    package enum Code: Hashable, Sendable {
        /// The person did not want to answer, interrupted the question, or their terminal is gone.
        case cancelled
        /// Nobody answered before the deadline.
        case timedOut
        /// Nobody can be asked.
        case unavailable(Reason)
        /// The answer has more bytes than ``PasscodePrompt/maximumByteCount``.
        case tooLong
        /// More lines were pasted than the one that was asked for; none is used.
        case severalLines
        /// What was typed twice differed, three times.
        case mismatch
        /// The answer has no bytes where an empty one is not allowed.
        case empty
        /// The program that asked answered what nobody can understand.
        case malformed
    }

    /// Why nobody can be asked.
    @nonexhaustive
    package enum Reason: Hashable, Sendable {
        /// `VALET_INTERACTION=never`.
        case interactionOff
        /// The process has more rights than its caller: what it inherited may be a trap.
        case elevated
        /// There is neither a terminal nor a pinentry that could show itself.
        case nobodyThere
        /// The process is a background job of its terminal.
        case inBackground
        /// The terminal cannot be used; ``UserPresenceError/systemError`` says why.
        case terminal
        /// The pinentry program is not there, or could not ask.
        case pinentry
        /// The descriptor that was named cannot be read.
        case descriptor
        /// A variable that says how to ask has a value that means nothing; the hint names it.
        case setting
    }

    /// What the caller can do about it.
    package let code: Code
    /// What was being done: "ask for the passcode".
    package let operation: String
    /// What helps, for a person.
    package let hint: String?
    /// `errno`, where the system gave a reason; else 0.
    package let systemError: Int32
    /// The error of the layer below, if one led to this.
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

extension UserPresenceError: CustomStringConvertible {
    /// One lower-case line: operation and reason; never what was typed.
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
        case .malformed: "the pinentry program answered nonsense"
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
        case .setting: "its value is not understood"
        }
    }
}
