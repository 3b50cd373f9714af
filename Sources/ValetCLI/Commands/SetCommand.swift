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
        discussion: [
            "Stores the exact bytes of standard input, at most 16 MiB, under KEY, and replaces "
                + "what was there. When standard input is a terminal, asks for the secret twice "
                + "without showing it.",
            "A secret is never read from the command line or the environment, which other "
                + "programs can see. An empty one is refused: Valet has no empty values, and "
                + "empty input mostly means that the program in front of the pipe failed.",
        ],
        arguments: [ItemOptions.key], options: ItemOptions.all + [trimNewline],
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
        let value = try readValue(context.console)
        guard value.byteCount > 0 else {
            throw .usage(
                "the secret is empty, and Valet has no empty values",
                hint: "'valet remove' removes a secret")
        }
        let keychain = try context.keychain(for: scope.requester)
        try asking { () throws(KeychainFailure) in
            try keychain.set(scope.item(key: key), value: value)
        }
        if writesJSON {
            try context.console.write(
                .object(["name": .string(key), "byteCount": .number(value.byteCount)]))
        }
        return .success
    }

    private func readValue(_ console: any Console) throws(CLIError) -> SecretValue {
        if console.isInputTerminal {
            return try console.askTwice("Secret for \(quoted(key))")
        }
        let input = try console.readInput(atMost: Self.maximumByteCount)
        return input.withBytes { bytes in
            guard bytes.endsInNewline else { return input }
            if trimsNewline { return SecretValue(copying: bytes.extracting(droppingLast: 1)) }
            if bytes.isOneLineOfText {
                console.hint("the newline at the end is stored, too: --trim-newline leaves it out")
            }
            return input
        }
    }
}

extension Span<UInt8> {
    fileprivate var endsInNewline: Bool { !isEmpty && self[count - 1] == UInt8(ascii: "\n") }

    /// Whether there is one newline, at the end, and nothing that is not text.
    fileprivate var isOneLineOfText: Bool {
        for index in 0..<count - 1 where self[index] == UInt8(ascii: "\n") { return false }
        return count > 1 && TerminalText.isShowable(self)
    }
}
