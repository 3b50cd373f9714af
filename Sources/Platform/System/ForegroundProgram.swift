// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A program that has the terminal of this process until it ends, such as an editor.
package enum ForegroundProgram {
    /// How the program ended, and which signals arrived while it ran.
    package struct Ending: Sendable {
        /// nil if a signal has ended it.
        package let exitCode: Int32?
        /// Signals that were passed on to the program, and that are to end this process once it has
        /// tidied up: ``SignalRelay/pass(_:)``.
        package let signals: Set<Int32>
    }

    /// The signals that a relay takes for the program: those that end a process; those that the
    /// kernel sends to the whole job if the program uses the terminal in the background; and the
    /// one that reports that the program has stopped or ended.
    package static let signals = SignalRelay.ending + [SIGTTIN, SIGTTOU, SIGCHLD]
    /// The signals that end this process, too.
    package static let endingSignals: Set<Int32> = [SIGTERM, SIGHUP]

    private static let operation = "start a program"
    /// How long the program has to end, after the signals that this process passed on.
    private static let grace = Duration.seconds(3)
    /// How long the program must have been stopped alone before this process stops, too, in
    /// microseconds: a shell continues both, one after the other.
    private static let settling: UInt32 = 50_000

    /// Runs a program, and waits for its end. It inherits the standard streams and no other
    /// descriptor, and the environment with `changes`.
    ///
    /// SIGINT and SIGQUIT are the program's while it runs: a terminal sends them to both. SIGTERM
    /// and SIGHUP are passed on to it. A program that they do not end is killed. If it does not end
    /// by itself, the terminal gets its settings back. In the background both are stopped, unless
    /// they are to end. If the program stops alone, this process stops as well, so that a shell
    /// sees it; what continues this process continues both.
    ///
    /// - Parameter relay: Takes ``signals``.
    /// - Throws: ``SystemError``: `missing` if there is no such program, `cannotOpen`.
    package static func run(
        path: String, arguments: [String], changing changes: [String: String],
        under relay: borrowing SignalRelay
    ) throws(SystemError) -> Ending {
        var settings = termios()
        let hasSettings = unsafe tcgetattr(0, &settings) == 0
        var child: pid_t = 0
        let code = Spawning.start([path] + arguments, changing: changes, &child)
        guard code == 0 else {
            throw SystemError(errno: code, during: operation, path: path)
        }
        var signals: Set<Int32> = []
        let status = wait(for: child, signals: relay.descriptor, &signals)
        // In the background the call would stop this process.
        if !signals.isEmpty || status & 0x7F != 0, hasSettings, isInFront {
            _ = unsafe tcsetattr(0, TCSANOW, &settings)
        }
        return Ending(exitCode: status & 0x7F == 0 ? status >> 8 & 0xFF : nil, signals: signals)
    }

    /// Waits for the end of the child. Returns its status, as waitpid(2) does.
    private static func wait(
        for child: pid_t, signals descriptor: Int32, _ signals: inout Set<Int32>
    ) -> Int32 {
        let handle = FileDescriptor(owning: valet_open_process(child))
        var end = Deadline.never
        while true {
            var status: Int32 = 0
            let result = unsafe waitpid(child, &status, WNOHANG)
            if result == child { return status }
            // Other code has reaped it: nobody knows how it ended.
            if result < 0, errno == ECHILD { return SIGKILL }
            if signals.isEmpty, isStopped(child) {
                usleep(settling)
                // The signal has no effect where no shell could continue this process.
                if isStopped(child) { raise(SIGTSTP) }
                kill(child, SIGCONT)
            }
            if end.hasPassed {
                kill(child, SIGKILL)
                end = .never
            }
            // Without a handle, which kernels before 5.3 lack, the child is polled every 10 ms.
            let pause = handle.number >= 0 ? end : min(end, Deadline(after: .milliseconds(10)))
            let limit = WaitLimit(until: pause, signals: descriptor)
            guard limit.wait(for: handle.number) == .signal else { continue }
            let all = taken(from: descriptor)
            let new = all.intersection(endingSignals)
            for number in new { kill(child, number) }
            if !new.isEmpty, signals.isEmpty { end = Deadline(after: grace) }
            signals.formUnion(new)
            // A program at its end uses the terminal once more, and must not stop this process. A
            // shell may have given the job the terminal meanwhile.
            let wantsTerminal = !all.isDisjoint(with: [SIGTTIN, SIGTTOU])
            if signals.isEmpty, wantsTerminal, !isInFront { raise(SIGSTOP) }
        }
    }

    /// Whether the job of this process may use the terminal.
    private static var isInFront: Bool { tcgetpgrp(0) == getpgrp() }

    private static func isStopped(_ child: pid_t) -> Bool {
        var state = unsafe siginfo_t()
        let options = WSTOPPED | WNOHANG | WNOWAIT
        guard unsafe waitid(P_PID, id_t(child), &state, options) == 0 else { return false }
        return unsafe state.si_signo == SIGCHLD
    }

    /// The signals that have arrived since the last look.
    private static func taken(from descriptor: Int32) -> Set<Int32> {
        var bytes = [UInt8](repeating: 0, count: 64)
        var span = bytes.mutableSpan
        let count = FileDescriptor.read(from: descriptor, into: &span, at: 0..<span.count)
        return Set(bytes.prefix(max(0, count)).map(Int32.init))
    }
}
