// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import ValetSystem

/// The terminal that a person sits at.
package struct TerminalDevice: ~Copyable {
    /// The longest line that the kernel's line editor hands over; it drops what goes beyond.
    package static let maximumLineByteCount = 4094

    private let input: Int32
    private let output: Int32
    private let owned: Descriptor?
    /// Whether `/dev/tty` names it in this process and its children.
    let isControlling: Bool

    /// The controlling terminal; without one, standard input and standard error.
    package init() {
        let controlling = Self.open("/dev/tty", O_RDWR)
        isControlling = controlling >= 0
        let shown = isControlling || !Descriptor.isTerminal(2) ? -1 : Self.open("/proc/self/fd/2")
        let opened = isControlling ? controlling : shown
        owned = opened >= 0 ? Descriptor(owning: opened) : nil
        input = isControlling ? opened : 0
        output = opened >= 0 ? opened : 2
    }

    /// Opens a terminal so that no call waits for it: a person may have stopped its output. Not so
    /// that what others have open of it changes.
    private static func open(_ path: String, _ mode: Int32 = O_WRONLY) -> Int32 {
        unsafe Glibc.open(path, mode | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    }

    /// Whether there is a terminal at all.
    var isTerminal: Bool { Descriptor.isTerminal(input) }

    /// Whether this process is a background job: using the terminal would stop it.
    var isInBackground: Bool {
        let group = tcgetpgrp(input)
        return group >= 0 && group != getpgrp()
    }

    /// How the terminal is set; `nil` without one.
    func settings() -> Settings? {
        var settings = termios()
        return unsafe tcgetattr(input, &settings) == 0 ? Settings(settings) : nil
    }

    /// Sets the terminal as it was, and forgets what nobody has read.
    func restore(_ settings: Settings) {
        _ = apply(settings.value)
    }

    /// Shows text to the person, as far as there is room for it until the deadline, or until
    /// something comes on `signals`.
    func show(_ text: String, signals: Int32 = -1, until deadline: Deadline) {
        Descriptor.write(Array(text.utf8).span, to: output, signals: signals, until: deadline)
    }

    /// Ends the line of a question that nobody answers any more, if there is room for that.
    func endLine() {
        show("\n", until: Deadline(after: .zero))
    }

    /// Reads one line that the person sees, without a deadline.
    ///
    /// - Throws: `unavailable` with the system's reason.
    package func readShownLine(_ prompt: String) throws(UserPresenceError) -> SecretInput {
        // What was typed or pasted before the question is no answer to it.
        tcflush(input, TCIFLUSH)
        show(prompt, until: .never)
        var line = SecretInput(capacity: Self.maximumLineByteCount + 2)
        _ = try line.read(from: input)
        return line
    }

    /// Shows `prompt` and reads one line that is not shown; the newline that ended it, if one did,
    /// is its last byte, and no bytes at all are the end of the input.
    ///
    /// The signals of ``SignalRelay`` wait until the terminal is as it was. A process that dies of
    /// one exits as the shell expects (130 for SIGINT); one that is stopped and goes on asks anew.
    ///
    /// - Parameter refusesMore: Whether more lines, as a paste brings them, are an error. They are
    ///   read away in any case: nothing of them gets to the shell.
    /// - Throws: `timedOut`; `cancelled` after any other signal that the process survives, or when
    ///   the terminal is gone, or by `cancellation`; `tooLong` above ``maximumLineByteCount``;
    ///   `severalLines`; `unavailable` with the system's reason.
    package func readHiddenLine(
        _ prompt: String, cancellation: PromptCancellation? = nil, refusesMore: Bool = true,
        until deadline: Deadline
    ) throws(UserPresenceError) -> SecretInput {
        while true {
            var line = SecretInput(capacity: Self.maximumLineByteCount + 2)
            let relay = try SignalRelay(
                SignalRelay.ending + SignalRelay.stopping, cancellation: cancellation,
                until: deadline)
            // A person who sees it may type at once.
            let outcome = withoutEcho { device in
                device.show(prompt, signals: relay.descriptor, until: deadline)
                let error = device.fill(&line, signals: relay.descriptor, until: deadline)
                guard error == nil, line.endsInNewline else { return error }
                let hasMore = device.discardMore(signals: relay.descriptor)
                return hasMore && refusesMore ? UserPresenceError(.severalLines) : nil
            }
            let signals = relay.end()
            if !signals.isEmpty {
                endLine()
                SignalRelay.pass(signals)
                guard signals.isSubset(of: SignalRelay.stopping) else {
                    throw UserPresenceError(.cancelled)
                }
                continue
            }
            if let error = outcome { throw error }
            if cancellation?.isCancelled == true {
                endLine()
                throw UserPresenceError(.cancelled)
            }
            guard line.byteCount <= Self.maximumLineByteCount else {
                throw UserPresenceError(.tooLong)
            }
            return line
        }
    }

    /// Without a deadline.
    package func readHiddenLine(_ prompt: String) throws(UserPresenceError) -> SecretInput {
        try readHiddenLine(prompt, until: .never)
    }

    /// Has `body` read while nothing is shown.
    private func withoutEcho(_ body: (borrowing Self) -> UserPresenceError?) -> UserPresenceError? {
        guard let shown = settings() else { return failure() }
        var hidden = shown.value
        hidden.c_lflag &= ~tcflag_t(ECHO)
        hidden.c_lflag |= tcflag_t(ECHONL | ICANON | ISIG)
        guard apply(hidden) else { return failure() }
        defer { restore(shown) }
        return body(self)
    }

    /// Sets the terminal, and forgets what was typed before. Unlike `TCSAFLUSH` this does not wait
    /// until everything was shown.
    private func apply(_ settings: termios) -> Bool {
        var settings = settings
        guard unsafe tcsetattr(input, TCSANOW, &settings) == 0 else { return false }
        tcflush(input, TCIFLUSH)
        return true
    }

    /// Reads one line. A signal ends it without an error.
    private func fill(
        _ line: inout SecretInput, signals: Int32, until deadline: Deadline
    ) -> UserPresenceError? {
        while true {
            switch Descriptor.wait(for: input, signals: signals, until: deadline) {
            case .signal: return nil
            case .deadline:
                endLine()
                return UserPresenceError(.timedOut)
            case .ready:
                let count = line.readOnce(from: input)
                if count >= 0 { return nil }
                // The terminal's other end is gone.
                if count == -Int(EIO) { return UserPresenceError(.cancelled) }
                if !Descriptor.mayTryAgain(after: -count) { return failure(Int32(-count)) }
            }
        }
    }

    /// How long what follows a line may take to arrive, where the two were pasted together.
    private static let pasteGap = Duration.milliseconds(60)
    /// How long a paste may go on.
    private static let longestPaste = Duration.seconds(3)

    /// Reads away what came with the line that was read: all of a paste, also a last line that no
    /// newline ends. What the terminal's own end does not know of yet cannot be seen.
    ///
    /// - Returns: Whether there was more than empty lines.
    private func discardMore(signals: Int32) -> Bool {
        guard var settings = settings()?.value else { return false }
        // Line by line, the start of a line would not be readable.
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
            guard case .ready = Descriptor.wait(for: input, signals: signals, until: pause) else {
                break
            }
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

    private func failure(_ code: Int32 = errno) -> UserPresenceError {
        UserPresenceError(.unavailable(.terminal), systemError: code)
    }

    /// How a terminal is set.
    struct Settings {
        fileprivate let value: termios

        fileprivate init(_ value: termios) {
            self.value = value
        }
    }
}
