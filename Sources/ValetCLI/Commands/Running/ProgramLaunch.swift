// SPDX-License-Identifier: Apache-2.0

// Hands secrets to a program: through its environment, and through files in memory. `RunCommand`
// makes a launch, and becomes the program or supervises it.

internal import Glibc
internal import ValetCLinux
internal import ValetSecretMemory
internal import ValetUserPresence

/// How programs treat signals if nothing stood between them and the caller of this command.
struct CallersSignals {
    let ignoresBrokenPipe: Bool
    let mask: sigset_t
}

/// A program with its words, its environment, and the files in memory that it inherits.
@safe struct ProgramLaunch {
    /// The program and its arguments, as the caller wrote them. They may not be UTF-8.
    private let words: [UnsafeMutablePointer<CChar>?]
    /// `NAME=VALUE` with a zero at the end; later ones replace inherited variables.
    private var variables: [(name: String, text: SecretValue)] = []

    /// - Parameter count: How many of the last words of the command line belong to the program.
    init(lastWords count: Int) {
        unsafe words = unsafe Terminal.words.suffix(count) + [nil]
    }

    /// Sets a variable.
    ///
    /// - Throws: ``ExitCode/failure`` for a value with a zero byte, which no variable can have.
    mutating func set(_ name: String, to value: Span<UInt8>) throws(CLIError) {
        guard !value.indices.contains(where: { value[$0] == 0 }) else {
            throw CLIError(
                .failure, "the value for the variable \(quoted(name)) has a zero byte",
                hint: "'--file \(name)=REF' passes it in a file")
        }
        let head = Array((name + "=").utf8)
        var text = SecretBytes(byteCount: head.count + value.count + 1)
        text.write(head.span, at: 0)
        text.write(value, at: head.count)
        variables.removeAll { $0.name == name }
        variables.append((name, SecretValue(text)))
    }

    /// Puts a value into a file in memory that nobody can change, and returns its number.
    static func memoryFile(_ value: SecretValue) throws(CLIError) -> Int32 {
        let file = valet_make_memory_file()
        guard file >= 0 else { throw failure("make a file in memory") }
        let isWritten = value.withBytes { bytes in
            var rest = bytes
            while !rest.isEmpty {
                let count = unsafe rest.withUnsafeBytes {
                    unsafe write(file, $0.baseAddress, $0.count)
                }
                if count < 0 { return false }
                rest = rest.extracting(droppingFirst: count)
            }
            return true
        }
        // Others could not read it anyway; the program itself only reads it.
        guard isWritten, fchmod(file, 0o400) == 0, lseek(file, 0, SEEK_SET) == 0,
            valet_seal_memory_file(file) == 0
        else {
            let error = failure("write a file in memory")
            close(file)
            throw error
        }
        return file
    }

    /// Makes `value` the standard input of this process, and so of the program.
    static func useAsInput(_ value: SecretValue) throws(CLIError) {
        let file = try memoryFile(value)
        guard dup2(file, 0) == 0 else { throw failure("replace standard input") }
        close(file)
    }

    /// Becomes the program. Returns only with the reason why it could not.
    func become(_ signals: CallersSignals) -> CLIError {
        let code = unsafe withEnvironment { (environment) -> Int32 in
            signal(SIGPIPE, signals.ignoresBrokenPipe ? SIG_IGN : SIG_DFL)
            var mask = signals.mask
            unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
            unsafe valet_become(words[0], words, environment)
            return errno
        }
        _ = signal(SIGPIPE, SIG_IGN)
        return error(code)
    }

    /// Starts the program with `streams` as standard output and standard error, where given.
    func start(
        _ signals: CallersSignals, output: Int32?, errors: Int32?
    ) throws(CLIError) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (stream, number) in [(output, Int32(1)), (errors, 2)] {
            if let stream { unsafe posix_spawn_file_actions_adddup2(&actions, stream, number) }
        }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var mask = signals.mask
        unsafe posix_spawnattr_setsigmask(&attributes, &mask)
        var defaults = sigset_t()
        unsafe sigemptyset(&defaults)
        if !signals.ignoresBrokenPipe { unsafe sigaddset(&defaults, SIGPIPE) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
        unsafe posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var child: pid_t = 0
        let code = unsafe withEnvironment { (environment) -> Int32 in
            guard let program = unsafe words[0] else { return ENOENT }
            return unsafe posix_spawnp(
                &child, program, &actions, &attributes, words, environment)
        }
        guard code == 0 else { throw error(code) }
        return child
    }

    /// Calls `body` with the caller's variables and those of this launch.
    private func withEnvironment<R>(
        _ body: ([UnsafeMutablePointer<CChar>?]) -> R
    ) -> R {
        var environment: [UnsafeMutablePointer<CChar>?] = unsafe []
        var entry = unsafe valet_environment()
        while let position = unsafe entry, let text = unsafe position.pointee {
            let isReplaced = variables.contains { variable in
                let name = variable.name
                return unsafe strncmp(text, name, name.utf8.count) == 0
                    && text[name.utf8.count] == CChar(bitPattern: UInt8(ascii: "="))
            }
            if !isReplaced { unsafe environment.append(text) }
            unsafe entry = position + 1
        }
        for variable in variables {
            variable.text.withBytes { bytes in
                unsafe bytes.withUnsafeBufferPointer { buffer in
                    // The memory belongs to `variables`, which outlives this call.
                    let start = unsafe UnsafeMutableRawPointer(mutating: buffer.baseAddress)
                    unsafe environment.append(
                        start?.assumingMemoryBound(to: CChar.self))
                }
            }
        }
        unsafe environment.append(nil)
        return unsafe body(environment)
    }

    private func error(_ code: Int32) -> CLIError {
        let name = unsafe words[0].flatMap { unsafe String(validatingCString: $0) } ?? "\u{FFFD}"
        if code == ENOENT {
            return CLIError(.noSuchProgram, "there is no program \(quoted(name))")
        }
        let hint =
            code == E2BIG ? "the secrets are too large for variables: use '--file NAME=REF'" : nil
        return CLIError(
            .cannotStart,
            "could not start \(quoted(name)): \(Terminal.text(forSystemError: code))", hint: hint)
    }

    static func failure(_ operation: String) -> CLIError {
        CLIError(.failure, "could not \(operation): \(Terminal.text(forSystemError: errno))")
    }

    /// The contents of a file, at most 16 MiB.
    static func contents(ofFile path: String) throws(CLIError) -> SecretValue {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            let cause = Terminal.text(forSystemError: errno)
            throw CLIError(.failure, "could not open \(quoted(path)): \(cause)")
        }
        defer { close(file) }
        var input = SecretInput(capacity: 4096)
        do throws(UserPresenceError) {
            while input.byteCount <= SetCommand.maximumByteCount, try input.read(from: file) > 0 {}
        } catch {
            throw CLIError(error)
        }
        let count = input.byteCount
        return input.value(byteCount: count)
    }
}
