// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux
package import ValetSealing
package import ValetSystem
internal import ValetUserPresence

/// The console of this process: its three standard streams, and the user's terminal.
struct Terminal: Console {
    /// Whether a closed pipe is reported as an error, as in programs that were started with SIGPIPE
    /// ignored. Otherwise the command ends as if by that signal.
    let reportsBrokenPipe: Bool

    /// How many tries a person has to type the same secret twice.
    private static let tryCount = 3
    /// How long a person has to answer a question with a line.
    private static let timeToAnswer = Duration.seconds(60)
    /// How long a person has to type a secret, which may have to be looked up or chosen.
    private static let timeToType = Duration.seconds(180)

    /// The signals that this process's caller blocked.
    private let callersMask: sigset_t
    /// Those of ``ownSignals`` that the caller ignored.
    private let callersIgnored: [Int32]

    /// What this process does with signals for its whole life, whatever its caller chose. With
    /// SIGCHLD ignored, the kernel would not tell how a child has ended. A file that exceeds the
    /// limit is an error, not a signal.
    private static let ownSignals: [(number: Int32, ignored: Int32)] = [
        (SIGCHLD, 0), (SIGXFSZ, 1),
    ]

    /// The ignored signals and the signal mask that this process's caller chose, for programs that
    /// this process starts or becomes. Read it before this process handles signals in its own way.
    var callersSignals: CallersSignals {
        var ignored = sigset_t()
        unsafe sigemptyset(&ignored)
        for number in CallersSignals.numbers {
            let isOwn = Self.ownSignals.contains { $0.number == number }
            let isIgnored =
                number == SIGPIPE
                ? reportsBrokenPipe
                : isOwn ? callersIgnored.contains(number) : valet_is_signal_ignored(number) != 0
            if isIgnored { unsafe sigaddset(&ignored, number) }
        }
        return CallersSignals(ignored: ignored, mask: callersMask)
    }

