// SPDX-License-Identifier: Apache-2.0

/// `valet contains KEY`.
enum ContainsCommand {
    static let declaration = CommandDeclaration(
        name: "contains", abstract: "check whether a secret exists: exit code 0 or 44",
        synonyms: ["exists", "has"],
        discussion: [
            "Writes nothing without --json. Never reads the secret, unless --field asks for one "
                + "of its fields.",
            ItemOptions.placeDiscussion, ItemOptions.passwordDiscussion,
            ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key], options: ItemOptions.ofOneSecret + [FieldName.option],
        schema: [("name", "the key"), ("contains", "true or false")],
        exitCodes: [(.success, "the secret exists"), (.notFound, "it does not exist")],
        examples: [
            (
                "valet contains api-token || [ $? -ne 44 ] || valet set api-token",
                "Asks for the token if there is none; does nothing if the keychain is locked."
            )
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let target = try ItemOptions.selection(values).existing(context)
        let field = try FieldName.given(values)
        var isThere = try target.contains()
        if isThere, let field { isThere = try target.has(field) }
        if values.has(ItemOptions.json) {
            try context.console.write(
                .object(["name": .string(target.name), "contains": .flag(isThere)]))
        }
        return isThere ? .success : .notFound
    }
}
