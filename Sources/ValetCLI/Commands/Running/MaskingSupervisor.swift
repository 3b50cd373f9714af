// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux
internal import ValetSecretMemory

/// Runs a program, and hides secrets in what it writes. `valet run --mask` uses it.
///
/// The program is in the process group of this command, so the terminal stops, continues and
/// interrupts both; signals that are sent to this command alone are passed on. This command stops
/// by the signal that has stopped the program, so a shell reports the same as without it. Where
/// standard output or standard error is a terminal, the program writes to a terminal of its own,
/// which has the size of the real one. Its standard input is the real one.
struct MaskingSupervisor {
    /// How long output may be silent after the program has ended, while programs that it has
    /// started keep the stream open.
    private static let silence: Int32 = 200
    /// How long this process waits in all for output after the program has ended.
    private static let longestWait = Duration.seconds(1)
    /// The most that a pipe holds: what the program has written is among as many bytes.
    private static let pipeByteCount = 1 << 20
    /// How long the possible beginning of a secret waits for its end.
    private static let patience: Int32 = 100
    private static let passedOn = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM]

    /// One stream of the program: where it comes from and where it goes.
    private struct Stream {
        var source: Int32
        let target: Int32
        var mask: OutputMask

        /// Copies what there is, through `buffer`. Returns how many bytes there were.
        mutating func copy(_ buffer: inout [UInt8]) -> Int {
            let result = unsafe read(source, &buffer, buffer.count)
            if result < 0, errno == EINTR || errno == EAGAIN { return 0 }
            let (count, target) = (max(0, result), target)
            var isGone = false
            mask.pass(buffer.span.extracting(..<count), isEnd: count == 0) { piece in
                if !MaskingSupervisor.write(piece, to: target) { isGone = true }
            }
            for place in 0..<count { buffer[place] = 0 }
            // The program gets SIGPIPE if the reader of its output has gone.
            if isGone || count == 0 { end() }
            return count
        }

        mutating func end() {
            close(source)
            source = -1
        }
    }

    private let launch: ProgramLaunch
    private let signals: CallersSignals
    private var streams: [Stream] = []
    private var ends: [Int32] = []
    private var program: pid_t = 0
    private var status: Int32?
    private let hidden: [SecretValue]
    private var buffer = [UInt8](repeating: 0, count: 32 << 10)

    init(_ launch: ProgramLaunch, hiding secrets: [SecretValue], _ signals: CallersSignals) {
        self.launch = launch
        self.signals = signals
        hidden = secrets
    }

    /// Runs the program to its end.
    mutating func run() throws(CLIError) -> ProgramEnding {
        let output = try open(1)
        let isShared = isatty(1) == 1 && isatty(2) == 1
        // One terminal for both, so that their lines keep their order.
        let errors = isShared ? output : try open(2)
        let signalFile = try takeSignals()
        program = try launch.start(signals, output: output, errors: errors)
        for end in ends { close(end) }
        while true {
            serve(signalFile, timeout: timeout)
            guard let status else { continue }
            drain()
            return ProgramEnding(status: status)
        }
    }

    /// Makes the stream that the program writes to in place of descriptor `number`.
    private mutating func open(_ number: Int32) throws(CLIError) -> Int32 {
        var pair: (own: Int32, other: Int32) = (-1, -1)
        if isatty(number) == 1 {
            guard unsafe valet_open_output_terminal(&pair.own, &pair.other, number) == 0 else {
                throw ProgramLaunch.failure("make a terminal")
            }
        } else {
            var ends: [Int32] = [-1, -1]
            guard unsafe valet_make_pipe(&ends) == 0 else {
                throw ProgramLaunch.failure("make a pipe")
            }
            pair = (ends[0], ends[1])
        }
        ends.append(pair.other)
        streams.append(
            Stream(source: pair.own, target: number, mask: OutputMask(hiding: hidden)))
        return pair.other
    }

    /// Blocks the signals that this process handles, and returns the file that tells of them.
    private func takeSignals() throws(CLIError) -> Int32 {
        var taken = sigset_t()
        unsafe sigemptyset(&taken)
        for number in Self.passedOn + [SIGCHLD, SIGWINCH, SIGTSTP, SIGTTIN, SIGTTOU] {
            unsafe sigaddset(&taken, number)
        }
        unsafe pthread_sigmask(SIG_BLOCK, &taken, nil)
        let file = unsafe signalfd(-1, &taken, Int32(0o2_000_000 | 0o4_000))
        guard file >= 0 else { throw ProgramLaunch.failure("take signals") }
        return file
    }

    private var timeout: Int32 { streams.contains { $0.mask.isHolding } ? Self.patience : -1 }

    /// Waits for output or a signal, and handles it.
    private mutating func serve(_ signalFile: Int32, timeout: Int32) {
        var requests = streams.map { pollfd(fd: $0.source, events: Int16(POLLIN), revents: 0) }
        requests.append(pollfd(fd: signalFile, events: Int16(POLLIN), revents: 0))
        let count = unsafe poll(&requests, nfds_t(requests.count), timeout)
        if count == 0 { release() }
        for index in streams.indices where requests[index].revents != 0 {
            _ = streams[index].copy(&buffer)
        }
        guard requests[streams.count].revents != 0 else { return }
        var info = signalfd_siginfo()
        while unsafe read(signalFile, &info, MemoryLayout<signalfd_siginfo>.size) > 0 {
            // The terminal sends its signals to the program, too. The program itself may send one
            // to its process group.
            let isForBoth = info.ssi_code > 0 || info.ssi_pid == UInt32(program)
            handle(Int32(info.ssi_signo), isForBoth: isForBoth)
        }
    }

    private mutating func handle(_ number: Int32, isForBoth: Bool) {
        switch number {
        case SIGCHLD: look()
        case SIGWINCH:
            for stream in streams { valet_copy_terminal_size(stream.target, stream.source) }
        default:
            if !isForBoth { kill(program, number) }
        }
    }

    /// Looks whether the program has ended, or was stopped.
    private mutating func look() {
        var state: Int32 = 0
        while unsafe waitpid(program, &state, WNOHANG | WUNTRACED) == program {
            guard state & 0xFF == 0x7F else {
                status = state
                return
            }
            stop(by: state >> 8 & 0xFF)
            // A shell continues both, but others may have continued this process alone.
            kill(program, SIGCONT)
        }
    }

    /// Stops this process. Returns when it is continued.
    private func stop(by number: Int32) {
        var only = sigset_t()
        unsafe sigemptyset(&only)
        unsafe sigaddset(&only, number)
        kill(getpid(), number)
        unsafe pthread_sigmask(SIG_UNBLOCK, &only, nil)
        unsafe pthread_sigmask(SIG_BLOCK, &only, nil)
    }

    /// Passes on what waits for the end of a secret.
    private mutating func release() {
        for index in streams.indices {
            let target = streams[index].target
            let nothing: [UInt8] = []
            streams[index].mask.pass(nothing.span, isEnd: true) { _ = Self.write($0, to: target) }
        }
    }

    /// Copies what the program has left, until its streams are closed or silent. Programs that it
    /// has started may go on writing: neither many bytes nor a few now and then keep this process.
    private mutating func drain() {
        var counts = streams.map { _ in 0 }
        var waited = Duration.zero
        while waited < Self.longestWait, streams.contains(where: { $0.source >= 0 }) {
            var requests = streams.map { pollfd(fd: $0.source, events: Int16(POLLIN), revents: 0) }
            let start = ContinuousClock.now
            let count = unsafe poll(&requests, nfds_t(requests.count), Self.silence)
            waited += ContinuousClock.now - start
            guard count > 0 else { break }
            for index in streams.indices where requests[index].revents != 0 {
                counts[index] += streams[index].copy(&buffer)
                if counts[index] >= Self.pipeByteCount { streams[index].end() }
            }
        }
        release()
    }

    private static func write(_ bytes: Span<UInt8>, to file: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.write(file, $0.baseAddress, $0.count)
            }
            if count >= 0 {
                rest = rest.extracting(droppingFirst: count)
            } else if errno == EAGAIN {
                var request = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&request, 1, -1)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }
}

/// How a program has ended.
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
