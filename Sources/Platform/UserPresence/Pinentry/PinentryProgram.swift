// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetSealing
internal import ValetSystem

/// A pinentry program that was found, and whether it may use the terminal.
struct PinentryProgram {
    let path: String
    let environment: Environment
    /// Whether it may draw on the controlling terminal.
    let usesTerminal: Bool

    /// Asks the question. The program has ended and is reaped when this returns.
    ///
    /// - Throws: `cancelled`, also after Ctrl-C or when the program dies while it asks; `timedOut`,
    ///   `tooLong`, `mismatch`, `empty`; `malformed` if it violates the protocol;
    ///   `pinentryUnusable` if it does not start, or has no screen.
    func ask(
        _ prompt: PasscodePrompt, until deadline: Deadline
    ) throws(SystemError) -> SecretBytes {
        try relaying(prompt.cancellation, until: deadline) {
            (limit) throws(SystemError) in
            let child = try start(isPatient: true)
            var pinentry = Pinentry(child, within: limit)
            try introduce(&pinentry, prompt)
            let answer = try prompt.answer(from: &pinentry)
            pinentry.leave()
            return answer
        }
    }

    /// Shows `prompt` until the person chooses `alternative`; the program has ended and is reaped
    /// when this returns.
    ///
    /// - Throws: The codes of ``ask(_:until:)``, except those about answers.
    func tell(
        _ prompt: PasscodePrompt, offering alternative: String?, until deadline: Deadline
    ) throws(SystemError) {
        try relaying(prompt.cancellation, until: deadline) {
            (limit) throws(SystemError) in
            // Usually another thread cancels the prompt, and waits for the program's end.
            let child = try start(isPatient: false)
            var pinentry = Pinentry(child, within: limit)
            try introduce(&pinentry, prompt)
            try pinentry.tell(prompt, offering: alternative)
            pinentry.leave()
        }
    }

    /// Lets the person choose one of several answers, and returns its index; the programs have
    /// ended and are reaped when this returns. Each page has a program of its own, because no
    /// button can be taken back.
    ///
    /// - Throws: The codes of ``tell(_:offering:until:)``.
    func choose(
        _ prompt: PasscodePrompt, among answers: [String], until deadline: Deadline
    ) throws(SystemError) -> Int {
        try relaying(prompt.cancellation, until: deadline) {
            (limit) throws(SystemError) in
            var choice: PinentryChoice?
            while true {
                var pinentry = Pinentry(try start(isPatient: false), within: limit)
                try introduce(&pinentry, prompt)
                let hasThreeButtons = try pinentry.hasThreeButtons()
                var shown =
                    choice
                    ?? PinentryChoice(
                        answers, refusal: prompt.cancelTitle ?? "Cancel",
                        hasThreeButtons: hasThreeButtons)
                let button = try pinentry.ask(shown.page)
                pinentry.leave()
                switch shown.press(button) {
                case .chosen(let index): return index
                case .refused: throw SystemError.asking(.cancelled)
                case .more: choice = shown
                }
            }
        }
    }

    /// Runs `body` with the limits of its waits: the deadline, a cancellation, or a signal.
    private func relaying<R: ~Copyable>(
        _ cancellation: Cancellation?, until deadline: Deadline,
        _ body: (WaitLimit) throws(SystemError) -> R
    ) throws(SystemError) -> R {
        let device = TerminalDevice()
        let settings = usesTerminal ? device.settings() : nil
        let relay = try Self.relay(until: deadline)
        do {
            let answer = try body(
                WaitLimit(
                    until: deadline, cancellation: cancellation, signals: relay.descriptor))
            Self.pass(relay.end())
            return answer
        } catch {
            // A killed program does not restore the terminal.
            if let settings { device.restore(settings) }
            Self.pass(relay.end())
            throw error
        }
    }

    private func start(isPatient: Bool) throws(SystemError) -> ChildProcess {
        do {
            return try ChildProcess(
                path: path, environment: ChildEnvironment.variables(from: environment),
                isPatient: isPatient)
        } catch {
            throw error.ofAsking(
                .pinentryUnusable, during: "start the pinentry program",
                hint: "set VALET_PINENTRY to the path of a pinentry program")
        }
    }

    private static func relay(until deadline: Deadline) throws(SystemError) -> SignalRelay {
        do {
            return try SignalRelay(SignalRelay.ending, until: deadline)
        } catch {
            throw error.ofAsking(.terminalUnusable)
        }
    }

    private func introduce(
        _ pinentry: inout Pinentry, _ prompt: PasscodePrompt
    ) throws(SystemError) {
        try pinentry.introduce(
            prompt, terminal: usesTerminal ? "/dev/tty" : nil, environment: environment)
    }

    /// Ctrl-C answered the question. Other signals are meant for the whole process.
    private static func pass(_ signals: Set<Int32>) {
        SignalRelay.pass(signals.subtracting([SIGINT]))
    }
}

/// The environment variables that a pinentry program gets.
enum ChildEnvironment {
    /// Where it may search for programs of its own.
    static let path = "/usr/local/bin:/usr/bin:/bin"

    private static let names = [
        "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
        "TERM", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES",
    ]

    /// `NAME=value` of the variables that it needs for a window or a terminal, and no others.
    static func variables(from environment: Environment) -> [String] {
        ["PATH=" + path]
            + names.compactMap { name in environment.value(name).map { name + "=" + $0 } }
    }

    static func hasScreen(_ environment: Environment) -> Bool {
        ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment.value($0)?.isEmpty == false }
    }

    /// The locale of text, by the rules of the C library.
    static func textLocale(_ environment: Environment) -> String {
        for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
            if let value = environment.value(name), !value.isEmpty { return value }
        }
        return "C.UTF-8"
    }
}
