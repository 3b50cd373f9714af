// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import Glibc
internal import SecretMemory

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
        let device = TerminalDevice()
        let settings = usesTerminal ? device.settings() : nil
        let relay = try SignalRelay(
            SignalRelay.ending, cancellation: prompt.cancellation, until: deadline)
        do throws(UserPresenceError) {
            let answer = try converse(about: prompt, signals: relay.descriptor, until: deadline)
            Self.pass(relay.end())
            return answer
        } catch {
            // A program that was killed leaves the terminal as it drew on it.
            if let settings { device.restore(settings) }
            Self.pass(relay.end())
            throw error
        }
    }

    private func converse(
        about prompt: PasscodePrompt, signals: Int32, until deadline: Deadline
    ) throws(UserPresenceError) -> SecretBytes {
        let child = try ChildProcess(
            path: path, environment: ChildEnvironment.variables(from: environment))
        var pinentry = Pinentry(child, signals: signals, until: deadline)
        try pinentry.introduce(
            prompt, terminal: usesTerminal ? "/dev/tty" : nil, environment: environment)
        let answer = try prompt.answer(from: &pinentry)
        pinentry.leave()
        return answer
    }

    /// Ctrl-C was an answer to the question. Other signals are not about the question alone.
    private static func pass(_ signals: Set<Int32>) {
        SignalRelay.pass(signals.subtracting([SIGINT]))
    }
}
