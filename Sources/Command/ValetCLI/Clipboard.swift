// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing
internal import ValetSystem

/// A clipboard of the user's session, and the program that reaches it. `valet copy` writes to it.
///
/// The programs get a value through a pipe, and keep it themselves until something else is copied.
/// None of them can tell a clipboard manager that the value is secret, except newer versions of
/// `wl-copy`.
struct Clipboard {
    enum Kind: String, CaseIterable {
        case wayland = "wl-copy"
        case xclip, xsel
        /// The escape sequence OSC 52, for the terminal that is standard output.
        case terminal = "osc-52"

        /// The programs, by their names: the first one copies.
        var programs: [String] {
            switch self {
            case .wayland: ["wl-copy", "wl-paste"]
            case .xclip, .xsel: [rawValue]
            case .terminal: []
            }
        }
    }

    let kind: Kind
    /// The paths of ``Kind/programs``.
    private let paths: [String]

    /// How long a program may take for one step.
    private static let patience = Duration.seconds(5)
    /// What the programs need to reach the session.
    private static let variables = [
        "HOME", "PATH", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "LANG",
        "LC_ALL", "LC_CTYPE",
    ]

    /// A clipboard that programs reach; nil if there is no such session, or a program is missing.
    init?(_ kind: Kind, _ environment: Environment = .ofProcess) {
        let session = kind == .wayland ? "WAYLAND_DISPLAY" : "DISPLAY"
        guard kind != .terminal, environment.value(session)?.isEmpty == false else { return nil }
        paths = kind.programs.compactMap(environment.program)
        guard paths.count == kind.programs.count else { return nil }
        self.kind = kind
    }

    /// The environment of programs that reach the session.
    static var environment: [String] {
        variables.compactMap { name in
            Environment.ofProcess.value(name).map { "\(name)=\($0)" }
        }
    }

    /// Whether the program would keep the value in a file on a disk: `wl-copy` keeps it in /tmp.
    var usesDisk: Bool { kind == .wayland && !MemoryFolder.isInMemory("/tmp") }

    /// Puts a value onto the clipboard. Returns whether the program has succeeded.
    func copy(_ value: SecretValue) -> Bool {
        switch kind {
        case .wayland:
            let hint = isTold(of: "--sensitive") ? ["--sensitive"] : []
            return run(0, hint + ["--type", "text/plain"], value)
        case .xclip: return run(0, ["-selection", "clipboard", "-in"], value)
        case .xsel: return run(0, ["--clipboard", "--input"], value)
        case .terminal: return false
        }
    }

    enum Contents {
        case text(SecretValue)
        /// Nothing, a longer text, or no text.
        case other
    }

    /// What is on the clipboard.
    ///
    /// - Parameter limit: How many bytes a text has at most.
    /// - Throws: If nobody can tell: `timedOut` if its owner does not answer. To `xclip` and
    ///   `wl-paste` an empty clipboard is also one that cannot be read.
    func contents(atMost limit: Int) throws(SystemError) -> Contents {
        let text: (program: Int, arguments: [String])
        switch kind {
        case .wayland: text = (1, ["--no-newline"])
        case .xclip: text = (0, ["-selection", "clipboard", "-out"])
        case .xsel: text = (0, ["--clipboard", "--output"])
        case .terminal: return .other
        }
        do {
            return try output(text.program, text.arguments, atMost: limit).map(Contents.text)
                ?? .other
        } catch {
            // A picture is not read as text.
            guard error.code != .timedOut, hasOtherKind else { throw error }
            return .other
        }
    }

    /// Whether there is something on the clipboard that is no text; false if nobody can tell.
    private var hasOtherKind: Bool {
        let list: SecretValue?
        switch kind {
        case .wayland: list = try? output(1, ["--list-types"], atMost: 64 << 10)
        case .xclip:
            let arguments = ["-selection", "clipboard", "-target", "TARGETS", "-out"]
            list = try? output(0, arguments, atMost: 64 << 10)
        case .xsel, .terminal: list = nil
        }
        let kinds = list?.publicText?.split(whereSeparator: \.isNewline) ?? []
        let text: Set<Substring> = ["STRING", "UTF8_STRING", "TEXT", "COMPOUND_TEXT"]
        return !kinds.isEmpty && !kinds.contains { $0.hasPrefix("text/") || text.contains($0) }
    }

