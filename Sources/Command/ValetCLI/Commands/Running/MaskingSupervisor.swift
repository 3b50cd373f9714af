// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux
internal import ValetSealing
internal import ValetSystem

/// Runs a program, and hides secrets in its output. `valet run --mask` uses it.
///
/// If standard input and an output are terminals, the program gets a terminal of its own: see
/// ``ProgramTerminal`` and ``ProgramProcess``. Otherwise it stays in the process group of this
/// process: the real terminal stops, continues and interrupts both, and an output that is a
/// terminal is replaced by a pseudoterminal that only takes output. This process passes all signals
/// on, and stops by the signal that has stopped the program, so that a shell reports the same as
/// without `--mask`.
struct MaskingSupervisor {
    /// The most that a pipe holds. Once the program has ended, this many more bytes are read, of
    /// both streams together, unless some are pending.
    private static let pipeByteCount = 1 << 20
    /// How long output may wait for its receiver after a signal has ended the program.
    private static let grace = Duration.milliseconds(500)
    /// How often a background job checks whether it is in the foreground now, in milliseconds.
    private static let pause: Int32 = 200

    private let launch: ProgramLaunch
    private let signals: CallersSignals
    private let hidden: [SecretValue]
    private var streams: [MaskedStream] = []
    private var terminal: ProgramTerminal?
    private var process: ProgramProcess?
    private var signalFile: Int32 = -1
    private var status: Int32?
    /// Whether this process was asked to end.
    private var isAskedToEnd = false
    private var buffer = [UInt8](repeating: 0, count: MaskedStream.bufferByteCount)

    init(_ launch: ProgramLaunch, hiding secrets: [SecretValue], _ signals: CallersSignals) {
        self.launch = launch
        self.signals = signals
        hidden = secrets
    }

    /// Runs the program to its end.
    ///
    /// - Throws: ``ExitCode/failure`` or ``ExitCode/brokenPipe`` if its output could not be
    ///   written.
    mutating func run() throws(CLIError) -> ProgramEnding {
        try start()
        terminal?.enter()
        while status == nil { _ = serve(timeout: isInBackground ? Self.pause : -1) }
        drain()
        terminal?.leave()
        let ending = ProgramEnding(status: status ?? 0)
        try checkOutput(ending)
        if !streams.allSatisfy(\.isDone) { leaveCopy() }
        return ending
    }

    private var isInBackground: Bool { terminal.map { !$0.isEntered } ?? false }

    // MARK: Starting

    private mutating func start() throws(CLIError) {
        try takeSignals()
        var ends: [Int32] = [-1, -1, -1]
        let isInteractive = isatty(0) == 1 && isatty(1) == 1
        var pair: (own: Int32, other: Int32) = (-1, -1)
        for number in Int32(1)...2 {
            // One terminal for both, so that their lines keep their order.
            if isatty(number) == 1, pair.own >= 0 {
                ends[Int(number)] = pair.other
                continue
            }
            let (own, other) = try open(number, isInteractive: isInteractive)
            if isatty(number) == 1 { pair = (own, other) }
            streams.append(MaskedStream(from: own, to: number, hiding: hidden))
            ends[Int(number)] = other
        }
        if isInteractive, let terminal = ProgramTerminal(own: pair.own) {
            self.terminal = terminal
            ends[0] = pair.other
            process = try ProgramProcess.start(
                launch, signals, streams: ends,
                (pair.other, terminal.outer, terminal.settings))
        } else {
            process = try ProgramProcess.start(launch, signals, streams: ends, nil)
        }
        for end in Set(ends) where end >= 0 { close(end) }
        if let reports = process?.reports, reports >= 0 {
            _ = fcntl(reports, F_SETFL, O_NONBLOCK)
        }
    }

    /// Makes the stream that the program writes to in place of descriptor `number`.
    private func open(
        _ number: Int32, isInteractive: Bool
    ) throws(CLIError) -> (own: Int32, other: Int32) {
        guard isatty(number) == 1 else {
            var ends: [Int32] = [-1, -1]
            guard unsafe valet_make_pipe(&ends) == 0 else {
                throw ProgramLaunch.failure("make a pipe")
            }
            return (ends[0], ends[1])
        }
        var pair: (own: Int32, other: Int32) = (-1, -1)
        guard
            unsafe valet_open_terminal(&pair.own, &pair.other, number, isInteractive ? 0 : 1) == 0
        else { throw ProgramLaunch.failure("make a terminal") }
        return pair
    }

