// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// A conversation with a pinentry program, in lock step: one line to it, lines from it up to `OK`
/// or `ERR` (the Assuan protocol, and the commands of pinentry's manual).
///
/// Its answers are in guarded memory only. Dropping the conversation ends the program.
struct Pinentry: ~Copyable, Prompter {
    /// More lines than any pinentry sends before `OK`.
    private static let maximumLineCount = 1000

    private let child: ChildProcess
    private let limit: WaitLimit
    private var received = SecretInput(capacity: 2 * (AssuanLine.maximumByteCount + 24))
    /// Whether a question is open: if the program dies now, the person closed it or the terminal.
    private var hasAsked = false

    /// Begins a conversation that ends with `limit`.
    init(_ child: consuming ChildProcess, within limit: WaitLimit) {
        self.child = child
        self.limit = limit
    }

    /// Waits for the greeting, and sets the place and the texts of the question.
    ///
    /// - Throws: `pinentryUnusable` if the program is not a pinentry; `timedOut`,
    ///   `malformed`, `cancelled`.
    mutating func introduce(
        _ prompt: PasscodePrompt, terminal: String?, environment: Environment
    ) throws(SystemError) {
        var nothing = SecretInput(capacity: 0)
        let greeting = try reply(into: &nothing)
        if let error = greeting.error { throw error.failure }
        if let terminal {
            try set("OPTION ttyname=", terminal)
            if let type = environment.value("TERM") { try set("OPTION ttytype=", type) }
        }
        try set("OPTION lc-ctype=", ChildEnvironment.textLocale(environment))
        try show("SETTITLE ", prompt.title)
        try show("SETDESC ", prompt.description)
        if let title = prompt.cancelTitle { try show("SETCANCEL ", Self.literal(title)) }
    }

    /// The text of a button. An underscore marks the letter of its shortcut; two show one.
    private static func literal(_ text: String) -> String {
        text.reduce(into: "") { $0 += $1 == "_" ? "__" : String($1) }
    }

    mutating func ask(_ question: Question) throws(SystemError) -> Entry {
        let wantsTwo = question.prompt.asksTwice && !question.isRepetition
        try show("SETPROMPT ", question.label + ":")
        if let problem = question.problem { try show("SETERROR ", problem) }
        if wantsTwo {
            try show("SETREPEAT ", question.prompt.label + ", again:")
            try show("SETREPEATERROR ", SystemError.Code.mismatch.reason)
        }
        var answer = SecretInput(capacity: PasscodePrompt.maximumByteCount)
        let isRepeated = try perform("GETPIN", into: &answer)
        let count = answer.byteCount
        return Entry(bytes: answer.prefix(count), isRepeated: wantsTwo && isRepeated)
    }

    /// Shows the texts until the person presses a button.
    ///
    /// - Throws: `cancelled` unless the person presses the button `alternative`; `timedOut`,
    ///   `malformed`.
    mutating func tell(
        _ prompt: PasscodePrompt, offering alternative: String?
    ) throws(SystemError) {
        if let problem = prompt.previousError { try show("SETERROR ", problem) }
        if let button = alternative ?? prompt.cancelTitle {
            try show("SETOK ", Self.literal(button))
        }
        var nothing = SecretInput(capacity: 0)
        _ = try perform(alternative == nil ? "MESSAGE" : "CONFIRM", into: &nothing)
        if alternative == nil { throw SystemError.asking(.cancelled) }
    }

    /// Shows the texts and the buttons of a page, and returns the button that the person presses.
    ///
    /// - Throws: `cancelled` if the person closes the window; `timedOut`, `malformed`.
    mutating func ask(_ page: PinentryChoice.Page) throws(SystemError) -> PinentryChoice.Button {
        try show("SETOK ", Self.literal(page.ok))
        try show("SETCANCEL ", Self.literal(page.cancel))
        if let other = page.other { try show("SETNOTOK ", Self.literal(other)) }
        var nothing = SecretInput(capacity: 0)
        guard let error = try attempt("CONFIRM", into: &nothing).error else { return .ok }
        guard let button = PinentryChoice.Button(error) else { throw error.failure }
        return button
    }

    /// Whether the program shows the button of `SETNOTOK`. That of GNOME does not.
    mutating func hasThreeButtons() throws(SystemError) -> Bool {
        try send(Array("GETINFO flavor".utf8))
        var answer = SecretInput(capacity: PasscodePrompt.maximumByteCount)
        _ = try reply(into: &answer)
        let byteCount = answer.byteCount
        return answer.withBytes { bytes in
            let name = Array("gnome3".utf8)
            return byteCount != name.count || name.indices.contains { bytes[$0] != name[$0] }
        }
    }

