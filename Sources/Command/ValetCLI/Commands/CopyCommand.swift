// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem
internal import ValetUserPresence

/// `valet copy KEY`.
enum CopyCommand {
    private static let clearAfter = OptionDeclaration(
        name: "clear-after", valueName: "DURATION",
        help: "when to empty the clipboard, as 45s or 2m, if the secret is still on it; 'never' "
            + "leaves it there", defaultValue: "45s")

    static let declaration = CommandDeclaration(
        name: "copy", abstract: "put a secret onto the clipboard",
        synonyms: ["clip", "clipboard", "yank"],
        discussion: [
            "Uses the first that works: wl-copy in a Wayland session, xclip or xsel in an X11 "
                + "session, else the terminal by its escape sequence OSC 52, which also works over "
                + "ssh. The programs get the secret through a pipe, and none that cannot empty the "
                + "clipboard gets it. wl-copy is left out where /tmp is on a disk, because it "
                + "keeps a file there.",
            "After the time of --clear-after the clipboard is emptied if the secret is still on "
                + "it, or if nobody can tell. A process in the background does that: it has a "
                + "keyed hash of the secret, and neither the secret nor a terminal nor the "
                + "keychain. Copying the same secret again does not prolong its time. What a "
                + "terminal has copied cannot be looked at, and stays until something else is "
                + "copied; tmux passes it on after 'set -g set-clipboard on'.",
            "Every program of the session can read the clipboard. A clipboard manager may keep "
                + "the secret in its history, unless it knows the hint that wl-copy gives from "
                + "version 2.3 on.",
            "The key of one-time codes never gets there: a secret that is one, and the field "
                + "'otp', put the present code onto the clipboard; of a secret with other lines, "
                + "the first line is copied.",
            FieldName.discussion, ItemOptions.placeDiscussion, ItemOptions.passwordDiscussion,
            ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key],
        options: ItemOptions.ofOneSecret + [FieldName.option, clearAfter],
        surplusHint: "the secret goes onto the clipboard; 'valet copy-to OLD --to-key NEW' stores "
            + "it under another name",
        schema: [
            ("name", "the key"), ("byteCount", "the size of the secret"),
            ("clipboard", "wl-copy, xclip, xsel or osc-52"),
            ("clearedAfterSeconds", "when the clipboard is emptied; null for never"),
        ],
        exitCodes: [
            (.failure, "failure, as when there is no clipboard"),
            (.notFound, ExitCode.notFound.explanation),
        ],
        examples: [
            ("valet copy github-token", "For 45 seconds."),
            ("valet copy wifi --clear-after 2m", "For two minutes."),
        ])

