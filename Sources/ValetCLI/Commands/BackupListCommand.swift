// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore

/// `valet backup list FILE`.
struct BackupListCommand: Command {
    static let declaration = CommandDeclaration(
        name: "backup list", abstract: "list the items of a backup by name, never their values",
        synonyms: ["ls"],
        discussion: [
            "Shows the items of all applications as 'valet list' does, after the file was "
                + "read to its end: a damaged file shows nothing. Neither needs nor changes the "
                + "keychain.",
            BackupOptions.passphraseDiscussion,
        ],
        arguments: [BackupOptions.file],
        options: [BackupOptions.passphraseDescriptor, ItemOptions.json],
        schema: ListedItem.schema, exitCodes: BackupOptions.readingExitCodes,
        examples: [
            ("valet backup list keychain.backup", "What is in it."),
            ("valet backup list keychain.backup --json | jq -r .items[].name", "The names."),
        ])

    private let passphrase: Passphrase
    private let writesJSON: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        passphrase = try Passphrase(values)
        writesJSON = values.has(ItemOptions.json)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let backup = try passphrase.open(context)
        var output = ListOutput(console: context.console, writesJSON: writesJSON)
        try output.write { (body) throws(CLIError) in
            var place: UInt64 = 0
            try asking { () throws(KeychainFailure) in
                try backup.forEachItem { item in
                    body(ListedItem(item, at: place))
                    place += 1
                }
            }
        }
        return .success
    }
}
