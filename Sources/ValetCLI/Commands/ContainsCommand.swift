// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// `valet contains KEY`.
struct ContainsCommand: Command {
    static let declaration = CommandDeclaration(
        name: "contains", abstract: "check whether a secret exists: exit code 0 or 44",
        discussion: [
            "Writes nothing without --json. Never reads the secret.",
            ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key], options: ItemOptions.ofOneSecret,
        schema: [("name", "the key"), ("contains", "true or false")],
        exitCodes: [(.success, "the secret exists"), (.notFound, "it does not exist")],
        examples: [
            (
                "valet contains api-token || [ $? -ne 44 ] || valet set api-token",
                "Asks for the token if there is none; does nothing if the keychain is locked."
            )
        ])

    private let scope: Scope
    private let key: ItemKey
    private let writesJSON: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        scope = try ItemOptions.scope(values)
        key = try ItemOptions.key(values)
        writesJSON = values.has(ItemOptions.json)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let key = try key.text()
        let keychain = try context.keychain(for: scope.requester)
        let isThere = try requesting(keychain.contains(scope.name(key)))
        if writesJSON {
            try context.console.write(
                .object(["name": .string(key), "contains": .flag(isThere)]))
        }
        return isThere ? .success : .notFound
    }
}