    static let maximumByteCount = 1 << 20

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let time =
            values[clearAfter] == "never"
            ? nil : try DurationText.value(of: clearAfter, in: values)
        let target = try ItemOptions.selection(values).existing(context)
        let (value, code) = try copied(from: target, FieldName.given(values), context)
        try check(value, of: target)
        ItemStore.closeAll()
        let console = context.console
        let outcome: (kind: Clipboard.Kind, time: Duration?)
        do {
            let mustClear = values.isGiven(clearAfter) && time != nil
            outcome = try copy(value, clearingAfter: time, mustClear: mustClear, console)
        } catch {
            throw code?.wasUsedUp(error) ?? error
        }
        if let code { console.note("valet: a one-time code: \(code.remark)") }
        guard values.has(ItemOptions.json) else {
            report(target, outcome.kind, outcome.time, console)
            return .success
        }
        console.afterEffect { () throws(CLIError) in
            try console.write(
                .object([
                    "name": .string(target.name), "byteCount": .number(value.byteCount),
                    "clipboard": .string(outcome.kind.rawValue),
                    "clearedAfterSeconds": .number(outcome.time?.components.seconds),
                ]))
        }
        return .success
    }

    /// Copies by the first way that succeeds. Returns which one, and when it is cleared.
    private static func copy(
        _ value: SecretValue, clearingAfter time: Duration?, mustClear: Bool, _ console: any Console
    ) throws(CLIError) -> (kind: Clipboard.Kind, time: Duration?) {
        if let kind = try copyByProgram(value, clearingAfter: time, console) { return (kind, time) }
        try copyByTerminal(value, mustClear: mustClear, console)
        return (.terminal, nil)
    }

    private static func check(_ value: SecretValue, of target: ItemTarget) throws(CLIError) {
        guard value.byteCount > 0, value.isText else {
            throw CLIError(
                .failure, "\(target.title) is not text, which a clipboard takes",
                hint: "'valet get KEY | PROGRAM' passes it to a program")
        }
        guard value.byteCount <= maximumByteCount else {
            throw CLIError(.failure, "\(target.title) is larger than 1 MiB")
        }
    }

    /// What to copy: a code in place of the key of codes.
    private static func copied(
        from target: ItemTarget, _ field: FieldName?, _ context: Context
    ) throws(CLIError) -> (value: SecretValue, code: OneTimeCode?) {
        let value = try target.value(of: field)
        guard field == .otp || OneTimePassword.hasURI(value) else { return (value, nil) }
        let first = value.firstLine
        guard field == .otp || OneTimePassword.hasURI(first) else {
            context.console.note(
                "valet: only its first line: another one has the key of one-time codes")
            return (first, nil)
        }
        let code = try OneTimeCode(of: target, field, at: context.clock() / 1_000_000_000)
        return (code.text, code)
    }

    /// Copies by the first program that succeeds. Returns which one; nil if none does.
    private static func copyByProgram(
        _ value: SecretValue, clearingAfter time: Duration?, _ console: any Console
    ) throws(CLIError) -> Clipboard.Kind? {
        for kind in Clipboard.Kind.allCases {
            guard let clipboard = Clipboard(kind) else { continue }
            guard !clipboard.usesDisk else {
                console.note(
                    "valet: warning: wl-copy is left out: it would keep the secret in /tmp, which "
                        + "is on a disk")
                continue
            }
            if try copy(value, to: clipboard, clearingAfter: time) { return kind }
        }
        return nil
    }

    /// Copies, and starts the process that clears: a signal comes before both or after both.
    ///
    /// - Returns: false if the program does not reach a clipboard, or has failed. Then the
    ///   clipboard is empty.
    /// - Throws: Also if the secret may be left on the clipboard.
    private static func copy(
        _ value: SecretValue, to clipboard: Clipboard, clearingAfter time: Duration?
    ) throws(CLIError) -> Bool {
        // A clipboard that cannot be emptied gets no secret.
        guard clipboard.clear() else { return false }
        let relay: SignalRelay
        do {
            relay = try SignalRelay(SignalRelay.ending, until: Deadline(after: .seconds(5)))
        } catch {
            throw CLIError(error)
        }
        let isCopied = clipboard.copy(value)
        var failure: CLIError?
        if isCopied, let time {
            do {
                try ClipboardClearing.start(CopiedValue(value), clipboard.kind, after: time)
            } catch {
                failure = CLIError(error)
            }
        }
        // A program that failed may have taken the secret before.
        if !isCopied || failure != nil, !clipboard.clear() {
            failure = CLIError(
                .failure,
                "the secret may be on the clipboard: \(clipboard.kind.rawValue) cannot empty it",
                hint: "copy something else to replace it")
        }
        SignalRelay.pass(relay.end())
        if let failure { throw failure }
        return isCopied
    }

    private static func copyByTerminal(
        _ value: SecretValue, mustClear: Bool, _ console: any Console
    ) throws(CLIError) {
        let hasTerminal = Clipboard.hasTerminal(console)
        let failure = "no program of a graphical session works"
        guard !mustClear else {
            throw CLIError(
                .failure, "there is no clipboard that can be cleared: \(failure)",
                hint: hasTerminal ? "'--clear-after never' copies by the terminal" : programs)
        }
        guard hasTerminal else {
            throw CLIError(.failure, "there is no clipboard: \(failure)", hint: programs)
        }
        guard value.byteCount <= Clipboard.maximumTerminalByteCount else {
            throw CLIError(
                .failure, "the secret is too large for the terminal's clipboard", hint: programs)
        }
        try Clipboard.send(value, to: console)
    }

    private static let programs = "install wl-clipboard, xclip or xsel in the graphical session"

    private static func report(
        _ target: ItemTarget, _ kind: Clipboard.Kind, _ time: Duration?, _ console: any Console
    ) {
        let place =
            kind == .terminal ? "was sent to the terminal's clipboard" : "is on the clipboard"
        let end = time.map { "for \(DurationText.text($0))" } ?? "until something else is copied"
        console.note("valet: \(target.title) \(place) \(end)")
        if kind == .terminal {
            console.hint("terminals that do not know OSC 52, or forbid it, ignore it")
        } else {
            console.hint("a clipboard manager may keep it in its history")
        }
    }
}

/// The process in the background that empties the clipboard. All that it knows of the secret is
/// the ``CopiedValue`` on its standard input.
enum ClipboardClearing {
    private static let after = OptionDeclaration(
        name: "after", valueName: "DURATION", help: "how long to wait")
    private static let kind = OptionDeclaration(
        name: "clipboard", valueName: "NAME", help: "how the clipboard is reached",
        choices: Clipboard.Kind.allCases.map(\.rawValue))

    static let name = "clear-clipboard"
    static let declaration = CommandDeclaration(
        name: name, abstract: "empty the clipboard if 'valet copy' has filled it",
        options: [after, kind])

    /// Starts the process.
    static func start(
        _ value: CopiedValue, _ kind: Clipboard.Kind, after time: Duration
    ) throws(SystemError) {
        let arguments = [
            name, Self.after.spelling, DurationText.text(time), Self.kind.spelling,
            kind.rawValue,
        ]
        try value.bytes.withBytes { (bytes: Span<UInt8>) throws(SystemError) in
            try ChildProcess.detach(
                path: "/proc/self/exe", arguments: arguments,
                environment: Clipboard.environment, input: bytes)
        }
    }

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let input = try context.console.readInput(atMost: 1024)
        guard let value = CopiedValue(bytes: input),
            let time = try DurationText.value(of: after, in: values),
            let kind = values[kind].flatMap(Clipboard.Kind.init), let clipboard = Clipboard(kind)
        else { throw .usage("only 'valet copy' starts this") }
        BootClock.sleep(for: time)
        do {
            let found = try clipboard.contents(atMost: CopyCommand.maximumByteCount)
            guard case .text(let text) = found, value.isEqual(to: text) else { return .success }
        } catch {
            // What cannot be read may be the secret, as of a clipboard owner that does not answer.
            // Clearing replaces that owner.
        }
        return clipboard.clear() ? .success : .failure
    }
}
