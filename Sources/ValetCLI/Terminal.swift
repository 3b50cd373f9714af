// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc
internal import SecretMemory

/// The console of this process: its three standard streams, and a person at a terminal.
struct Terminal: Console {
    /// The longest line that the kernel's line editor hands over; it drops what goes beyond.
    private static let maximumLineByteCount = 4094

    /// Turns core files and reports of crashes off, and makes writing fail where nobody reads or
    /// nothing is open.
    static func prepareProcess() {
        // If either fails there is still the other.
        _ = valet_disable_core_files()
        _ = valet_set_dumpable(0)
        // The Swift runtime's reports show memory, which may hold a secret.
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV] {
            valet_drop_signal_handler(number)
        }
        _ = signal(SIGPIPE, SIG_IGN)
        // A free descriptor 1 would go to the next file that is opened: the database. Opened the
        // wrong way round, reading and writing fail as they do on a closed descriptor.
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) == -1 {
            _ = unsafe open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }

    /// The words behind the program's name; nil for those that are not UTF-8.
    static var arguments: [String?] {
        (1..<max(1, Int(CommandLine.argc))).map { index in
            guard let word = unsafe CommandLine.unsafeArgv[index] else { return nil }
            return unsafe String(validatingCString: word)
        }
    }

    /// What the system calls an `errno`.
    static func text(forSystemError number: Int32) -> String {
        unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
    }

    var isInputTerminal: Bool { isatty(0) == 1 }
    var isOutputTerminal: Bool { isatty(1) == 1 }

    func readInput(atMost byteCount: Int) throws(CLIError) -> SecretValue {
        var buffer = InputBuffer(capacity: 64 << 10)
        while true {
            let count = try buffer.read(from: 0)
            if count == 0 { return buffer.value(byteCount: buffer.count) }
            guard buffer.count <= byteCount else {
                throw .usage("the secret is larger than \(byteCount >> 20) MiB")
            }
        }
    }

    func write(_ bytes: Span<UInt8>) throws(CLIError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = Self.write(rest, to: 1)
            if count >= 0 {
                rest = rest.extracting(droppingFirst: count)
            } else if errno == EAGAIN {
                Self.wait(for: 1, POLLOUT)
            } else if errno != EINTR {
                let cause = Self.text(forSystemError: errno)
                throw CLIError(.failure, "could not write to standard output: \(cause)")
            }
        }
    }

    func note(_ line: String) {
        _ = Self.write(Array((line + "\n").utf8).span, to: 2)
    }

    func askTwice(_ prompt: String) throws(CLIError) -> SecretValue {
        let device = TerminalDevice()
        let first = try ask(device, prompt + ": ")
        let second = try ask(device, prompt + ", again: ")
        let isEqual = first.withBytes { first in second.withBytes { Self.isEqual(first, $0) } }
        guard isEqual else { throw CLIError(.failure, "the two secrets differ") }
        return first
    }

    func confirm(_ question: String) throws(CLIError) -> Bool {
        let device = TerminalDevice()
        device.show(question + " [y/N] ")
        var buffer = InputBuffer(capacity: Self.maximumLineByteCount + 2)
        _ = try buffer.read(from: device.descriptor)
        return buffer.firstByte == UInt8(ascii: "y") || buffer.firstByte == UInt8(ascii: "Y")
    }

    private func ask(_ device: borrowing TerminalDevice, _ prompt: String) throws(CLIError)
        -> SecretValue
    {
        var buffer = InputBuffer(capacity: Self.maximumLineByteCount + 2)
        while true {
            device.show(prompt)
            guard
                try device.waitWithoutEcho({ () throws(CLIError) in
                    _ = try buffer.read(from: device.descriptor)
                })
            else { continue }
            guard buffer.count <= Self.maximumLineByteCount else {
                throw .usage(
                    "a terminal hands over at most \(Self.maximumLineByteCount) bytes of a line",
                    hint: "use standard input: 'valet set KEY < FILE'")
            }
            return buffer.value(byteCount: buffer.count - (buffer.endsInNewline ? 1 : 0))
        }
    }

    /// In a time that depends on the sizes alone.
    private static func isEqual(_ first: Span<UInt8>, _ second: Span<UInt8>) -> Bool {
        guard first.count == second.count else { return false }
        var difference: UInt8 = 0
        for index in first.indices { difference |= first[index] ^ second[index] }
        return difference == 0
    }

    fileprivate static func write(_ bytes: Span<UInt8>, to descriptor: Int32) -> Int {
        unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    fileprivate static func wait(for descriptor: Int32, _ events: Int32) {
        var request = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        _ = unsafe poll(&request, 1, -1)
    }
}