    /// Blocks all signals, and makes the file that delivers them. It also delivers signals that the
    /// caller ignores: the program may handle them, and SIGCHLD is needed here.
    private mutating func takeSignals() throws(CLIError) {
        var taken = sigset_t()
        unsafe sigfillset(&taken)
        unsafe pthread_sigmask(SIG_BLOCK, &taken, nil)
        for number in CallersSignals.numbers { signal(number, SIG_DFL) }
        signalFile = unsafe signalfd(-1, &taken, Int32(0o2_000_000 | 0o4_000))
        guard signalFile >= 0 else { throw ProgramLaunch.failure("take signals") }
    }

    // MARK: Serving

    /// Waits for output, keys, a signal or a report, and handles it. Returns how many bytes of
    /// output there were; nil if nothing happened in time.
    private mutating func serve(timeout: Int32) -> Int? {
        var requests = streams.map(\.request)
        requests.append(pollfd(fd: signalFile, events: Int16(POLLIN), revents: 0))
        let reports = status == nil ? process?.reports ?? -1 : -1
        requests.append(pollfd(fd: reports, events: Int16(POLLIN), revents: 0))
        if let terminal, status == nil { requests += terminal.requests }
        let count = unsafe poll(&requests, nfds_t(requests.count), timeout)
        if isInBackground, status == nil { terminal?.enter() }
        guard count > 0 else { return nil }
        var byteCount = 0
        for index in streams.indices where requests[index].revents != 0 {
            byteCount += streams[index].serve(&buffer)
        }
        let others = requests[streams.count...].map { $0.revents != 0 }
        if others.dropFirst(2).contains(true) { terminal?.serve() }
        if others[0] { takePendingSignals() }
        if others[1] { takeReports() }
        return byteCount
    }

    private mutating func takePendingSignals() {
        var info = signalfd_siginfo()
        while unsafe read(signalFile, &info, MemoryLayout<signalfd_siginfo>.size) > 0 {
            handle(Int32(info.ssi_signo), code: info.ssi_code, sender: pid_t(info.ssi_pid))
        }
    }

    private mutating func handle(_ number: Int32, code: Int32, sender: pid_t) {
        guard let process, status == nil else {
            isAskedToEnd = isAskedToEnd || Self.ends(number)
            return
        }
        if number == SIGCHLD {
            if process.reports < 0 || Self.isFirstProcess { look(at: process) }
            return
        }
        // A write to a closed stream sends SIGPIPE to this process alone.
        if number == SIGPIPE, sender == getpid() { return }
        isAskedToEnd = isAskedToEnd || Self.ends(number)
        guard let terminal else {
            if number == SIGWINCH {
                for stream in streams { valet_copy_terminal_size(stream.number, stream.source) }
            }
            // The real terminal sends its signals to the program, too. The program itself may send
            // one to its process group.
            if code <= 0, sender != process.identifier { kill(process.identifier, number) }
            return
        }
        if number == SIGWINCH, code > 0 {
            // The program's terminal then sends the signal.
            return valet_copy_terminal_size(terminal.outer, terminal.own)
        }
        if number == SIGCONT { self.terminal?.enter() }
        kill(code > 0 ? -process.identifier : process.identifier, number)
    }

    /// Whether a signal is meant to end a program.
    private static func ends(_ number: Int32) -> Bool {
        [SIGHUP, SIGINT, SIGQUIT, SIGTERM].contains(number)
    }

    /// Whether this is the first process of a container, which has to wait for every orphan there.
    private static let isFirstProcess = getpid() == 1

    /// Waits for the program, unless a report tells its end, and for orphans.
    private mutating func look(at process: ProgramProcess) {
        var state: Int32 = 0
        let wanted = Self.isFirstProcess ? -1 : process.identifier
        while true {
            let child = unsafe waitpid(wanted, &state, WNOHANG | WUNTRACED)
            guard child > 0 else { return }
            if child == process.identifier, process.reports < 0 { take(state, of: process) }
        }
    }

