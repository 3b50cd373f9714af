// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux
internal import ValetSecretMemory

/// Runs a program, and hides secrets in what it writes. `valet run --mask` uses it.
///
/// The program is in the process group of this command, so the terminal stops, continues and
/// interrupts both; signals that are sent to this command alone are passed on. Where standard
/// output or standard error is a terminal, the program writes to a terminal of its own, which has
/// the size of the real one. Its standard input is the real one.
struct MaskingSupervisor {
    /// How long output may be silent after the program has ended, while programs that it has
    /// started keep the stream open.
    private static let silence: Int32 = 200
    /// How long the possible beginning of a secret waits for its end.
    private static let patience: Int32 = 100
    private static let passedOn = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM]

    /// One stream of the program: where it comes from and where it goes.
    private struct Stream {
        var source: Int32
        let target: Int32
        var mask: OutputMask
    }

    private let launch: ProgramLaunch
    private let signals: CallersSignals
    private var streams: [Stream] = []
    private var ends: [Int32] = []
    private var program: pid_t = 0
    private var status: Int32?
    private let hidden: [SecretValue]

    init(_ launch: ProgramLaunch, hiding secrets: [SecretValue], _ signals: CallersSignals) {
        self.launch = launch
        self.signals = signals
        hidden = secrets
    }

    /// Runs the program to its end, and ends this process in the same way.
    mutating func run() throws(CLIError) -> Never {
        let output = try open(1)
        let isShared = isatty(1) == 1 && isatty(2) == 1
        // One terminal for both, so that their lines keep their order.
        let errors = isShared ? output : try open(2)
        let signalFile = try takeSignals()
        program = try launch.start(signals, output: output, errors: errors)
        for end in ends { close(end) }
        while status == nil { serve(signalFile, timeout: timeout) }
        drain()
        end()
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
        for index in streams.indices where requests[index].revents != 0 { copy(index) }
        guard requests[streams.count].revents != 0 else { return }
        var info = signalfd_siginfo()
        while unsafe read(signalFile, &info, MemoryLayout<signalfd_siginfo>.size) > 0 {
            handle(Int32(info.ssi_signo), isOfKernel: info.ssi_code > 0)
        }
    }

    private mutating func handle(_ number: Int32, isOfKernel: Bool) {
        switch number {
        case SIGCHLD: look()
        case SIGWINCH:
            for stream in streams { valet_copy_terminal_size(stream.target, stream.source) }
        case SIGTSTP, SIGTTIN, SIGTTOU:
            // The terminal stops the program, too, and this process stops after it.
            if !isOfKernel { kill(program, number) }
        default:
            // The terminal sends its signals to the program itself.
            if !isOfKernel { kill(program, number) }
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
            // The shell has to see that its job was stopped. Both are continued together.
            kill(getpid(), SIGSTOP)
            kill(program, SIGCONT)
        }
    }

    /// Copies what the stream has. Returns how many bytes there were.
    @discardableResult
    private mutating func copy(_ index: Int) -> Int {
        var buffer = [UInt8](repeating: 0, count: 32 << 10)
        let count = unsafe read(streams[index].source, &buffer, buffer.count)
        let target = streams[index].target
        var isGone = false
        let bytes = count > 0 ? Array(buffer[..<count]) : []
        streams[index].mask.pass(bytes, isEnd: count <= 0 && errno != EINTR) { piece in
            if !Self.write(piece, to: target) { isGone = true }
        }
        for place in buffer.indices { buffer[place] = 0 }
        if isGone || count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN) {
            // The program gets SIGPIPE if the reader of its output has gone.
            close(streams[index].source)
            streams[index].source = -1
        }
        return count
    }

    /// Passes on what waits for the end of a secret.
    private mutating func release() {
        for index in streams.indices {
            let target = streams[index].target
            streams[index].mask.pass([], isEnd: true) { _ = Self.write($0, to: target) }
        }
    }

    /// Copies what the program has left, until its streams are closed or silent.
    private mutating func drain() {
        while streams.contains(where: { $0.source >= 0 }) {
            var requests = streams.map { pollfd(fd: $0.source, events: Int16(POLLIN), revents: 0) }
            let count = unsafe poll(&requests, nfds_t(requests.count), Self.silence)
            guard count > 0 else { break }
            for index in streams.indices where requests[index].revents != 0 { copy(index) }
        }
        release()
    }

    /// Ends as the program has ended.
    private func end() -> Never {
        let state = status ?? 0
        let number = state & 0x7F
        guard number != 0 else { exit(state >> 8 & 0xFF) }
        signal(number, SIG_DFL)
        var only = sigset_t()
        unsafe sigemptyset(&only)
        unsafe sigaddset(&only, number)
        unsafe pthread_sigmask(SIG_UNBLOCK, &only, nil)
        raise(number)
        exit(128 + number)
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
