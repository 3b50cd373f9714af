// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// The process of a masked program, which dies with this process.
///
/// Without a terminal of its own the program is a child in the process group of this process. With
/// one it is the child of a second process, which leads the terminal's session and only watches. A
/// program that led its session could not be stopped, and its end would close the terminal for all
/// programs that it has started.
struct ProgramProcess {
    let identifier: pid_t
    /// The pipe that brings a status, as `waitpid` reports it, whenever the program was stopped or
    /// has ended; −1 if the program is a child of this process.
    let reports: Int32
    /// The leader ends when every copy of this descriptor is closed.
    private let lifeline: Int32

    /// Starts the program with `streams` as standard streams; −1 leaves one as it is.
    ///
    /// - Parameters:
    ///   - terminal: The terminal that the program gets, if any.
    ///   - settings: The settings that a leader restores at the real terminal if this process is
    ///     killed.
    static func start(
        _ launch: ProgramLaunch, _ signals: CallersSignals, streams: [Int32],
        _ terminal: (inner: Int32, outer: Int32, settings: termios)?
    ) throws(CLIError) -> ProgramProcess {
        let failures = try pipe()
        let child = Child(launch: launch, signals: signals, streams: streams, failures: failures[1])
        guard let terminal else {
            let parent = getpid()
            let identifier = valet_fork()
            guard identifier >= 0 else { throw ProgramLaunch.failure("start a process") }
            if identifier == 0 { child.become(parent: parent, terminal: -1) }
            try check(failures, launch)
            return ProgramProcess(identifier: identifier, reports: -1, lifeline: -1)
        }
        let (reports, lifeline) = (try pipe(), try pipe())
        let leader = valet_fork()
        guard leader >= 0 else { throw ProgramLaunch.failure("start a process") }
        if leader == 0 {
            close(lifeline[1])
            SessionLeader(
                reports: reports[1], lifeline: lifeline[0], outer: terminal.outer,
                settings: terminal.settings
            ).lead(child, at: terminal.inner)
        }
        close(reports[1])
        close(lifeline[0])
        try check(failures, launch)
        guard case .number(let identifier) = receive(from: reports[0]) else {
            throw ProgramLaunch.failure("start a process")
        }
        return ProgramProcess(
            identifier: identifier, reports: reports[0], lifeline: lifeline[1])
    }

    /// The descriptors that a copy of this process keeps, so that the session goes on.
    var kept: [Int32] { [lifeline] }

    /// A message in a pipe between these processes.
    enum Message {
        case number(Int32), nothingYet, end
    }

    static func receive(from file: Int32) -> Message {
        var number: Int32 = 0
        while true {
            let count = unsafe read(file, &number, MemoryLayout<Int32>.size)
            if count == MemoryLayout<Int32>.size { return .number(number) }
            if count < 0, errno == EINTR { continue }
            return count < 0 && errno == EAGAIN ? .nothingYet : .end
        }
    }

    /// Closes every descriptor from 3 on that is not in `kept`.
    static func closeOthers(than kept: [Int32]) {
        var first: Int32 = 3
        for number in kept.filter({ $0 >= first }).sorted() {
            if number > first { valet_close_range(UInt32(first), UInt32(number - 1)) }
            first = number + 1
        }
        valet_close_range(UInt32(first), .max)
    }

    static func send(_ number: Int32, to file: Int32) {
        var number = number
        _ = unsafe write(file, &number, MemoryLayout<Int32>.size)
    }

    private static func pipe() throws(CLIError) -> [Int32] {
        var ends: [Int32] = [-1, -1]
        guard unsafe valet_make_pipe(&ends) == 0 else {
            throw ProgramLaunch.failure("make a pipe")
        }
        return ends
    }

    /// Waits until the program runs: its end of the pipe closes then.
    private static func check(_ failures: [Int32], _ launch: ProgramLaunch) throws(CLIError) {
        close(failures[1])
        let message = receive(from: failures[0])
        close(failures[0])
        if case .number(let code) = message { throw launch.error(code) }
    }
}

/// A new process that becomes the program.
private struct Child {
    let launch: ProgramLaunch
    let signals: CallersSignals
    let streams: [Int32]
    let failures: Int32

    /// - Parameters:
    ///   - parent: The process that this one dies with.
    ///   - terminal: The terminal whose foreground it takes; −1 without one.
    func become(parent: pid_t, terminal: Int32) -> Never {
        _ = valet_die_with_parent()
        // The parent may have ended before that call.
        if getppid() != parent { _exit(1) }
        if terminal >= 0 {
            setpgid(0, 0)
            tcsetpgrp(terminal, getpid())
        }
        for (number, stream) in streams.enumerated() where stream >= 0 {
            dup2(stream, Int32(number))
        }
        ProgramProcess.send(launch.become(signals), to: failures)
        _exit(127)
    }
}

/// The process that leads the session of a program's terminal.
private struct SessionLeader {
    let reports: Int32
    let lifeline: Int32
    /// The real terminal, and its settings before the program.
    let outer: Int32
    let settings: termios

    /// Starts the program, and reports what becomes of it. All signals are blocked.
    func lead(_ child: Child, at terminal: Int32) -> Never {
        setsid()
        _ = valet_take_terminal(terminal)
        let own = getpid()
        let program = valet_fork()
        if program == 0 { child.become(parent: own, terminal: terminal) }
        guard program > 0 else {
            ProgramProcess.send(errno, to: child.failures)
            _exit(1)
        }
        setpgid(program, program)
        var taken = sigset_t()
        unsafe sigemptyset(&taken)
        unsafe sigaddset(&taken, SIGCHLD)
        let ends = unsafe signalfd(-1, &taken, 0o2_000_000 | 0o4_000)
        closeOthers(ends)
        ProgramProcess.send(program, to: reports)
        watch(program, ends)
    }

    /// Closes the ends of pipes that other processes wait to see closed.
    private func closeOthers(_ ends: Int32) {
        let null = unsafe open("/dev/null", O_RDWR)
        for number in Int32(0)...2 { dup2(null, number) }
        ProgramProcess.closeOthers(than: [reports, lifeline, outer, ends])
    }

    private func watch(_ program: pid_t, _ ends: Int32) -> Never {
        var hasEnded = false
        var info = signalfd_siginfo()
        while true {
            var requests = [ends, lifeline].map { file in
                pollfd(fd: file, events: Int16(POLLIN), revents: 0)
            }
            _ = unsafe poll(&requests, 2, -1)
            if requests[0].revents != 0 {
                while unsafe read(ends, &info, MemoryLayout<signalfd_siginfo>.size) > 0 {}
                var status: Int32 = 0
                while unsafe waitpid(program, &status, WNOHANG | WUNTRACED) == program {
                    hasEnded = hasEnded || status & 0xFF != 0x7F
                    ProgramProcess.send(status, to: reports)
                }
            }
            guard requests[1].revents != 0 else { continue }
            if !hasEnded {
                // The command was killed.
                kill(-program, SIGKILL)
                var settings = settings
                _ = unsafe tcsetattr(outer, TCSANOW, &settings)
            }
            _exit(0)
        }
    }
}