    private mutating func takeReports() {
        guard let process else { return }
        while true {
            switch ProgramProcess.receive(from: process.reports) {
            case .number(let state): take(state, of: process)
            case .nothingYet: return
            case .end:
                // The leader was killed, and its program with it.
                status = status ?? SIGKILL
                return
            }
        }
    }

    /// Records that the program has ended, or stops this process as the program was stopped.
    private mutating func take(_ state: Int32, of process: ProgramProcess) {
        guard state & 0xFF == 0x7F else {
            status = state
            return
        }
        let number = state >> 8 & 0xFF
        guard terminal != nil else {
            stop(by: number, alone: true)
            // A shell continues both, but others may have continued this process alone.
            kill(process.identifier, SIGCONT)
            return
        }
        terminal?.leave()
        // A terminal stops the whole group.
        stop(by: number, alone: number == SIGSTOP)
        terminal?.enter()
        kill(-process.identifier, SIGCONT)
    }

    /// Stops this process, or its group. Returns when it is continued.
    private func stop(by number: Int32, alone: Bool) {
        var only = sigset_t()
        unsafe sigemptyset(&only)
        unsafe sigaddset(&only, number)
        kill(alone ? getpid() : 0, number)
        unsafe pthread_sigmask(SIG_UNBLOCK, &only, nil)
        unsafe pthread_sigmask(SIG_BLOCK, &only, nil)
    }

    // MARK: Ending

    /// Copies the rest of the program's output. Stops early when only programs that the program has
    /// started go on writing, or when nobody reads the output after a signal.
    private mutating func drain() {
        var byteCount = 0
        while !streams.allSatisfy(\.isDone) {
            let isPending = streams.contains(where: \.isPending)
            if !isPending, byteCount >= Self.pipeByteCount { return }
            if isPending, isAskedToEnd, !wait(for: Self.grace) {
                for index in streams.indices where streams[index].isPending {
                    streams[index].giveUp()
                }
                continue
            }
            guard let count = serve(timeout: isPending ? Self.pause : 0) else {
                if isPending { continue }
                return
            }
            byteCount += count
        }
    }

    /// Waits until a receiver takes pending output. Returns false if none does in time.
    private func wait(for duration: Duration) -> Bool {
        var requests = streams.filter(\.isPending).map(\.request)
        let milliseconds = Int32(duration / .milliseconds(1))
        return unsafe poll(&requests, nfds_t(requests.count), milliseconds) > 0
    }

    private func checkOutput(_ ending: ProgramEnding) throws(CLIError) {
        guard let stream = streams.first(where: { $0.failure != 0 }) else { return }
        let isByPipe = ending.status & 0x7F == SIGPIPE
        guard ending.status == 0 || isByPipe else { return }
        let isQuiet = stream.failure == EPIPE && !signals.isIgnored(SIGPIPE)
        let name = stream.number == 1 ? "standard output" : "standard error"
        throw CLIError(
            isQuiet ? .brokenPipe : .failure,
            "could not write to \(name): \(Terminal.text(forSystemError: stream.failure))")
    }

    /// Leaves a copy of this process behind, which goes on copying and masking the output of
    /// programs that the program has started. This process can then end with the program.
    private mutating func leaveCopy() {
        guard valet_fork() == 0 else { return }
        signals.restore()
        _ = signal(SIGPIPE, SIG_IGN)
        let null = unsafe Glibc.open("/dev/null", O_RDWR)
        let busy = Set(streams.filter { !$0.isDone }.map(\.number))
        for number in Int32(0)...2 where !busy.contains(number) { dup2(null, number) }
        ProgramProcess.closeOthers(than: streams.flatMap(\.descriptors) + (process?.kept ?? []))
        signalFile = -1
        status = 0
        terminal = nil
        while !streams.allSatisfy(\.isDone) { _ = serve(timeout: -1) }
        _exit(0)
    }
}

struct ProgramEnding {
    /// As `waitpid` reports it.
    let status: Int32

    /// Ends this process in the same way.
    func repeatHere() -> Never {
        let number = status & 0x7F
        guard number != 0 else { exit(status >> 8 & 0xFF) }
        signal(number, SIG_DFL)
        var only = sigset_t()
        unsafe sigemptyset(&only)
        unsafe sigaddset(&only, number)
        unsafe pthread_sigmask(SIG_UNBLOCK, &only, nil)
        raise(number)
        exit(128 + number)
    }
}
