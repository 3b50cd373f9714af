// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSealing
import ValetSystem

@testable import ValetUserPresence

/// Answers from a list, and remembers what it was asked.
private struct ScriptedPrompter: ~Copyable, Prompter {
    var answers: [String]
    var problems: [String?] = []
    var labels: [String] = []

    init(_ answers: [String]) {
        self.answers = answers
    }

    mutating func ask(_ question: Question) throws(SystemError) -> Entry {
        problems.append(question.problem)
        labels.append(question.label)
        guard !answers.isEmpty else { throw SystemError.asking(.cancelled) }
        let bytes = Array(answers.removeFirst().utf8)
        return Entry(bytes: SecretBytes(copying: bytes.span), isRepeated: false)
    }
}

@Suite struct `A prompt for a passcode` {
    @Test func `A passcode prompt names the problem with each try`() {
        var prompter = ScriptedPrompter(["a", "b", "", "c", "c"])
        var prompt = PasscodePrompt(description: "", label: "PIN", previousError: "wrong")
        prompt.asksTwice = true
        let outcome = Outcome { () throws(SystemError) in
            try prompt.answer(from: &prompter)
        }
        #expect(outcome == .answer("c"))
        #expect(
            prompter.problems == [
                "wrong", nil, "the two entries differ", "the answer is empty", nil,
            ])
        #expect(prompter.labels == ["PIN", "PIN, again", "PIN", "PIN", "PIN, again"])
    }

    @Test(
        arguments: [
            (["", "a", "b", ""], .empty), (["", "", "a", "b"], .mismatch), ([], .cancelled),
            (["", ""], .cancelled),
        ] as [([String], SystemError.Code)])
    func `A passcode prompt gives up with the last reason`(
        _ answers: [String], _ code: SystemError.Code
    ) {
        var prompter = ScriptedPrompter(answers)
        var prompt = PasscodePrompt(description: "")
        prompt.asksTwice = true
        let outcome = Outcome { () throws(SystemError) in
            try prompt.answer(from: &prompter)
        }
        #expect(outcome == .failure(code))
    }

    // Promise: 5.8
    @Test func `A passcode prompt shows no text that could act or mislead`() {
        let hostile = "a\u{1B}[2J\n\u{9B}b\u{202E}c\u{2066}\u{200F}\u{FEFF}\r\u{7F}é"
        let prompt = PasscodePrompt(
            title: hostile, description: hostile, label: hostile, previousError: hostile)
        let line =
            "a\u{FFFD}[2J\u{FFFD}\u{FFFD}b\u{FFFD}c"
            + String(repeating: "\u{FFFD}", count: 5) + "é"
        #expect(prompt.title == line && prompt.label == line && prompt.previousError == line)
        #expect(prompt.description == line.replacing("[2J\u{FFFD}", with: "[2J\n"))
    }

    // Promise: 5.8
    @Test(arguments: [
        0x00AD, 0x034F, 0x061C, 0x115F, 0x180E, 0x200D, 0x2061, 0x3164, 0xFE0F, 0xFFA0, 0xFFF9,
        0xFFFB, 0x1BCA0, 0x1D173, 0xE0001, 0xE0041, 0xE007F, 0xE0100,
    ])
    func `A passcode prompt shows no invisible text`(_ number: UInt32) throws {
        let scalar = try #require(Unicode.Scalar(number))
        let text = "mail\(Character(scalar))er"
        #expect(PasscodePrompt(description: text).description == "mail\u{FFFD}er")
    }

    @Test func `A passcode prompt shows letters of all languages unchanged`() {
        let text = "Ελλάδα नमस्ते 한국어 日本語 العربية עברית e\u{301} 🔑"
        #expect(PasscodePrompt(description: text).description == text)
    }

    @Test func `A passcode prompt cuts long texts`() {
        let long = String(repeating: "x", count: 2000)
        let prompt = PasscodePrompt(title: long, description: long)
        #expect(prompt.title == long.prefix(256) + "…")
        #expect(prompt.description == long.prefix(512) + "…")
    }

    @Test func `A passcode prompt by default lasts a minute, asks once and needs an entry`() {
        let prompt = PasscodePrompt(description: "")
        #expect(prompt.timeout == .seconds(60) && !prompt.asksTwice && !prompt.allowsEmpty)
    }
}

@Suite struct `An error of asking` {
    @Test func `A presence error names the operation, the reason and the cause`() {
        let error = SystemError.asking(
            .pinentryUnusable, during: "start the pinentry program", systemError: 2)
        let caused = PinentryRefusal(number: 62).failure
        #expect(
            "\(error)" == "could not start the pinentry program: "
                + "the pinentry program cannot be used, errno 2")
        #expect(
            "\(caused)" == "could not ask for the passcode: "
                + "nobody answered in time (pinentry error 62)")
    }
}

@Suite struct `Secret input` {
    // Promise: 5.4
    @Test func `Secret input wipes what was taken from it`() {
        var input = SecretInput(capacity: 1)
        for byte in UInt8(1)...100 { input.append(byte) }
        input.removeFirst(98)
        #expect(input.byteCount == 2 && input.firstByte == 99 && !input.endsInNewline)
        let memory = input.value(byteCount: 128)
        #expect(memory.withBytes { bytes in bytes.indices.allSatisfy { $0 < 2 || bytes[$0] == 0 } })
    }
}
