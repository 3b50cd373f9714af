// SPDX-License-Identifier: Apache-2.0

package import Database
internal import Glibc

/// The terminal that a person sits at.
package struct TerminalDevice: ~Copyable {
    /// The longest line that the kernel's line editor hands over; it drops what goes beyond.
    package static let maximumLineByteCount = 4094

    private let input: Int32
    private let output: Int32
    private let owned: Descriptor?

    /// The controlling terminal; without one, standard input and standard error.
    package init() {
        let opened = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC)
        owned = opened >= 0 ? Descriptor(owning: opened) : nil
        input = opened >= 0 ? opened : 0
        output = opened >= 0 ? opened : 2
    }

    /// Whether there is a terminal at all.
    var isTerminal: Bool { Descriptor.isTerminal(input) }

    /// Whether `/dev/tty` names it in this process and its children.
    var isControlling: Bool { owned != nil }

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

    /// Sets the terminal as it was.
    func restore(_ settings: Settings) {
        var settings = settings.value
        _ = unsafe tcsetattr(input, TCSAFLUSH, &settings)
    }

    /// Shows text to the person.
    package func show(_ text: String) {
        _ = Descriptor.write(Array(text.utf8).span, to: output)
    }

    /// Reads one line that the person sees, without a deadline.
    ///
    /// - Throws: `unavailable` with the system's reason.
    package func readShownLine(_ prompt: String) throws(UserPresenceError) -> SecretInput {
        show(prompt)
        var line = SecretInput(capacity: Self.maximumLineByteCount + 2)
        _ = try line.read(from: input)
        return line
    }

    /// Shows `prompt` and reads one line that is not shown; the newline that ended it, if one did,
    /// is its last byte, and no bytes at all are the end of the input.
    ///
    /// The signals of ``SignalRelay`` wait until the terminal is as it was. Whoever dies of one
    /// exits as the shell expects (130 for SIGINT); whoever is stopped and goes on is asked anew.
    ///
    /// - Throws: `timedOut`; `cancelled` after any other signal that the process survives, or when
    ///   the terminal is gone, or by `cancellation`; `tooLong` above ``maximumLineByteCount``;
    ///   `unavailable` with the system's reason.
    package func readHiddenLine(
        _ prompt: String, cancellation: PromptCancellation? = nil, until deadline: Deadline
    ) throws(UserPresenceError) -> SecretInput {
        while true {
            show(prompt)
            var line = SecretInput(capacity: Self.maximumLineByteCount + 2)
            let relay = try SignalRelay(
                SignalRelay.ending + SignalRelay.stopping, cancellation: cancellation,
                until: deadline)
            let outcome = withoutEcho { device in
                device.fill(&line, signals: relay.descriptor, until: deadline)
            }
            let signals = relay.end()
            if !signals.isEmpty {
                show("\n")
                SignalRelay.pass(signals)
                guard signals.isSubset(of: SignalRelay.stopping) else {
                    throw UserPresenceError(.cancelled)
                }
                continue
            }
            if let error = outcome { throw error }
            if cancellation?.isCancelled == true {
                show("\n")
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
        guard unsafe tcsetattr(input, TCSAFLUSH, &hidden) == 0 else { return failure() }
        defer { restore(shown) }
        return body(self)
    }

    /// Reads one line. A signal ends it without an error.
    private func fill(
        _ line: inout SecretInput, signals: Int32, until deadline: Deadline
    ) -> UserPresenceError? {
        while true {
            switch Descriptor.wait(for: input, signals: signals, until: deadline) {
            case .signal: return nil
            case .deadline:
                show("\n")
                return UserPresenceError(.timedOut)
            case .input:
                let count = line.readOnce(from: input)
                if count >= 0 { return nil }
                // The terminal's other end is gone.
                if count == -Int(EIO) { return UserPresenceError(.cancelled) }
                if !Descriptor.mayTryAgain(after: -count) { return failure(Int32(-count)) }
            }
        }
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