    /// Turns off core files and crash reports. Makes writing to a closed pipe or a closed standard
    /// stream fail.
    static func prepareProcess() -> Terminal {
        // Two ways to leave no core file. Each suffices, so that one may fail.
        _ = valet_disable_core_files()
        _ = valet_set_dumpable(0)
        // The Swift runtime's reports show memory, which may hold a secret.
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV] {
            valet_drop_signal_handler(number)
        }
        // The process survives SIGPIPE, so that it can close the keychain before it ends.
        var mask = sigset_t()
        unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
        let terminal = Terminal(
            reportsBrokenPipe: valet_ignore_signal(SIGPIPE, 1) != 0, callersMask: mask,
            callersIgnored: ownSignals.filter { valet_ignore_signal($0.number, $0.ignored) != 0 }
                .map(\.number))
        // A signal that our parent blocked would stay pending for ever.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN] {
            unsafe sigaddset(&signals, number)
        }
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        // A closed descriptor 1 would be reused for the next file that is opened: the database.
        // /dev/null, opened for the wrong direction, keeps it busy, and writing still fails.
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) == -1 {
            _ = unsafe open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
        return terminal
    }

    /// Turns off all questions of this process, as `VALET_INTERACTION=never` does.
    static func turnQuestionsOff() {
        _ = unsafe setenv("VALET_INTERACTION", "never", 1)
    }

    /// Ends the process by SIGPIPE. Returns if the signal is blocked or caught.
    static func endByBrokenPipe() {
        _ = signal(SIGPIPE, SIG_DFL)
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(SIGPIPE)
    }

    /// Replaces this process by the program `name`, with the command line of this process except
    /// the words at the indices `places`; index 0 is this program's own name. Looks for the program
    /// in the folder of this one and in `/usr/libexec/valet`, never in `$PATH`. Returns if the
    /// program cannot be run from either.
    static func become(program name: String, without places: Set<Int>, like console: any Console) {
        // The program would take what this one has chosen for the wish of its caller.
        if let terminal = console as? Terminal {
            if !terminal.reportsBrokenPipe { _ = signal(SIGPIPE, SIG_DFL) }
            for (number, _) in ownSignals {
                _ = valet_ignore_signal(number, terminal.callersIgnored.contains(number) ? 1 : 0)
            }
        }
        let words = unsafe Array(Self.words)
        let own = FilePath.resolved("/proc/self/exe")
        let beside = own.flatMap { own in own.lastIndex(of: "/").map { String(own[...$0]) } }
        for folder in [beside, "/usr/libexec/valet/"].compactMap(\.self) {
            let path = folder + name
            unsafe path.withCString { path in
                var arguments: [UnsafeMutablePointer<CChar>?] =
                    unsafe [UnsafeMutablePointer(mutating: path)]
                for place in unsafe words.indices where !places.contains(place) {
                    unsafe arguments.append(words[place])
                }
                unsafe arguments.append(nil)
                _ = unsafe execv(path, &arguments)
            }
        }
    }

    /// The program's name and its arguments, as the caller wrote them. Swift reads them from /proc,
    /// and has none where that is not mounted.
    static var words: UnsafeBufferPointer<UnsafeMutablePointer<CChar>?> {
        if CommandLine.argc > 0 {
            return unsafe UnsafeBufferPointer(
                start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
        }
        var count: Int32 = 0
        let start = unsafe valet_arguments_on_stack(&count)
        return unsafe UnsafeBufferPointer(start: start, count: Int(count))
    }

    /// The arguments after the program's name; nil for those that are not UTF-8.
    static var arguments: [String?] {
        unsafe words.dropFirst().map { word in
            unsafe word.flatMap { unsafe String(validatingCString: $0) }
        }
    }

    /// The last part of the path by which this process was started.
    static var programName: String {
        guard let path = unsafe words.first.flatMap({ unsafe $0 }),
            let text = unsafe String(validatingCString: path)
        else { return "" }
        return text.split(separator: "/").last.map(String.init) ?? ""
    }

    /// The system's text for an `errno`.
    static func text(forSystemError number: Int32) -> String {
        unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
    }

    package var isInputTerminal: Bool { isatty(0) == 1 }
    package var isOutputTerminal: Bool { isatty(1) == 1 }
    package var isErrorTerminal: Bool { isatty(2) == 1 }

    var outputColumnCount: Int? {
        guard isOutputTerminal else { return nil }
        let count = Int(valet_terminal_column_count(1))
        return count > 0 ? count : nil
    }

    /// https://no-color.org
    var takesColour: Bool {
        guard isOutputTerminal else { return false }
        func value(_ name: String) -> String? {
            unsafe getenv(name).flatMap { unsafe String(validatingCString: $0) }
        }
        let terminal = value("TERM") ?? "dumb"
        return (value("NO_COLOR") ?? "").isEmpty && !["", "dumb"].contains(terminal)
    }

    var canOffer: Bool {
        guard isErrorTerminal, refusalToAsk == nil else { return false }
        return TerminalDevice().canAsk
    }

    func askLine(_ question: String) throws(CLIError) -> String {
        do {
            let line = try TerminalDevice().readShownLine(
                Escaping.harmless(question), within: Self.timeToAnswer)
            let count = line.lineByteCount
            // The end of the input counts as a no.
            guard line.byteCount > 0 else { return "n" }
            return line.value(byteCount: count).publicText ?? "\u{FFFD}"
        } catch {
            throw Self.unanswered(error)
        }
    }

    var refusalToAsk: String? {
        do {
            try PasscodeAsker.forProcess().checkThatAskingIsOn()
            return nil
        } catch {
            return error.reason
        }
    }

    func readInput(atMost byteCount: Int) throws(CLIError) -> SecretValue {
        let input: SecretValue
        do {
            input = try SecretValue.read(from: 0, atMost: byteCount)
        } catch {
            throw CLIError(error)
        }
        guard input.byteCount <= byteCount else {
            let limit =
                byteCount < 1 << 20 ? "\(byteCount >> 10) KiB" : "\(byteCount >> 20) MiB"
            throw .usage("the secret is larger than \(limit)")
        }
        return input
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
                let isQuiet = errno == EPIPE && !reportsBrokenPipe
                let cause = Self.text(forSystemError: errno)
                throw CLIError(
                    isQuiet ? .brokenPipe : .failure, "could not write to standard output: \(cause)"
                )
            }
        }
    }

    func note(_ line: String) {
        show(Escaping.harmless(line) + "\n")
    }

    func show(_ text: String) {
        _ = Self.write(Array(text.utf8).span, to: 2)
    }

    func askTwice(_ prompt: String) throws(CLIError) -> SecretValue {
        let device = TerminalDevice()
        for triesLeft in (0..<Self.tryCount).reversed() {
            let first = try ask(device, prompt + ": ")
            let second = try ask(device, prompt + ", again: ")
            if first.isEqual(to: second) { return first }
            if triesLeft > 0 { note("valet: the two secrets differ: type both again") }
        }
        throw CLIError(.failure, "the two secrets differ: nothing was stored")
    }

    func confirm(
        _ question: String, within duration: Duration
    ) throws(CLIError) -> Bool {
        do {
            let answer = try TerminalDevice().readShownLine(
                Escaping.harmless(question) + " [y/N] ", within: duration
            ).firstByte
            return answer == UInt8(ascii: "y") || answer == UInt8(ascii: "Y")
        } catch {
            throw Self.unanswered(error)
        }
    }

    private func ask(_ device: borrowing TerminalDevice, _ prompt: String) throws(CLIError)
        -> SecretValue
    {
        do {
            let line = try device.readHiddenLine(
                Escaping.harmless(prompt), within: Self.timeToType)
            let count = line.lineByteCount
            return line.value(byteCount: count)
        } catch  where error.code == .severalLines {
            throw .usage(
                "the secret has several lines, but a prompt accepts one: nothing was stored",
                hint: "use standard input: 'valet set KEY < FILE'")
        } catch  where error.code == .tooLong {
            let limit = TerminalDevice.maximumLineByteCount
            throw .usage(
                "a line from a terminal has at most \(limit) bytes",
                hint: "use standard input: 'valet set KEY < FILE'")
        } catch {
            throw Self.unanswered(error)
        }
    }

    /// The error for a question without an answer. The module that asks calls every answer a
    /// passcode.
    private static func unanswered(_ error: SystemError) -> CLIError {
        guard error.code == .timedOut else { return CLIError(error) }
        return CLIError(.failure, "nobody answered in time: nothing was changed")
    }

    private static func write(_ bytes: Span<UInt8>, to descriptor: Int32) -> Int {
        unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    private static func wait(for descriptor: Int32, _ events: Int32) {
        var request = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        _ = unsafe poll(&request, 1, -1)
    }
}

extension SecretValue {
    /// Reads a descriptor up to its end, or until it has supplied more than `limit` bytes.
    ///
    /// - Throws: `timedOut` at the deadline; `descriptorUnreadable`.
    package static func read(
        from descriptor: Int32, atMost limit: Int, until deadline: Deadline = .never
    ) throws(SystemError) -> SecretValue {
        var input = SecretInput(capacity: 4 << 10)
        while input.byteCount <= limit, try input.read(from: descriptor, until: deadline) > 0 {}
        let count = input.byteCount
        return input.value(byteCount: count)
    }

    /// A copy as text, for parts that are not secret; nil if the bytes are not UTF-8.
    package var publicText: String? { withBytes { $0.text } }
}