/// The terminal that a person sits at.
private struct TerminalDevice: ~Copyable {
    let descriptor: Int32
    private let output: Int32
    private let isOwned: Bool

    /// The controlling terminal; without one, standard input and standard error.
    init() {
        let opened = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC)
        isOwned = opened >= 0
        descriptor = isOwned ? opened : 0
        output = isOwned ? opened : 2
    }

    deinit {
        if isOwned { _ = close(descriptor) }
    }

    /// Shows text to the person.
    func show(_ text: String) {
        _ = Terminal.write(Array(text.utf8).span, to: output)
    }

    /// Waits for a line that is not shown and has `body` read it.
    ///
    /// Signals that end or stop the process wait until the terminal is as it was. Whoever dies of
    /// one exits as the shell expects (130 for SIGINT); whoever is stopped and goes on gets false
    /// and has to ask anew.
    func waitWithoutEcho(_ body: () throws(CLIError) -> Void) throws(CLIError) -> Bool {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN] {
            unsafe sigaddset(&signals, number)
        }
        var earlier = sigset_t()
        unsafe pthread_sigmask(SIG_BLOCK, &signals, &earlier)
        defer {
            // Also those that our parent had blocked: else one would stay pending for ever.
            unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            unsafe pthread_sigmask(SIG_SETMASK, &earlier, nil)
        }
        let arrival = unsafe signalfd(-1, &signals, Int32(SFD_CLOEXEC))
        guard arrival >= 0 else { throw failure() }
        defer { close(arrival) }

        var settings = termios()
        guard unsafe tcgetattr(descriptor, &settings) == 0 else { throw failure() }
        let shown = settings
        settings.c_lflag &= ~tcflag_t(ECHO)
        settings.c_lflag |= tcflag_t(ECHONL | ICANON | ISIG)
        guard unsafe tcsetattr(descriptor, TCSAFLUSH, &settings) == 0 else { throw failure() }
        defer {
            var shown = shown
            _ = unsafe tcsetattr(descriptor, TCSAFLUSH, &shown)
        }
        guard isLineFirst(signals: arrival) else {
            show("\n")
            return false
        }
        try body()
        return true
    }

    /// Waits for a line or a signal. Signals stay pending: they are not read.
    private func isLineFirst(signals: Int32) -> Bool {
        var requests = [
            pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while unsafe poll(&requests, 2, -1) < 0 {
            guard errno == EINTR else { return true }
        }
        return requests[0].revents == 0
    }

    private func failure() -> CLIError {
        let cause = Terminal.text(forSystemError: errno)
        return CLIError(.failure, "could not use the terminal: \(cause)")
    }
}

/// Bytes that are being read.
private struct InputBuffer: ~Copyable {
    private var bytes: SecretBytes
    private(set) var count = 0

    init(capacity: Int) {
        bytes = SecretBytes(byteCount: capacity)
    }

    var firstByte: UInt8? { count > 0 ? byte(at: 0) : nil }
    var endsInNewline: Bool { count > 0 && byte(at: count - 1) == UInt8(ascii: "\n") }

    /// Appends what one call reads; returns how much that was, 0 at the end.
    mutating func read(from descriptor: Int32) throws(CLIError) -> Int {
        if count == bytes.byteCount { grow() }
        while true {
            let result = readOnce(from: descriptor)
            if result >= 0 {
                count += result
                return result
            }
            if errno == EAGAIN {
                Terminal.wait(for: descriptor, POLLIN)
            } else if errno != EINTR {
                let cause = Terminal.text(forSystemError: errno)
                throw CLIError(.failure, "could not read the secret: \(cause)")
            }
        }
    }

    /// Hands over the first bytes.
    consuming func value(byteCount: Int) -> SecretValue {
        SecretValue(bytes, byteCount: byteCount)
    }

    private func byte(at index: Int) -> UInt8 {
        bytes.withBytes { $0[index] }
    }

    private mutating func readOnce(from descriptor: Int32) -> Int {
        let count = count
        return bytes.withMutableBytes { span in
            unsafe span.withUnsafeMutableBytes { memory in
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[count...])
                return unsafe Glibc.read(descriptor, rest.baseAddress, rest.count)
            }
        }
    }

    private mutating func grow() {
        var larger = SecretBytes(byteCount: bytes.byteCount * 2)
        bytes.withBytes { old in
            larger.withMutableBytes { new in
                for index in old.indices { new[index] = old[index] }
            }
        }
        bytes = larger
    }
}
