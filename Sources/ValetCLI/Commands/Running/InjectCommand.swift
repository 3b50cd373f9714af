// SPDX-License-Identifier: Apache-2.0

// The verbs `inject` and `read`, which write the secrets that references name.

internal import ValetSecretMemory

/// `valet inject`.
struct InjectCommand: Command {
    static let declaration = CommandDeclaration(
        name: "inject", abstract: "fill a template with secrets",
        discussion: [
            "Copies standard input to standard output, with a secret in place of each '{{ REF }}' "
                + "that begins with 'valet:'. Braces around other text stay as they are. Writes "
                + "nothing unless all secrets could be read. The output contains secrets: pipe it "
                + "to a program rather than into a file.",
            SecretReference.discussion,
        ],
        examples: [
            (
                "valet inject < config.template | server --config /dev/stdin",
                "Where the template has a line as: password = {{ valet://Mailer/Mailer/smtp }}"
            )
        ])

    init(_ values: ParsedValues) {}

    func run(in context: Context) throws(CLIError) -> ExitCode {
        guard !context.console.isInputTerminal else {
            throw .usage(
                "the template comes from standard input, which is a terminal",
                hint: "valet inject < TEMPLATE")
        }
        let template = try context.console.readInput(atMost: SetCommand.maximumByteCount)
        let parts = try ReferenceResolver(context).parts(of: template)
        for part in parts {
            try part.value.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
                try context.console.write(bytes)
            }
        }
        return .success
    }
}

/// `valet read REF`.
struct ReadCommand: Command {
    private static let reference = ArgumentDeclaration(
        name: "REF", help: "the secret: valet://APP/ID/KEY, valet:KEY or KEY")
    private static let force = OptionDeclaration(
        name: "force", letter: "f", help: "write binary data even to a terminal")

    static let declaration = CommandDeclaration(
        name: "read", abstract: "write the secret that a reference names",
        discussion: [
            "Writes the exact bytes, and a newline after them at a terminal, as 'valet get' does.",
            SecretReference.discussion,
        ],
        arguments: [reference], options: [force],
        exitCodes: [(.notFound, ExitCode.notFound.explanation)],
        examples: [("valet read valet://Mailer/Mailer/smtp", "As 'get' with --app and --id.")])

    private let reference: String
    private let isForced: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        reference = values[Self.reference] ?? ""
        isForced = values.has(Self.force)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let value = try ReferenceResolver(context).value(of: reference)
        try value.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
            try context.console.writeSecret(bytes, isForced: isForced)
        }
        return .success
    }
}
