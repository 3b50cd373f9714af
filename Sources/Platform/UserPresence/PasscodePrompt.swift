// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing
package import ValetSystem

/// A question to a person, and the rules for its answer.
///
/// Its texts come from applications. Control characters and characters that change the writing
/// direction are replaced: no text can act on a terminal or imitate another part of the question.
/// Each text is cut at 256 characters, the description at 512.
package struct PasscodePrompt: Sendable {
    package let title: String
    /// Which application asks for what. May have several lines.
    package let description: String
    /// The label of the input field, without a colon.
    package let label: String
    package let previousError: String?
    /// The time for the whole question.
    package var timeout: Duration = .seconds(60)
    /// Whether the answer is a new passcode, which is typed twice.
    package var asksTwice = false
    /// Whether an empty answer is valid.
    package var allowsEmpty = false
    /// The text of the button that declines; nil for pinentry's own.
    package var cancelTitle: String? {
        didSet { cancelTitle = cancelTitle.map(PromptText.line) }
    }
    /// Ends the question from outside.
    package var cancellation: Cancellation?

    package static let maximumByteCount = 1024

    /// How often an empty entry, or two entries that differ, may be repeated.
    static let tryCount = 3

    package init(
        title: String = "Valet", description: String, label: String = "Passcode",
        previousError: String? = nil
    ) {
        self.title = PromptText.line(title)
        self.description = PromptText.lines(description)
        self.label = PromptText.line(label)
        self.previousError = previousError.map(PromptText.line)
    }

    /// Makes a question whose description has these lines. No line can look like two.
    package init(
        title: String = "Valet", lines: [String], label: String = "Passcode",
        previousError: String? = nil
    ) {
        self.init(
            title: title, description: lines.map(PromptText.line).joined(separator: "\n"),
            label: label, previousError: previousError)
    }

    /// Asks through `prompter` until there is a valid answer.
    ///
    /// - Throws: The errors of `prompter`; `mismatch` and `empty` after three tries.
    func answer<P: Prompter & ~Copyable>(
        from prompter: inout P
    ) throws(SystemError) -> SecretBytes {
        var problem = previousError
        var code = SystemError.Code.empty
        for _ in 0..<Self.tryCount {
            let first = try prompter.ask(Question(self, problem: problem, isRepetition: false))
            if first.bytes.byteCount == 0, !allowsEmpty {
                code = .empty
            } else if !asksTwice || first.isRepeated {
                return first.bytes
            } else {
                let second = try prompter.ask(Question(self, problem: nil, isRepetition: true))
                if first.bytes.isEqual(to: second.bytes) { return first.bytes }
                code = .mismatch
            }
            problem = code.reason
        }
        throw SystemError.asking(code)
    }
}

struct Question {
    let prompt: PasscodePrompt
    let problem: String?
    /// Whether this is the second of two entries.
    let isRepetition: Bool

    init(_ prompt: PasscodePrompt, problem: String?, isRepetition: Bool) {
        self.prompt = prompt
        self.problem = problem
        self.isRepetition = isRepetition
    }

    var label: String { isRepetition ? prompt.label + ", again" : prompt.label }
}

struct Entry: ~Copyable {
    let bytes: SecretBytes
    /// Whether it has already been typed twice, with equal results.
    let isRepeated: Bool
}

/// A way to ask for one entry.
protocol Prompter: ~Copyable {
    mutating func ask(_ question: Question) throws(SystemError) -> Entry
}
