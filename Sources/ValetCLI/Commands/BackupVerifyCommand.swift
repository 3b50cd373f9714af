// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore

/// `valet backup verify FILE`.
struct BackupVerifyCommand: Command {
    static let declaration = CommandDeclaration(
        name: "backup verify", abstract: "read a backup to its end and tell whether it is sound",
        discussion: [
            "Reads every item of the file, as a restore does, and says when and from "
                + "which keychain it was made. Neither needs nor changes the keychain.",
            BackupOptions.passphraseDiscussion,
        ],
        arguments: [BackupOptions.file],
        options: [BackupOptions.passphraseDescriptor, ItemOptions.json],
        schema: [
            ("path", "the file"), ("items", "how many items are in it"),
            ("made", "when it was made: ISO 8601, as 2001-01-01T00:00:00Z"),
            ("keychainID", "32 hexadecimal digits, as 'valet status' shows them"),
        ],
        exitCodes: [(.success, "the backup is sound")] + BackupOptions.readingExitCodes,
        examples: [("valet backup verify keychain.backup", "What to do now and then.")])

    private let passphrase: Passphrase
    private let writesJSON: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        passphrase = try Passphrase(values)
        writesJSON = values.has(ItemOptions.json)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let backup = try passphrase.open(context)
        let count = try asking(backup.verify)
        try StatusReport(fields: [
            .init(member: "path", label: "Backup", value: .string(passphrase.path)),
            .init(member: "items", label: "Items", value: .number(count)),
            .init(
                member: "made", label: "Made",
                value: .text(Timestamp.text(secondsSince2001: backup.date))),
            .init(member: "keychainID", label: "Keychain", value: .string(backup.keychainID)),
        ]).write(to: context.console, asJSON: writesJSON)
        return .success
    }
}
