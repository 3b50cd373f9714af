// SPDX-License-Identifier: Apache-2.0

// `move` gives secrets another name or place; `rename` and `copy-to` are its plain forms.

/// `valet move KEY`.
enum MoveCommand {
    static let declaration = CommandDeclaration(
        name: "move", abstract: "give secrets another name, valet, application or accessibility",
        discussion: [
            "Moves one secret, or with --matching all whose name fits the pattern, or --all of a "
                + "valet, to the place that the options beginning with --to choose; the rest "
                + "stays as it is. All of it in one step, or nothing.",
            "--all and --matching also take the application's passwords that no valet stored, "
                + "unless --id or --to-id says that a valet's secrets are meant; --server, "
                + "--service and --label choose some of them. A moved password keeps its label, "
                + "comment, dates and former values.",
            "A secret of that name at the destination is an error, unless --force replaces it: "
                + "'valet undo' brings its value back. --dry-run shows what would happen.",
            ItemOptions.passwordDiscussion, ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.optionalKey],
        options: ItemOptions.ofOneSecret + MoveOptions.all,
        schema: MoveOptions.schema, exitCodes: MoveOptions.exitCodes,
        examples: [
            ("valet move token --to-id staging", "To another valet, under the same name."),
            ("valet move --all --id old --to-id new --dry-run", "What would go to 'new'."),
            ("valet move token --to-cloud", "Devices share it from now on."),
        ])

    static func run(_ values: ParsedValues, in context: Context) throws(CLIError) -> ExitCode {
        try SecretMove(values, context).run(keepingSource: false, to: values[MoveOptions.toKey])
    }
}

/// `valet rename KEY NEW`.
enum RenameCommand {
    private static let newKey = ArgumentDeclaration(
        name: "NEW", help: "its new name", dispensers: PasswordOptions.naming)

    static let declaration = CommandDeclaration(
        name: "rename", abstract: "give a secret another name",
        aliases: ["mv"],
        discussion: [
            "The secret keeps its value, its label and what else programs have added. A secret "
                + "that has the new name already is an error, unless --force replaces it. Former "
                + "values move along.",
            ItemOptions.passwordDiscussion, ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key, newKey],
        options: ItemOptions.all + PasswordOptions.all + [MoveOptions.force],
        schema: MoveOptions.schema, exitCodes: MoveOptions.exitCodes,
        examples: [("valet rename token github-token", "'token' is free then.")])

    static func run(_ values: ParsedValues, in context: Context) throws(CLIError) -> ExitCode {
        var values = values
        if values[newKey] == nil {
            // Options choose the item, and the only argument is its new name.
            values.arguments[newKey.name] = values.arguments.removeValue(
                forKey: ItemOptions.key.name)
        }
        guard let name = values[newKey], !name.isEmpty else { throw .usage("NEW is empty") }
        return try SecretMove(values, context).run(keepingSource: false, to: name)
    }
}

/// `valet copy-to KEY`.
enum CopyToCommand {
    static let declaration = CommandDeclaration(
        name: "copy-to", abstract: "store secrets in a second place as well",
        discussion: [
            "Like 'valet move', but the secrets also stay where they are. In one valet a name is "
                + "one secret, so a copy needs another name, valet, application or group. 'valet "
                + "copy' puts a secret onto the clipboard.",
            ItemOptions.passwordDiscussion, ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.optionalKey],
        options: ItemOptions.ofOneSecret + MoveOptions.all,
        schema: MoveOptions.schema, exitCodes: MoveOptions.exitCodes,
        examples: [("valet copy-to token --to-app com.example.mail", "For another program.")])

    static func run(_ values: ParsedValues, in context: Context) throws(CLIError) -> ExitCode {
        try SecretMove(values, context).run(keepingSource: true, to: values[MoveOptions.toKey])
    }
}

enum MoveOptions {
    static let toKey = OptionDeclaration(name: "to-key", valueName: "KEY", help: "the new name")
    static let toIdentifier = OptionDeclaration(
        name: "to-id", valueName: "IDENTIFIER", help: "the identifier of the new valet")
    static let toApplication = OptionDeclaration(
        name: "to-app", valueName: "APPLICATION-IDENTIFIER",
        help: "the application that owns the secret from now on")
    static let toGroup = OptionDeclaration(
        name: "to-group", valueName: "PREFIX.GROUP", help: "the access group that shares it")
    static let toAccessibility = OptionDeclaration(
        name: "to-accessibility", valueName: "CLASS", help: "when it can be read from now on",
        choices: ItemOptions.accessibility.choices)
    static let toCloud = OptionDeclaration(name: "to-cloud", help: "devices share it")
    static let toLocal = OptionDeclaration(name: "to-local", help: "it stays on this device")
    static let matching = OptionDeclaration(
        name: "matching", valueName: "PATTERN",
        help: "all whose name fits, in any case: * is any text, ? any character")
    static let every = OptionDeclaration(name: "all", help: "all that the other options choose")
    static let dryRun = OptionDeclaration(
        name: "dry-run", help: "only show what would be moved")
    static let force = OptionDeclaration(
        name: "force", letter: "f", help: "replace secrets of that name at the destination")

    static let all = [
        toKey, toIdentifier, toApplication, toGroup, toAccessibility, toCloud, toLocal, matching,
        every, dryRun, force,
    ]
    static let schema: [(member: String, help: String)] = [
        ("moved", "how many secrets were moved or copied, or would be"),
        ("names", "their names at the destination"), ("dryRun", "true with --dry-run"),
    ]
    static let exitCodes: [(code: ExitCode, help: String)] = [
        (.notFound, "there is no such secret, and nothing was moved"),
        (.alreadyThere, "the destination has a secret of that name, and nothing was moved"),
        (.locked, "the keychain is locked or busy, and nothing was moved"),
    ]
}
