// SPDX-License-Identifier: Apache-2.0

import ValetKeychainModel
import ValetSealing

@testable import ValetCLI

/// A console that remembers what was written and answers from a script.
final class FakeConsole: Console {
    var isInputTerminal = false
    var isOutputTerminal = false
    var isErrorTerminal = false
    var refusalToAsk: String?
    var outputColumnCount: Int?
    var takesColour = false
    var canOffer = false
    /// What is typed at questions for a line; then nobody answers.
    var lines: [String] = []
    var input: [UInt8] = []
    /// What `confirm` answers.
    var answer = false
    var output: [UInt8] = []
    var notes: [String] = []
    /// What was shown without a newline.
    var shown = ""
    var questions: [String] = []

    var outputText: String { String(decoding: output, as: UTF8.self) }

    func readInput(atMost byteCount: Int) throws(CLIError) -> SecretValue {
        if input.count > byteCount { throw .usage("too large") }
        let bytes = input
        return SecretValue(copying: bytes.span)
    }

    func askTwice(_ prompt: String) throws(CLIError) -> SecretValue {
        questions.append(prompt)
        let bytes = input
        return SecretValue(copying: bytes.span)
    }

    func confirm(_ question: String, within duration: Duration) throws(CLIError) -> Bool {
        questions.append(question)
        return answer
    }

    func askLine(_ question: String) throws(CLIError) -> String {
        questions.append(question)
        guard !lines.isEmpty else { throw CLIError(.denied, "nobody answers") }
        return lines.removeFirst()
    }

    func write(_ bytes: Span<UInt8>) throws(CLIError) {
        for index in bytes.indices { output.append(bytes[index]) }
    }

    func note(_ line: String) { notes.append(line) }

    func show(_ text: String) { shown += text }
}
