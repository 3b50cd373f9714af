// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSecretMemory

/// `valet set KEY`.
struct SetCommand: Command {
    /// The largest value that a keychain takes: 16 MiB.
    static let maximumByteCount = 16 << 20

    private static let trimNewline = OptionDeclaration(
        name: "trim-newline", help: "drop one newline at the end of standard input")
    private static let ifAbsent = OptionDeclaration(
        name: "if-absent", help: "fail if the secret exists already, and keep it")
    private static let yes = OptionDeclaration(
        name: "yes", letter: "y", help: "do not ask before a secret is replaced")

    static let declaration = CommandDeclaration(
        name: "set", abstract: "store a secret",
        synonyms: ["add", "insert", "store", "put"],
        discussion: [
            "Stores the exact bytes of standard input, at most 16 MiB, under KEY. Replaces an "
                + "existing secret for good. --if-absent never replaces one, even if several "
                + "programs set the same name at once.",
            "At a terminal, asks before it replaces a secret, then asks for the new secret twice, "
                + "without echo. A typed secret has one line: use standard input for several.",
            "A secret is never read from the command line or the environment, which other "
                + "programs can see. An empty secret is refused, because empty input usually means "
                + "that the program before the pipe failed.",
            ItemOptions.passwordDiscussion,
            ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key],
        options: ItemOptions.ofOneSecret + [trimNewline, ifAbsent, yes],
        surplusHint: "a secret is never an argument: type it when asked, or pipe it in; your "
            + "shell may have saved the one you have just typed",
        schema: [
            ("name", "the key"), ("byteCount", "how many bytes were stored"),
        ],
        exitCodes: [
            (.usage, "wrong usage, an empty or too large secret, or nobody can be asked"),
            (.alreadyThere, "with --if-absent: the secret exists already, and stays"),
        ],
        examples: [
            ("valet set github-token", "Asks for the token."),
            (
                "openssl rand -base64 32 | valet set db-password --trim-newline",
                "Generates a password."
            ),
            (
                "openssl rand 32 | valet set signing-key --if-absent",
                "Stores a key only if there is none."
            ),
            ("valet set tls-key --app com.example.server < key.pem", "For another program."),
        ])

    private let selection: ItemSelection
    private let trimsNewline: Bool
    private let isOnlyIfAbsent: Bool
    private let isAgreed: Bool
    private let writesJSON: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        selection = try ItemOptions.selection(values)
        trimsNewline = values.has(Self.trimNewline)
        isOnlyIfAbsent = values.has(Self.ifAbsent)
        isAgreed = values.has(Self.yes)
        writesJSON = values.has(ItemOptions.json)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let target = try selection.target(context)
        if context.console.isInputTerminal, let refusal = context.console.refusalToAsk {
            throw .usage(
                "cannot ask for the secret: \(refusal)",
                hint: "use standard input: 'valet set KEY < FILE'")
        }
        // Asks about replacing before the user types a secret.
        if context.console.isInputTerminal {
            try target.askAboutReplacing(
                isOnlyIfAbsent: isOnlyIfAbsent, isAgreed: isAgreed, context.console)
        }
        let input = try readInput(for: target, context.console)
        let value = trimsNewline ? input.withoutNewline : input
        guard value.byteCount > 0 else {
            throw .usage(
                "the secret is empty",
                hint: "'valet remove' removes a secret")
        }
        try target.store(value, ifAbsent: isOnlyIfAbsent)
        target.noteIfTooLargeToTravel(value, context.console)
        if writesJSON {
            try context.console.write(
                .object(["name": .string(target.name), "byteCount": .number(value.byteCount)]))
        }
        if !trimsNewline, !context.console.isInputTerminal, value.isLineOfText {
            context.console.hint(
                "the newline at the end was stored too: '--trim-newline' drops it")
        }
        return .success
    }

    private func readInput(
        for target: ItemTarget, _ console: any Console
    ) throws(CLIError) -> SecretValue {
        if console.isInputTerminal {
            return try console.askTwice("Secret for \(target.title)")
        }
        let input = try console.readInput(atMost: Self.maximumByteCount)
        guard SpareMemory.has(4, copiesOf: input.byteCount) else {
            throw CLIError(.failure, "out of memory")
        }
        return input
    }
}

extension ItemTarget {
    /// Asks before an existing secret is replaced.
    ///
    /// - Throws: ``ExitCode/alreadyThere`` if it may not be; ``ExitCode/denied`` for a no.
    func askAboutReplacing(
        isOnlyIfAbsent: Bool, isAgreed: Bool, _ console: any Console
    ) throws(CLIError) {
        guard try exists() else { return }
        guard !isOnlyIfAbsent else {
            // A damaged secret does not count: the new one replaces it.
            if (try? contains()) == true { throw alreadyThere }
            return
        }
        try console.requireConsent(to: "Replace \(title) in \(place)?", isGiven: isAgreed)
    }

    /// Warns about a secret that sync does not send.
    func noteIfTooLargeToTravel(_ value: SecretValue, _ console: any Console) {
        guard let item = try? newItem(), item.isSynchronizable,
            item.isTooLargeToTravel(valueByteCount: value.byteCount)
        else { return }
        console.note(
            "valet: warning: the secret is too large to be sent to other devices, and stays on "
                + "this one")
        console.hint("secrets of up to 190 KiB are sent")
    }
}

extension SecretValue {
    private static let newline = UInt8(ascii: "\n")

    /// The value without one newline at its end.
    var withoutNewline: SecretValue {
        withBytes { bytes in
            guard !bytes.isEmpty, bytes[bytes.count - 1] == Self.newline else { return self }
            return SecretValue(copying: bytes.extracting(droppingLast: 1))
        }
    }

    /// Whether this is text with one newline, at its end.
    fileprivate var isLineOfText: Bool {
        withBytes { bytes in
            let newlineCount = bytes.indices.count { bytes[$0] == Self.newline }
            return newlineCount == 1 && bytes.count > 1
                && bytes[bytes.count - 1] == Self.newline && TerminalText.isShowable(bytes)
        }
    }
}
