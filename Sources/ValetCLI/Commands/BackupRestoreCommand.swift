// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import KeychainStore
internal import UserPresence

/// `valet backup restore FILE`.
struct BackupRestoreCommand: Command {
    private static let policies: [(option: OptionDeclaration, policy: RestorePolicy)] = [
        (
            OptionDeclaration(
                name: "replace",
                help: "where both have an item, take that of the backup, even if it is older"),
            .replace
        ),
        (
            OptionDeclaration(
                name: "keep-newer", help: "where both have it, keep the one written last"),
            .keepNewer
        ),
        (
            OptionDeclaration(
                name: "skip-existing", help: "where both have it, keep that of the keychain"),
            .skipExisting
        ),
    ]
    private static let dryRun = OptionDeclaration(
        name: "dry-run", letter: "n", help: "change nothing, and say what would be done")

    static let declaration = CommandDeclaration(
        name: "backup restore", abstract: "bring the items of a backup into the keychain",
        discussion: [
            "Brings back the items of all applications, each into its group, with its dates; "
                + "creates the keychain if there is none. Two items are the same if their "
                + "primary keys are: class, group and whether they are synchronized; service and "
                + "account; or server, protocol, port and their like. One of --replace, "
                + "--keep-newer and --skip-existing says what happens where both the backup and "
                + "the keychain have an item.",
            "Whichever it is, items that are not in the backup stay: nothing is ever deleted. A "
                + "damaged item in the keychain gives way to the one of the backup, and is kept "
                + "in quarantine.",
            "The file is read to its end before anything is changed, and one that is damaged or "
                + "cut short is refused. All items are restored or none, whatever happens "
                + "meanwhile. The keychain must be unlocked; other programs can read it during a "
                + "restore, and those that write wait.",
            BackupOptions.passphraseDiscussion, BackupOptions.unlockingDiscussion,
        ],
        arguments: [BackupOptions.file],
        options: policies.map(\.option) + [
            dryRun, BackupOptions.passphraseDescriptor, KeyOptions.passcodeDescriptor,
            ItemOptions.json,
        ],
        schema: [
            ("added", "how many items were not there"),
            ("replaced", "how many took the place of one that was"),
            ("kept", "how many gave way to one that was"),
            ("repaired", "how many took the place of a damaged one"),
            ("dryRun", "true if nothing was changed"),
        ],
        exitCodes: BackupOptions.readingExitCodes,
        examples: [
            ("valet backup restore keychain.backup --skip-existing --dry-run", "What is missing?"),
            ("valet backup restore keychain.backup --keep-newer", "After a loss, or on a new one."),
        ])

    private let passphrase: Passphrase
    private let descriptor: PasscodeDescriptor?
    private let policy: RestorePolicy
    private let isDryRun: Bool
    private let writesJSON: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        passphrase = try Passphrase(values)
        descriptor = try KeyOptions.descriptor(KeyOptions.passcodeDescriptor, values)
        let chosen = Self.policies.filter { values.has($0.option) }
        guard let policy = chosen.first?.policy, chosen.count == 1 else {
            let names = Self.policies.map { "'\($0.option.spelling)'" }.joined(separator: ", ")
            throw .usage(
                "expected one of \(names)",
                hint: "it says what happens to items that are in the keychain already")
        }
        self.policy = policy
        isDryRun = values.has(Self.dryRun)
        writesJSON = values.has(ItemOptions.json)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let backup = try passphrase.open(context)
        let store = try asking(context.store)
        let report = try context.unlocking(store, descriptor) { () throws(KeychainFailure) in
            try store.restore(backup, policy, isDryRun: isDryRun)
        }
        var shown = StatusReport(fields: [
            .init(member: "added", label: "Added", value: .number(report.addedCount)),
            .init(member: "replaced", label: "Replaced", value: .number(report.replacedCount)),
            .init(member: "kept", label: "Kept", value: .number(report.keptCount)),
            .init(member: "repaired", label: "Repaired", value: .number(report.repairedCount)),
        ])
        if writesJSON {
            shown.fields.append(.init(member: "dryRun", label: "", value: .flag(isDryRun)))
        } else if isDryRun {
            context.console.note("valet: nothing was changed; this is what would be done:")
        }
        try shown.write(to: context.console, asJSON: writesJSON)
        return .success
    }
}
