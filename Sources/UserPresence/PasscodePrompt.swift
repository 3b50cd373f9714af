// SPDX-License-Identifier: Apache-2.0

internal import ValetSecretMemory

/// What a person is asked, and what counts as an answer.
///
/// Its texts come from applications: control characters, and those that turn the direction of
/// writing, are replaced, so that no text can act on a terminal or pass for another part of the
/// question. Each text is cut at 256 characters, the description at 512.
package struct PasscodePrompt: Sendable {
    /// The title of a window.
    package let title: String
    /// Which application asks for what; may have several lines.
    package let description: String
    /// What stands in front of the answer, without a colon.
    package let label: String
    /// What was wrong with the previous answer.
    package let previousError: String?
    /// How long the person has, for all of it.
    package var timeout: Duration = .seconds(60)
    /// Whether the answer is a new passcode, which is typed twice.
    package var asksTwice = false
    /// Whether an answer of no bytes counts.
    package var allowsEmpty = false
    /// What stands on the button that declines; nil for pinentry's own word.
    package var cancelTitle: String? {
        didSet { cancelTitle = cancelTitle.map(PromptText.line) }
    }
    /// What ends the question from outside.
    package var cancellation: PromptCancellation?

    /// The longest answer, in bytes.
    package static let maximumByteCount = 1024

    /// How often a person may try: an entry that is empty, or two that differ, are asked for again.
    static let tryCount = 3

    /// A question that is asked once, within 60 seconds, and wants bytes.
    package init(
        title: String = "Valet", description: String, label: String = "Passcode",
        previousError: String? = nil
    ) {
        self.title = PromptText.line(title)
        self.description = PromptText.lines(description)
        self.label = PromptText.line(label)
        self.previousError = previousError.map(PromptText.line)
    }

    /// A question whose description has `lines`: whatever they hold, none looks like two.
    package init(
        title: String = "Valet", lines: [String], label: String = "Passcode",
        previousError: String? = nil
    ) {
        self.init(
            title: title, description: lines.map(PromptText.line).joined(separator: "\n"),
            label: label, previousError: previousError)
    }

    /// Has `prompter` ask until there is an answer that counts.
    ///
    /// - Throws: What `prompter` throws; `mismatch` and `empty` after three tries.
    func answer<P: Prompter & ~Copyable>(
        from prompter: inout P
    ) throws(UserPresenceError) -> SecretBytes {
        var problem = previousError
        var code = UserPresenceError.Code.empty
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
            problem = code.explanation
        }
        throw UserPresenceError(code)
    }
}

/// One entry that is asked for.
struct Question {
    let prompt: PasscodePrompt
    /// What was wrong with the entry before.
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

/// One entry that was given.
struct Entry: ~Copyable {
    let bytes: SecretBytes
    /// Whether it was typed twice already, and both were equal.
    let isRepeated: Bool
}

/// A way to ask for one entry.
protocol Prompter: ~Copyable {
    mutating func ask(_ question: Question) throws(UserPresenceError) -> Entry
}
