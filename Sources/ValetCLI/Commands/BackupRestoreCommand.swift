// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetUserPresence

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
                name: "keep-newer", help: "where both have an item, keep the one written last"),
            .keepNewer
        ),
        (
            OptionDeclaration(
                name: "skip-existing", help: "where both have an item, keep that of the keychain"),
            .skipExisting
        ),
    ]
    private static let dryRun = OptionDeclaration(
        name: "dry-run", letter: "n", help: "change nothing, and say what a restore would do")

    static let declaration = CommandDeclaration(
        name: "backup restore", abstract: "bring the items of a backup into the keychain",
        discussion: [
            "Restores the items of all applications, each into its group, with its dates. "
                + "Creates the keychain if there is none. One of --replace, --keep-newer and "
                + "--skip-existing is required: it says what happens to an item that both the "
                + "backup and the keychain have. Two items are the same if they agree in class, "
                + "group, whether they are synchronized, and their names: service and account; "
                + "or server, protocol, port and the like.",
            "Items that are not in the backup stay: a restore deletes nothing. A damaged "
                + "item in the keychain is replaced by the one of the backup, and kept in "
                + "quarantine.",
            "The file is read to its end before anything is changed, and a damaged or "
                + "truncated file is refused. All items are restored or none. The keychain must "
                + "be unlocked. During a restore other programs can read; those that write "
                + "wait.",
            BackupOptions.passphraseDiscussion, BackupOptions.unlockingDiscussion,
        ],
        arguments: [BackupOptions.file],
        options: policies.map(\.option) + [
            dryRun, BackupOptions.passphraseDescriptor, KeyOptions.passcodeDescriptor,
            ItemOptions.json,
        ],
        schema: [
            ("added", "how many items were not there"),
            ("replaced", "how many replaced one that was there"),
            ("kept", "how many were left out for one that was there"),
            ("repaired", "how many replaced a damaged one"),
            ("dryRun", "true if nothing was changed"),
        ],
        exitCodes: BackupOptions.readingExitCodes,
        examples: [
            ("valet backup restore keychain.backup --skip-existing --dry-run", "What is missing?"),
            (
                "valet backup restore keychain.backup --keep-newer",
                "After a loss, or on a new machine."
            ),
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
