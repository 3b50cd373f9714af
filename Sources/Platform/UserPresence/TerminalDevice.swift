// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux
package import ValetSystem

/// The terminal that a person sits at.
package struct TerminalDevice: ~Copyable {
    /// The longest line that the kernel's line discipline delivers; it drops further bytes.
    package static let maximumLineByteCount = 4094

    private let input: Int32
    private let output: Int32
    private let owned: FileDescriptor?
    /// Whether it is the controlling terminal, `/dev/tty`, of this process and its children.
    let isControlling: Bool

    /// The controlling terminal; without one, standard input and standard error.
    package init() {
        let controlling = Self.open("/dev/tty", O_RDWR)
        isControlling = controlling >= 0
        let shown =
            isControlling || !FileDescriptor.isTerminal(2) ? -1 : Self.open("/proc/self/fd/2")
        let opened = isControlling ? controlling : shown
        owned = opened >= 0 ? FileDescriptor(owning: opened) : nil
        input = isControlling ? opened : 0
        output = opened >= 0 ? opened : 2
    }

    /// Opens a terminal for calls that never block: a person may have stopped its output. A new
    /// descriptor, so that the mode of inherited ones does not change.
    private static func open(_ path: String, _ mode: Int32 = O_WRONLY) -> Int32 {
        unsafe valet_open(path, mode | O_NOCTTY | O_NONBLOCK)
    }

    var isTerminal: Bool { FileDescriptor.isTerminal(input) }

    /// Whether a question can be asked here now: this is the controlling terminal, and this process
    /// is in its foreground.
    package var canAsk: Bool { isControlling && isTerminal && !isInBackground }

    /// Whether this process is a background job: using the terminal would stop it.
    var isInBackground: Bool {
        let group = tcgetpgrp(input)
        return group >= 0 && group != getpgrp()
    }

    /// The settings of the terminal; `nil` without one.
    func settings() -> Settings? {
        var settings = termios()
        return unsafe tcgetattr(input, &settings) == 0 ? Settings(settings) : nil
    }

    /// Restores the settings, and discards unread input.
    func restore(_ settings: Settings) {
        _ = apply(settings.value)
    }

    /// Shows text to the person, as far as the terminal takes it within `limit`.
    func show(_ text: String, within limit: WaitLimit) {
        FileDescriptor.write(Array(text.utf8).span, to: output, within: limit)
    }

    /// Ends the line of an abandoned question, if the terminal takes it at once.
    func endLine() {
        show("\n", within: WaitLimit(until: .immediately))
    }

    /// Reads one visible line. No bytes mean the end of the input.
    ///
    /// - Throws: `timedOut`; `cancelled` when the terminal was closed; `terminalUnusable` with the
    ///   system's reason.
    package func readShownLine(
        _ prompt: String, within duration: Duration
    ) throws(SystemError) -> SecretInput {
        // Input from before the question is not an answer to it.
        tcflush(input, TCIFLUSH)
        let limit = WaitLimit(until: Deadline(after: duration))
        show(prompt, within: limit)
        var line = SecretInput(capacity: Self.maximumLineByteCount + 2)
        if let error = fill(&line, within: limit) { throw error }
        return line
    }

    /// Shows `prompt` and reads one hidden line, with its newline, if it has one. No bytes mean the
    /// end of the input.
    ///
    /// The signals of ``SignalRelay`` wait until the terminal is restored. If one ends the process,
    /// the exit status is the one that the shell expects (130 for SIGINT). A process that is
    /// stopped and continues asks again.
    ///
    /// - Parameter refusesMore: Whether further lines, such as those of a paste, are an error. They
    ///   are discarded in any case, so that the shell does not read them.
    /// - Throws: `timedOut`; `cancelled` after any other signal that the process survives, or when
    ///   the terminal was closed, or by `cancellation`; `tooLong` above ``maximumLineByteCount``;
    ///   `severalLines`; `terminalUnusable` with the system's reason.
    package func readHiddenLine(
        _ prompt: String, cancellation: Cancellation? = nil, refusesMore: Bool = true,
        until deadline: Deadline
    ) throws(SystemError) -> SecretInput {
        while true {
            var line = SecretInput(capacity: Self.maximumLineByteCount + 2)
            let relay = try Self.relay(until: deadline)
            let limit = WaitLimit(
                until: deadline, cancellation: cancellation, signals: relay.descriptor)
            // The prompt comes after hiding: a person may type as soon as it appears.
            let outcome = withoutEcho { device in
                device.show(prompt, within: limit)
                let error = device.fill(&line, within: limit)
                guard error == nil, line.endsInNewline else { return error }
                let hasMore = device.discardMore(within: limit)
                return hasMore && refusesMore ? SystemError.asking(.severalLines) : nil
            }
            let signals = relay.end()
            if !signals.isEmpty {
                endLine()
                SignalRelay.pass(signals)
                guard signals.isSubset(of: SignalRelay.stopping) else {
                    throw SystemError.asking(.cancelled)
                }
                continue
            }
            if let error = outcome { throw error }
            if cancellation?.isCancelled == true {
                endLine()
                throw SystemError.asking(.cancelled)
            }
            guard line.byteCount <= Self.maximumLineByteCount else {
                throw SystemError.asking(.tooLong)
            }
            return line
        }
    }

    /// Shows `prompt` and reads one hidden line within `duration`, as
    /// ``readHiddenLine(_:cancellation:refusesMore:until:)`` does.
    package func readHiddenLine(
        _ prompt: String, within duration: Duration
    ) throws(SystemError) -> SecretInput {
        try readHiddenLine(prompt, until: Deadline(after: duration))
    }

    private func withoutEcho(_ body: (borrowing Self) -> SystemError?) -> SystemError? {
        guard let shown = settings() else { return failure() }
        var hidden = shown.value
        hidden.c_lflag &= ~tcflag_t(ECHO)
        hidden.c_lflag |= tcflag_t(ECHONL | ICANON | ISIG)
        guard apply(hidden) else { return failure() }
        defer { restore(shown) }
        return body(self)
    }

    /// Changes the settings, and discards unread input. Unlike `TCSAFLUSH` this does not wait for
    /// output.
    private func apply(_ settings: termios) -> Bool {
        var settings = settings
        guard unsafe tcsetattr(input, TCSANOW, &settings) == 0 else { return false }
        tcflush(input, TCIFLUSH)
        return true
    }

    private static func relay(until deadline: Deadline) throws(SystemError) -> SignalRelay {
        do {
            return try SignalRelay(SignalRelay.ending + SignalRelay.stopping, until: deadline)
        } catch {
            throw error.ofAsking(.terminalUnusable)
        }
    }

    /// Reads one line. A signal or a cancellation ends it without an error.
    private func fill(
        _ line: inout SecretInput, within limit: WaitLimit
    ) -> SystemError? {
        while true {
            switch limit.wait(for: input) {
            case .signal, .cancelled: return nil
            case .deadline:
                endLine()
                return SystemError.asking(.timedOut)
            case .ready:
                let count = line.readOnce(from: input)
                if count >= 0 { return nil }
                // The other end of the terminal is closed.
                if count == -Int(EIO) { return SystemError.asking(.cancelled) }
                if !FileDescriptor.mayTryAgain(after: -count) { return failure(Int32(-count)) }
            }
        }
    }

    /// How long the next part of a paste may take to arrive.
    private static let pasteGap = Duration.milliseconds(60)
    private static let longestPaste = Duration.seconds(3)

    /// Discards input that arrived together with the line: the rest of a paste, including a last
    /// line without a newline. It cannot see input that the terminal program has not sent yet.
    ///
    /// - Returns: Whether there was more than empty lines.
    private func discardMore(within limit: WaitLimit) -> Bool {
        guard var settings = settings()?.value else { return false }
        // In canonical mode an unfinished line could not be read.
        settings.c_lflag &= ~tcflag_t(ICANON | ECHONL)
        unsafe withUnsafeMutableBytes(of: &settings.c_cc) { characters in
            unsafe characters[Int(VMIN)] = 0
            unsafe characters[Int(VTIME)] = 0
        }
        guard unsafe tcsetattr(input, TCSANOW, &settings) == 0 else { return false }
        let end = Deadline(after: Self.longestPaste)
        var hasText = false
        while !end.hasPassed {
            let pause = Deadline(after: hasText ? Self.pasteGap * 3 : Self.pasteGap)
            guard limit.ending(at: pause).wait(for: input) == .ready else { break }
            var rest = SecretInput(capacity: 4096)
            guard rest.readOnce(from: input) > 0 else { break }
            hasText =
                hasText
                || rest.withBytes { bytes in
                    bytes.indices.contains { ![0x0A, 0x0D].contains(bytes[$0]) }
                }
        }
        return hasText
    }

    private func failure(_ code: Int32 = errno) -> SystemError {
        SystemError.asking(.terminalUnusable, systemError: code)
    }

    struct Settings {
        fileprivate let value: termios

        fileprivate init(_ value: termios) {
            self.value = value
        }
    }
}

/// Asks on the terminal itself.
struct TerminalPrompter: ~Copyable, Prompter {
    private let device: TerminalDevice
    private let deadline: Deadline

    init(_ device: consuming TerminalDevice, until deadline: Deadline) {
        self.device = device
        self.deadline = deadline
    }

    mutating func ask(_ question: Question) throws(SystemError) -> Entry {
        var text = ""
        if !question.isRepetition { text += question.prompt.description + "\n" }
        if let problem = question.problem { text += problem + "\n" }
        let line = try device.readHiddenLine(
            text + question.label + ": ", cancellation: question.prompt.cancellation,
            until: deadline)
        guard line.byteCount > 0 else {
            device.endLine()
            throw SystemError.asking(.cancelled)
        }
        let count = line.lineByteCount
        guard count <= PasscodePrompt.maximumByteCount else { throw SystemError.asking(.tooLong) }
        return Entry(bytes: line.prefix(count), isRepeated: false)
    }
}
