// SPDX-License-Identifier: Apache-2.0

import ValetSealing
import ValetSystem
import ValetUserPresence

@testable import ValetCLI

/// A source of secrets that answers from a list, and then gives no answer.
final class ScriptedAnswers: SecretSource {
    let isInteractive: Bool
    var answers: [String]
    var prompts: [PasscodePrompt] = []

    /// - Parameter isInteractive: Whether this is a person, and not a descriptor.
    init(_ answers: [String] = [], isInteractive: Bool = true) {
        self.answers = answers
        self.isInteractive = isInteractive
    }

    /// What the prompts said was wrong.
    var problems: [String] { prompts.compactMap(\.previousError) }
    var labels: [String] { prompts.map(\.label) }

    func ask(_ prompt: PasscodePrompt) throws(SystemError) -> SecretBytes {
        prompts.append(prompt)
        // The one error that can be had from outside of its module.
        if answers.isEmpty { _ = try PasscodeDescriptor("1") }
        return SecretBytes(copying: Array(answers.removeFirst().utf8).span)
    }
}
