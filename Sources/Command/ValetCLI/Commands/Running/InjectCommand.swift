// SPDX-License-Identifier: Apache-2.0

// The verbs `inject` and `read`, which write the secrets that references name.

internal import ValetSealing

enum InjectCommand {
    private static let format = OptionDeclaration(
        name: "format", valueName: "FORMAT",
        help: "what the template is: any text, or a .env file, whose values are quoted anew",
        defaultValue: "text", choices: ["text", "dotenv"])
    private static let force = OptionDeclaration(
        name: "force", letter: "f", help: "write binary data even to a terminal")

    static let declaration = CommandDeclaration(
        name: "inject", abstract: "fill a template with secrets",
        discussion: [
            "Copies standard input to standard output, with a secret in place of each '{{ REF }}' "
                + "that begins with 'valet:'. Quotes around REF go, and '{{-' and '-}}' drop the "
                + "blanks beside them. Braces around other text stay as they are. Writes "
                + "nothing unless all secrets could be read. The output contains secrets: pipe it "
                + "to a program rather than into a file.",
            "--format dotenv reads the template as 'run --env-file' does: a value may be a "
                + "reference as a whole, and nothing in single quotes is a reference. Each value "
                + "is written in the quotes that it needs; comments go.",
            SecretReference.discussion,
        ],
        options: [format, force],
        examples: [
            (
                "valet inject < config.template | server --config /dev/stdin",
                "Where the template has a line as: password = {{ valet://Mailer/Mailer/smtp }}"
            )
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let console = context.console
        guard !console.isInputTerminal else {
            throw .usage(
                "the template comes from standard input, which is a terminal",
                hint: "valet inject < TEMPLATE")
        }
        let template = try console.readInput(atMost: SetCommand.maximumByteCount)
        let resolver = ReferenceResolver(context)
        let texts =
            values[format] == "dotenv"
            ? try lines(of: template, resolver) : [try resolver.fill(template).value]
        let isShowable = texts.allSatisfy { $0.withBytes(TerminalText.isShowable) }
        guard values.has(force) || isShowable || !console.isOutputTerminal else {
            throw CLIError(
                .failure, "the output is not text, and standard output is a terminal",
                hint: "redirect the output, or use '--force'")
        }
        for text in texts { try console.write(text) }
        return .success
    }

    /// The lines of a `.env` file with its references filled.
    private static func lines(
        of template: SecretValue, _ resolver: ReferenceResolver
    ) throws(CLIError) -> [SecretValue] {
        let variables = try Dotenv.variables(
            in: template, of: "the template", failingWith: .usage)
        return try variables.map { (variable) throws(CLIError) in
            guard let given = variable.value else {
                return SecretValue(copying: Array("\(variable.name)\n".utf8).span)
            }
            let value =
                variable.origin == .text
                ? try resolver.resolve(given, at: "line \(variable.line)").value : given
            return Dotenv.line(variable.name, value).text
        }
    }
}

/// `valet read REF`.
enum ReadCommand {
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

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let value = try ReferenceResolver(context).value(of: values[reference] ?? "")
        try value.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
            try context.console.writeSecret(bytes, isForced: values.has(force))
        }
        return .success
    }
}
