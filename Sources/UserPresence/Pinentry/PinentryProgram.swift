// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetSecretMemory
internal import ValetSystem

/// A pinentry program, and what it may use.
struct PinentryProgram {
    let path: String
    let environment: Environment
    /// Whether it may draw on the controlling terminal.
    let usesTerminal: Bool

    /// Asks as `prompt` says; the program has ended and is reaped when this returns.
    ///
    /// - Throws: `cancelled`, also after Ctrl-C or when the program dies while it asks; `timedOut`,
    ///   `tooLong`, `mismatch`, `empty`; `malformed` if it does not keep to the protocol;
    ///   `unavailable(.pinentry)` if it does not start, or has nothing to show itself on.
    func ask(
        _ prompt: PasscodePrompt, until deadline: Deadline
    ) throws(UserPresenceError) -> SecretBytes {
        try relaying(prompt.cancellation, until: deadline) {
            (signals) throws(UserPresenceError) in
            let child = try start(isPatient: true)
            var pinentry = Pinentry(child, signals: signals, until: deadline)
            try introduce(&pinentry, prompt)
            let answer = try prompt.answer(from: &pinentry)
            pinentry.leave()
            return answer
        }
    }

    /// Shows `prompt` until the person chooses `alternative`; the program has ended and is reaped
    /// when this returns.
    ///
    /// - Throws: As ``ask(_:until:)``, but for what is about answers.
    func tell(
        _ prompt: PasscodePrompt, offering alternative: String?, until deadline: Deadline
    ) throws(UserPresenceError) {
        try relaying(prompt.cancellation, until: deadline) {
            (signals) throws(UserPresenceError) in
            // It is ended from outside, as a rule, and somebody waits for that.
            let child = try start(isPatient: false)
            var pinentry = Pinentry(child, signals: signals, until: deadline)
            try introduce(&pinentry, prompt)
            try pinentry.tell(prompt, offering: alternative)
            pinentry.leave()
        }
    }

    /// Runs `body` with a descriptor that can be read once a signal or a cancellation has come.
    private func relaying<R: ~Copyable>(
        _ cancellation: PromptCancellation?, until deadline: Deadline,
        _ body: (_ signals: Int32) throws(UserPresenceError) -> R
    ) throws(UserPresenceError) -> R {
        let device = TerminalDevice()
        let settings = usesTerminal ? device.settings() : nil
        let relay = try SignalRelay(
            SignalRelay.ending, cancellation: cancellation, until: deadline)
        do throws(UserPresenceError) {
            let answer = try body(relay.descriptor)
            Self.pass(relay.end())
            return answer
        } catch {
            // A program that was killed leaves the terminal as it drew on it.
            if let settings { device.restore(settings) }
            Self.pass(relay.end())
            throw error
        }
    }

    private func start(isPatient: Bool) throws(UserPresenceError) -> ChildProcess {
        try ChildProcess(
            path: path, environment: ChildEnvironment.variables(from: environment),
            isPatient: isPatient)
    }

    private func introduce(
        _ pinentry: inout Pinentry, _ prompt: PasscodePrompt
    ) throws(UserPresenceError) {
        try pinentry.introduce(
            prompt, terminal: usesTerminal ? "/dev/tty" : nil, environment: environment)
    }

    /// Ctrl-C was an answer to the question. Other signals are not about the question alone.
    private static func pass(_ signals: Set<Int32>) {
        SignalRelay.pass(signals.subtracting([SIGINT]))
    }
}
