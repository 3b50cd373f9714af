// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// `valet get KEY`.
enum GetCommand {
    static let declaration = CommandDeclaration(
        name: "get", abstract: "write a secret to standard output",
        aliases: ["cat"], synonyms: ["print", "fetch", "reveal", "view"],
        discussion: [
            "Writes the exact bytes of the secret. To a terminal it adds a newline, and refuses a "
                + "secret that is not plain text: a terminal acts on control characters and hides "
                + "others. --force writes the bytes nevertheless.",
            FieldName.discussion, ItemOptions.placeDiscussion, ItemOptions.passwordDiscussion,
            ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key],
        options: ItemOptions.ofOneSecret + [
            FieldName.option, ItemOptions.force, FormerValue.option,
        ],
        schema: [
            ("name", "the key"), ("byteCount", "the size of the secret"),
            ("encoding", "\"utf-8\", or \"base64\" for a secret that is not UTF-8"),
            ("value", "the secret in that encoding"),
        ],
        exitCodes: [(.notFound, ExitCode.notFound.explanation)],
        examples: [
            ("valet get github-token", "Shows the token."),
            ("valet get github --field username", "Shows a field."),
            (
                "valet get anna --app com.example.mail --server mail.example.com",
                "Shows the internet password of an account that a program stored."
            ),
            (
                "PGPASSWORD=\"$(valet get db-password)\" psql",
                "Passes a password to a program. The shell drops newlines at the end."
            ),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let number = try FormerValue.number(values)
        let target = try ItemOptions.selection(values).existing(
            context, number == nil ? .present : .withFormerValues)
        let field = try FieldName.given(values)
        let value =
            if let number {
                try target.formerValue(number, field)
            } else {
                try target.value(of: field)
            }
        let console = context.console
        try value.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
            if values.has(ItemOptions.json) {
                try SecretJSON(key: target.name).write(bytes, to: console)
            } else {
                try console.writeSecret(bytes, isForced: values.has(ItemOptions.force))
            }
        }
        return .success
    }
}
