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
        synonyms: ["add"],
        discussion: [
            "Stores the exact bytes of standard input, at most 16 MiB, under KEY. Replaces an "
                + "existing secret for good. --if-absent never replaces one, even if several "
                + "programs set the same name at once.",
            "At a terminal, asks before it replaces a secret, then asks for the new secret twice, "
                + "without echo. A typed secret has one line: use standard input for several.",
            "A secret is never read from the command line or the environment, which other "
                + "programs can see. An empty secret is refused, because empty input usually means "
                + "that the program before the pipe failed.",
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

    private let scope: Scope
    private let key: ItemKey
    private let trimsNewline: Bool
    private let isOnlyIfAbsent: Bool
    private let isAgreed: Bool
    private let writesJSON: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        scope = try ItemOptions.scope(values)
        key = try ItemOptions.key(values)
        trimsNewline = values.has(Self.trimNewline)
        isOnlyIfAbsent = values.has(Self.ifAbsent)
        isAgreed = values.has(Self.yes)
        writesJSON = values.has(ItemOptions.json)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let key = try key.text()
        let keychain = try context.keychain(for: scope.requester)
        if context.console.isInputTerminal, let refusal = context.console.refusalToAsk {
            throw .usage(
                "cannot ask for the secret: \(refusal)",
                hint: "use standard input: 'valet set KEY < FILE'")
        }
        // Asks about replacing before the user types a secret.
        if context.console.isInputTerminal { try askAboutReplacing(key, keychain, context.console) }
        let input = try readInput(for: key, context.console)
        let value = trimsNewline ? input.withoutNewline : input
        guard value.byteCount > 0 else {
            throw .usage(
                "the secret is empty",
                hint: "'valet remove' removes a secret")
        }
        try store(value, as: key, in: keychain)
        noteIfTooLargeToTravel(value, as: key, context.console)
        if writesJSON {
            try context.console.write(
                .object(["name": .string(key), "byteCount": .number(value.byteCount)]))
        }
        if !trimsNewline, !context.console.isInputTerminal, value.isLineOfText {
            context.console.hint(
                "the newline at the end was stored too: '--trim-newline' drops it")
        }
        return .success
    }

    private func askAboutReplacing(
        _ key: String, _ keychain: any ItemAccess, _ console: any Console
    ) throws(CLIError) {
        let name = scope.name(key)
        guard try requesting(keychain.containsAnything(name)) else { return }
        guard !isOnlyIfAbsent else {
            // A damaged secret does not count: the new one replaces it.
            if (try? keychain.contains(name)) == true { throw alreadyThere(key) }
            return
        }
        try console.requireConsent(
            to: "Replace \(quoted(key)) in \(scope.description)?", isGiven: isAgreed)
    }

    private func store(
        _ value: SecretValue, as key: String, in keychain: any ItemAccess
    ) throws(CLIError) {
        do throws(KeychainFailure) {
            guard isOnlyIfAbsent else {
                return try keychain.set(scope.service.item(key), value: value)
            }
            // One step of the keychain: looking first would miss what another program adds.
            try keychain.add(scope.service.item(key), value: value)
        } catch {
            guard isOnlyIfAbsent, error.code == .duplicateItem else { throw CLIError(error) }
            throw alreadyThere(key)
        }
    }

    private func noteIfTooLargeToTravel(
        _ value: SecretValue, as key: String, _ console: any Console
    ) {
        let item = scope.service.item(key)
        guard item.isSynchronizable, item.isTooLargeToTravel(valueByteCount: value.byteCount) else {
            return
        }
        console.note(
            "valet: warning: the secret is too large to be sent to other devices, and stays on "
                + "this one")
        console.hint("secrets of up to 190 KiB are sent")
    }

    private func alreadyThere(_ key: String) -> CLIError {
        CLIError(
            .alreadyThere, "\(quoted(key)) exists in \(scope.description) already, and stays",
            hint: "without '--if-absent' the new secret replaces it")
    }

    private func readInput(
        for key: String, _ console: any Console
    ) throws(CLIError) -> SecretValue {
        if console.isInputTerminal {
            return try console.askTwice("Secret for \(quoted(key))")
        }
        let input = try console.readInput(atMost: Self.maximumByteCount)
        guard SpareMemory.has(4, copiesOf: input.byteCount) else {
            throw CLIError(.failure, "out of memory")
        }
        return input
    }
}

extension SecretValue {
    private static let newline = UInt8(ascii: "\n")

    /// The value without one newline at its end.
    fileprivate var withoutNewline: SecretValue {
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