    /// Runs a command that waits for the person. Returns whether the person typed the entry twice.
    private mutating func perform(
        _ command: String, into answer: inout SecretInput
    ) throws(SystemError) -> Bool {
        let reply = try attempt(command, into: &answer)
        if let error = reply.error { throw error.failure }
        return reply.isRepeated
    }

    /// Runs a command that waits for the person, and returns its reply.
    private mutating func attempt(
        _ command: String, into answer: inout SecretInput
    ) throws(SystemError) -> (error: PinentryRefusal?, isRepeated: Bool) {
        // Rounded down to seconds: so the program can restore its terminal before it is killed.
        let seconds = limit.deadline.remaining.components.seconds
        try set("SETTIMEOUT ", String(max(1, min(seconds, 86_400))))
        try send(Array(command.utf8))
        hasAsked = true
        let reply = try reply(into: &answer)
        hasAsked = false
        return reply
    }

    /// Asks the program to exit; ignores its answer.
    func leave() {
        _ = child.write(Array("BYE\n".utf8).span)
    }

    /// Sets a text for the person.
    private mutating func show(_ command: String, _ text: String) throws(SystemError) {
        try set(command, PromptText.plain(text))
    }

    /// Sets an option. A program that does not know it refuses, which is not an error.
    private mutating func set(_ command: String, _ text: String) throws(SystemError) {
        let room = AssuanLine.maximumByteCount - command.utf8.count
        try send(Array(command.utf8) + PercentEncoding.encode(text, upTo: room))
        var nothing = SecretInput(capacity: 0)
        _ = try reply(into: &nothing)
    }

    private func send(_ line: [UInt8]) throws(SystemError) {
        guard child.write((line + [0x0A]).span) == 0 else { throw silence() }
    }

    /// Reads lines up to the end of the reply, and collects their data.
    private mutating func reply(
        into answer: inout SecretInput
    ) throws(SystemError) -> (error: PinentryRefusal?, isRepeated: Bool) {
        var isRepeated = false
        for _ in 0..<Self.maximumLineCount {
            let end = try receiveLine()
            let line = try received.withBytes { (bytes) throws(SystemError) in
                // A carriage return before the newline is part of the line's end.
                let hasReturn = end > 0 && bytes[end - 1] == 0x0D
                let count = hasReturn ? end - 1 : end
                return try Self.read(bytes.extracting(first: count), into: &answer)
            }
            received.removeFirst(end + 1)
            switch line {
            case .ok: return (nil, isRepeated)
            case .error(let error): return (error, isRepeated)
            case .status(isRepeated: true): isRepeated = true
            case .data, .status: continue
            }
        }
        throw SystemError.asking(.malformed)
    }

    private static func read(
        _ bytes: Span<UInt8>, into answer: inout SecretInput
    ) throws(SystemError) -> AssuanLine {
        guard let line = AssuanLine(bytes) else { throw SystemError.asking(.malformed) }
        if case .data(let range) = line {
            try PercentEncoding.decode(
                bytes.extracting(range), into: &answer, upTo: PasscodePrompt.maximumByteCount)
        }
        return line
    }

    /// Waits for a complete line, and returns the index of its newline.
    private mutating func receiveLine() throws(SystemError) -> Int {
        while true {
            let end = received.withBytes { bytes in bytes.indices.first { bytes[$0] == 0x0A } }
            if let end { return end }
            guard received.byteCount <= AssuanLine.maximumByteCount else {
                throw SystemError.asking(.malformed)
            }
            switch limit.wait(for: child.output) {
            case .signal, .cancelled: throw SystemError.asking(.cancelled)
            case .deadline: throw SystemError.asking(.timedOut)
            case .ready: break
            }
            let count = received.readOnce(from: child.output, atMost: 1024)
            if count == 0 { throw silence() }
            if count < 0, !FileDescriptor.mayTryAgain(after: -count) {
                throw SystemError.asking(.pinentryUnusable, systemError: Int32(-count))
            }
        }
    }

    /// The error for a program that has ended.
    private func silence() -> SystemError {
        SystemError.asking(hasAsked ? .cancelled : .pinentryUnusable)
    }
}
