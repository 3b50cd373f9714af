// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// Asks on the terminal itself.
struct TerminalPrompter: ~Copyable, Prompter {
    private let device: TerminalDevice
    private let deadline: Deadline

    init(_ device: consuming TerminalDevice, until deadline: Deadline) {
        self.device = device
        self.deadline = deadline
    }

    mutating func ask(_ question: Question) throws(UserPresenceError) -> Entry {
        var text = ""
        if !question.isRepetition { text += question.prompt.description + "\n" }
        if let problem = question.problem { text += problem + "\n" }
        let line = try device.readHiddenLine(
            text + question.label + ": ", cancellation: question.prompt.cancellation,
            until: deadline)
        guard line.byteCount > 0 else {
            device.endLine()
            throw UserPresenceError(.cancelled)
        }
        let count = line.lineByteCount
        guard count <= PasscodePrompt.maximumByteCount else { throw UserPresenceError(.tooLong) }
        return Entry(bytes: line.prefix(count), isRepeated: false)
    }
}