    /// Empties the clipboard. Returns whether the program has succeeded.
    func clear() -> Bool {
        let nothing = SecretValue(SecretBytes(byteCount: 0))
        return switch kind {
        case .wayland: run(0, ["--clear"], nothing)
        case .xclip: run(0, ["-selection", "clipboard", "-in"], nothing)
        case .xsel: run(0, ["--clipboard", "--clear"], nothing)
        case .terminal: false
        }
    }

    private func isTold(of option: String) -> Bool {
        let help = (try? output(0, ["--help"], atMost: 64 << 10))?.publicText ?? ""
        return help.split(whereSeparator: { !$0.isLetter && $0 != "-" }).contains { $0 == option }
    }

    private func run(_ program: Int, _ arguments: [String], _ input: SecretValue) -> Bool {
        let deadline = Deadline(after: Self.patience)
        guard
            var child = try? ChildProcess(
                path: paths[program], arguments: arguments, environment: Self.environment,
                isDetached: true)
        else { return false }
        input.withBytes { child.write(all: $0, before: deadline) }
        // The program may have got a part only.
        guard !deadline.hasPassed else { return false }
        return child.exitCode(before: deadline) == 0
    }

    /// - Returns: nil for more than `limit` bytes.
    /// - Throws: Also if the program fails.
    private func output(
        _ program: Int, _ arguments: [String], atMost limit: Int
    ) throws(SystemError) -> SecretValue? {
        let operation = "read the clipboard"
        let deadline = Deadline(after: Self.patience)
        var child = try ChildProcess(
            path: paths[program], arguments: arguments, environment: Self.environment)
        child.write(all: Span(), before: deadline)
        let output = try SecretValue.read(from: child.output, atMost: limit, until: deadline)
        guard output.byteCount <= limit else { return nil }
        let code = child.exitCode(before: deadline)
        guard code == 0 else {
            throw SystemError(deadline.hasPassed ? .timedOut : .other, during: operation)
        }
        return output
    }
}

/// Copying by the terminal itself.
extension Clipboard {
    /// Terminals cut off longer sequences.
    static let maximumTerminalByteCount = 48 << 10

    /// Whether standard output is a terminal that may know OSC 52, and shows no part of it.
    static func hasTerminal(
        _ console: any Console, _ environment: Environment = .ofProcess
    ) -> Bool {
        let name = environment.value("TERM") ?? ""
        // The kernel's console, and terminals without any sequences, would show the text.
        let isSimple = ["", "dumb", "unknown", "linux"].contains(name) || name.hasPrefix("vt")
        return console.isOutputTerminal && !isSimple
    }

    /// Sends a value to the terminal. The terminal does not answer.
    static func send(_ value: SecretValue, to console: any Console) throws(CLIError) {
        var text = SecretText(capacity: value.byteCount * 4 / 3 + 16)
        text.append("\u{1B}]52;c;")
        value.withBytes { bytes in Base64.encoded(bytes).withBytes { text.append($0) } }
        text.append("\u{7}")
        try console.write(text.value())
    }
}

/// A value that is to be removed from the clipboard, known by a keyed hash alone: the process that
/// waits to remove it does not have the value.
struct CopiedValue {
    private let key: SecretValue
    private let digest: SecretValue

    private static let keyByteCount = 32
    private static let hash = HMAC.sha256

    init(_ value: SecretValue) {
        self.init(value, key: SecretValue(SecretBytes(randomByteCount: Self.keyByteCount)))
    }

    private init(_ value: SecretValue, key: SecretValue) {
        self.key = key
        let code = value.withBytes { value in
            key.withBytes { Self.hash.code(of: value, key: $0) }
        }
        digest = SecretValue(code ?? SecretBytes(byteCount: 0))
    }

    /// Reads the contents of ``bytes``; nil for anything else.
    init?(bytes: SecretValue) {
        guard bytes.byteCount == Self.keyByteCount + Self.hash.byteCount else { return nil }
        (key, digest) = bytes.withBytes { bytes in
            (
                SecretValue(copying: bytes.extracting(first: Self.keyByteCount)),
                SecretValue(copying: bytes.extracting(droppingFirst: Self.keyByteCount))
            )
        }
    }

    /// Key and hash.
    var bytes: SecretValue {
        var text = SecretText(capacity: Self.keyByteCount + Self.hash.byteCount)
        for part in [key, digest] { part.withBytes { text.append($0) } }
        return text.value()
    }

    func isEqual(to value: SecretValue) -> Bool {
        CopiedValue(value, key: key).digest.isEqual(to: digest)
    }
}
