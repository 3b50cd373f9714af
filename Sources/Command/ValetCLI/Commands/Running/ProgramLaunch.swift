// SPDX-License-Identifier: Apache-2.0

// Hands secrets to a program: through its environment, and through files in memory. `RunCommand`
// makes a launch, and becomes the program or supervises it.

internal import Glibc
internal import ValetCLinux
internal import ValetSealing
internal import ValetSystem

/// The signals that a program ignores and blocks if the caller of this command starts it directly.
struct CallersSignals {
    let ignored: sigset_t
    let mask: sigset_t

    /// The numbers of all signals.
    static let numbers: ClosedRange<Int32> = 1...64

    /// Whether programs that this one starts ignore a signal, until they decide otherwise.
    func isIgnored(_ number: Int32) -> Bool {
        var set = ignored
        return unsafe sigismember(&set, number) == 1
    }

    /// Treats signals as the caller does, before this process becomes a program.
    func restore() {
        for number in Self.numbers { signal(number, isIgnored(number) ? SIG_IGN : SIG_DFL) }
        var mask = mask
        unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
    }
}

/// A program with its words, its environment, and the files in memory that it inherits.
@safe struct ProgramLaunch {
    /// The program and its arguments, as the caller wrote them. They need not be UTF-8.
    private let words: [UnsafeMutablePointer<CChar>?]
    /// `NAME=VALUE` with a zero at the end; later ones replace inherited variables.
    var variables: [(name: String, text: SecretValue)] = []
    /// Variables that hold the path of a file in memory, each with the file's descriptor.
    var files: [(name: String, number: Int32)] = []

    /// - Parameter count: How many of the last words of the command line belong to the program.
    init(lastWords count: Int) {
        unsafe words = unsafe Terminal.words.suffix(count) + [nil]
    }

    /// Puts a value into an unchangeable file in memory, and returns its number.
    static func memoryFile(_ value: SecretValue) throws(CLIError) -> Int32 {
        let file = valet_make_memory_file()
        guard file >= 0 else { throw failure("make a file in memory") }
        let isWritten = value.withBytes { FileDescriptor.write($0, to: file) } == 0
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

    /// Opens a file for reading, without waiting for the writer of a FIFO; −1 after an error.
    static func open(_ path: String) -> Int32 {
        unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    }

    /// Makes `value` the standard input of this process, and so of the program.
    static func useAsInput(_ value: SecretValue) throws(CLIError) {
        let file = try memoryFile(value)
        guard dup2(file, 0) == 0 else { throw failure("replace standard input") }
        close(file)
    }

    /// Replaces this process with the program. Returns only if that fails, with `errno`.
    func become(_ signals: CallersSignals) -> Int32 {
        var launch = self
        for (name, number) in files {
            launch.set(name, text: Array("/proc/\(getpid())/fd/\(number)".utf8).span)
        }
        let code = unsafe launch.withEnvironment { (environment) -> Int32 in
            signals.restore()
            unsafe valet_become(words[0], words, environment)
            return errno
        }
        _ = signal(SIGPIPE, SIG_IGN)
        return code
    }

    /// The error for a program that could not be started.
    func error(_ code: Int32) -> CLIError {
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
}
