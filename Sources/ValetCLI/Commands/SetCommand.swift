// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import SecretMemory

/// `valet set KEY`.
struct SetCommand: Command {
    /// The largest value that a keychain takes: 16 MiB.
    static let maximumByteCount = 16 << 20

    private static let trimNewline = OptionDeclaration(
        name: "trim-newline", help: "leave out one newline at the end of standard input")

    static let declaration = CommandDeclaration(
        name: "set", abstract: "store a secret",
        synonyms: ["add"],
        discussion: [
            "Stores the exact bytes of standard input, at most 16 MiB, under KEY, and replaces "
                + "what was there. When standard input is a terminal, asks for the secret twice "
                + "without showing it.",
            "A secret is never read from the command line or the environment, which other "
                + "programs can see. An empty one is refused: Valet has no empty values, and "
                + "empty input mostly means that the program in front of the pipe failed.",
        ],
        arguments: [ItemOptions.key], options: ItemOptions.all + [trimNewline],
        surplusHint: "a secret is never an argument: type it when you are asked, or pipe it in; "
            + "the shell may have kept the one that you have typed now",
        schema: [
            ("name", "the key"), ("byteCount", "how many bytes were stored"),
        ],
        exitCodes: [(.usage, "the command line is wrong, or the secret empty or too large")],
        examples: [
            ("valet set github-token", "Asks for the token."),
            ("openssl rand -base64 32 | valet set db-password --trim-newline", "Makes one up."),
            ("valet set tls-key --app com.example.server < key.pem", "For another program."),
        ])

    private let scope: Scope
    private let key: String
    private let trimsNewline: Bool
    private let writesJSON: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        scope = try ItemOptions.scope(values)
        key = try ItemOptions.key(values)
        trimsNewline = values.has(Self.trimNewline)
        writesJSON = values.has(ItemOptions.json)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let keychain = try context.keychain(for: scope.requester)
        // Before anybody types a secret in vain.
        if context.console.isInputTerminal {
            _ = try asking { () throws(KeychainFailure) in
                try keychain.contains(scope.query(key: key))
            }
        }
        let input = try readInput(context.console)
        let value = trimsNewline ? input.withoutNewline : input
        guard value.byteCount > 0 else {
            throw .usage(
                "the secret is empty, and Valet has no empty values",
                hint: "'valet remove' removes a secret")
        }
        try asking { () throws(KeychainFailure) in
            try keychain.set(scope.item(key: key), value: value)
        }
        if writesJSON {
            try context.console.write(
                .object(["name": .string(key), "byteCount": .number(value.byteCount)]))
        }
        if !trimsNewline, !context.console.isInputTerminal, value.isLineOfText {
            context.console.hint(
                "the newline at the end was stored, too: --trim-newline leaves it out")
        }
        return .success
    }

    private func readInput(_ console: any Console) throws(CLIError) -> SecretValue {
        if console.isInputTerminal {
            return try console.askTwice("Secret for \(quoted(key))")
        }
        return try console.readInput(atMost: Self.maximumByteCount)
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
