// SPDX-License-Identifier: Apache-2.0

// The verbs of `backup`: create, list, verify and restore.

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetUserPresence

/// `valet backup create FILE`.
enum BackupCreateCommand {
    private static let force = OptionDeclaration(
        name: "force", letter: "f", help: "replace an existing file")
    private static let weak = OptionDeclaration(
        name: "weak", help: "accept a passphrase of fewer than 8 characters")
    private static let skipDamaged = OptionDeclaration(
        name: "skip-damaged", help: "leave damaged items out, instead of failing")

    static let declaration = CommandDeclaration(
        name: "backup create", abstract: "write all items that may leave this device to a file",
        discussion: [
            "Writes the items of all applications and groups, as they are at one moment. Other "
                + "programs can use the keychain at the same time. Reports how many items are in "
                + "the file, and how many were left out because they are for this device only or "
                + "require the user at each read. Conflicts of sync are left out, too.",
            "FILE may be '-', for standard output, which gets the backup once it is complete; the "
                + "report goes to standard error.",
            "FILE gets its name once it is complete and on disk. Until then, and after a failure, "
                + "an existing file of that name is unchanged. Its folder must exist. The "
                + "keychain must be unlocked.",
            BackupOptions.passphraseDiscussion, BackupOptions.unlockingDiscussion,
        ],
        arguments: [
            ArgumentDeclaration(
                name: BackupOptions.file.name, help: "the file to write; '-' for standard output")
        ],
        options: [
            BackupOptions.passphraseDescriptor, KeyOptions.passcodeDescriptor, force, weak,
            skipDamaged, ItemOptions.json,
        ],
        schema: [
            ("path", "the file"), ("items", "how many items are in it"),
            ("formerValues", "how many former values of items are in it"),
            ("thisDeviceOnly", "how many were left out because they are for this device only"),
            ("accessControlled", "how many because they require the user at each read"),
            ("damaged", "how many because they are damaged"),
            ("damagedFormerValues", "how many former values were left out, for the same reason"),
            ("conflicts", "how many values were left out that no item shows: conflicts of sync"),
        ],
        exitCodes: [
            (.notFound, "there is no keychain"),
            (.damaged, "items or former values are damaged, and nothing was written"),
        ],
        examples: [
            ("valet backup create keychain.backup", "Asks for a passphrase, twice."),
            (
                "valet backup create --force --passphrase-fd 3 keychain.backup 3<passphrase.txt",
                "For scripts: the shell opens the file."
            ),
            ("valet backup create - | ssh host 'cat > keychain.backup'", "On another machine."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let passphrase = try Passphrase(values)
        let options = try KeyOptions(values)
        var request = BackupRequest(path: passphrase.path)
        request.isReplacing = values.has(force)
        request.skipsDamaged = values.has(skipDamaged)
        let writesJSON = values.has(ItemOptions.json)
        let store = try requesting(context.store())
        if request.path == BackupOptions.stream {
            guard !context.console.isOutputTerminal, !writesJSON else {
                let obstacle = writesJSON ? "'--json' needs it" : "it is a terminal"
                throw .usage(
                    "standard output is for the backup, and \(obstacle)",
                    hint: "name a file, or use a pipe")
            }
        }
        // Before it asks for a passphrase, refuses a backup that cannot be written.
        try context.unlocking(store, options.passcode) { () throws(KeychainFailure) in
            try store.keychain.checkBackup(request)
        }
        let secret = try passphrase.choose(allowingWeak: values.has(weak), context)
        let report = try requesting(store.keychain.backUp(request, passphrase: secret))
        if let cause = report.warning {
            context.console.note(
                "valet: warning: the backup is complete, but its name may not survive a power cut: "
                    + Escaping.printable(cause.message))
        }
        if writesJSON {
            context.console.afterEffect { () throws(CLIError) in
                try context.console.write(report.json(path: request.path))
            }
        } else {
            context.console.note("valet: " + report.text(path: request.path))
        }
        return .success
    }
}

extension BackupReport {
    fileprivate func json(path: String) -> JSON {
        .object([
            "path": .string(path), "items": .number(itemCount),
            "formerValues": .number(formerCount),
            "thisDeviceOnly": .number(thisDeviceOnlyCount),
            "accessControlled": .number(accessControlledCount), "damaged": .number(damagedCount),
            "damagedFormerValues": .number(damagedFormerCount), "conflicts": .number(unshownCount),
        ])
    }

    fileprivate func text(path: String) -> String {
        let left = [
            (thisDeviceOnlyCount, "for this device only"),
            (accessControlledCount, "with an access control"), (damagedCount, "damaged"),
            (damagedFormerCount, "damaged former value" + (damagedFormerCount == 1 ? "" : "s")),
            (unshownCount, (unshownCount == 1 ? "conflict" : "conflicts") + " of sync"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        let items = itemCount == 1 ? "1 item" : "\(itemCount) items"
        let former = formerCount == 0 ? "" : " and " + FormerValue.counted(formerCount)
        return "wrote \(items)\(former) to \(quoted(path))"
            + (left.isEmpty ? "" : "; left out: " + left.joined(separator: ", "))
    }
}

/// `valet backup list FILE`.
enum BackupListCommand {
    static let declaration = CommandDeclaration(
        name: "backup list", abstract: "list the items of a backup by name, never their values",
        aliases: ["ls"],
        discussion: [
            "Shows the items of all applications as 'valet list --all' does. Reads the whole file "
                + "first: a damaged file shows nothing. Neither needs nor changes the keychain.",
            BackupOptions.passphraseDiscussion,
        ],
        arguments: [BackupOptions.file],
        options: [BackupOptions.passphraseDescriptor, ItemOptions.json],
        schema: ListedItem.schema, exitCodes: BackupOptions.readingExitCodes,
        examples: [
            ("valet backup list keychain.backup", "Shows the items."),
            ("valet backup list keychain.backup --json | jq -r .items[].name", "The names."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let format = ListFormat(
            form: values.has(ItemOptions.json) ? .json : .table, showsApplications: true)
        let backup = try Passphrase(values).open(context)
        var output = ListOutput(console: context.console, format: format)
        try output.write { (body) throws(CLIError) in
            var place: UInt64 = 0
            try requesting(
                backup.forEachItem { item in
                    body(ListedItem(item, at: place))
                    place += 1
                })
        }
        return .success
    }
}

/// `valet backup verify FILE`.
enum BackupVerifyCommand {
    static let declaration = CommandDeclaration(
        name: "backup verify", abstract: "check that a backup can be restored",
        discussion: [
            "Reads every item of the file, as a restore does. Shows when the backup was made, and "
                + "of which keychain. Neither needs nor changes the keychain.",
            BackupOptions.passphraseDiscussion,
        ],
        arguments: [BackupOptions.file],
        options: [BackupOptions.passphraseDescriptor, ItemOptions.json],
        schema: [
            ("path", "the file"), ("items", "how many items are in it"),
            ("formerValues", "how many former values of items are in it"),
            ("made", "when it was made: ISO 8601, as 2001-01-01T00:00:00Z"),
            ("keychainID", "32 hexadecimal digits, as in 'valet status'"),
        ],
        exitCodes: [(.success, "the backup is intact")] + BackupOptions.readingExitCodes,
        examples: [("valet backup verify keychain.backup", "Run this from time to time.")])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let passphrase = try Passphrase(values)
        let backup = try passphrase.open(context)
        let contents = try requesting(backup.verify())
        try StatusReport(fields: [
            .init("path", "Backup", .string(passphrase.path)),
            .init("items", "Items", .number(contents.itemCount)),
            .init("formerValues", "Former values", .number(contents.formerCount)),
            .init("made", "Made", .text(Timestamp.text(secondsSince2001: backup.date))),
            .init("keychainID", "Keychain", .string(backup.keychainID)),
        ]).write(to: context.console, asJSON: values.has(ItemOptions.json))
        return .success
    }
}

/// `valet backup restore FILE`.
enum BackupRestoreCommand {
    private static let policies: [(option: OptionDeclaration, policy: RestorePolicy)] = [
        (
            OptionDeclaration(
                name: "replace",
                help: "if both have an item, restore that of the backup, even if it is older"),
            .replace
        ),
        (
            OptionDeclaration(
                name: "keep-newer", help: "if both have an item, keep the one written last"),
            .keepNewer
        ),
        (
            OptionDeclaration(
                name: "skip-existing", help: "if both have an item, keep that of the keychain"),
            .skipExisting
        ),
    ]
    private static let dryRun = OptionDeclaration(
        name: "dry-run", letter: "n", help: "change nothing, and show what a restore would do")

    static let declaration = CommandDeclaration(
        name: "backup restore", abstract: "restore the items of a backup into the keychain",
        discussion: [
            "Restores the items of all applications, each into its group, with its dates. "
                + "Creates the keychain if necessary. One of --replace, --keep-newer and "
                + "--skip-existing decides about items that both the backup and the keychain "
                + "have; without one, a restore that meets such an item changes nothing. Two "
                + "items are the same if they agree in class, group, whether they are "
                + "synchronized, and names: service and account, or server, protocol, port and so "
                + "on.",
            "A restore deletes nothing: items that are not in the backup stay. An item that "
                + "requires the user or a password at each read is not replaced. A damaged item "
                + "is replaced, and set aside. Former values are added where the setting "
                + "'history' leaves room for them.",
            "The whole file is checked before anything is changed; a damaged or truncated file is "
                + "refused. All items are restored or none. The keychain must be unlocked. Other "
                + "programs can read during a restore; programs that write wait.",
            BackupOptions.passphraseDiscussion, BackupOptions.unlockingDiscussion,
        ],
        arguments: [BackupOptions.file],
        options: policies.map(\.option) + [
            dryRun, BackupOptions.passphraseDescriptor, KeyOptions.passcodeDescriptor,
            ItemOptions.json,
        ],
        schema: [
            ("added", "how many items were new"),
            ("replaced", "how many replaced an item of the keychain"),
            ("kept", "how many were left out, because the keychain's item was kept"),
            ("repaired", "how many replaced a damaged item"),
            ("formerValues", "how many former values were added"),
            (
                "accessControlled",
                "how many were left out, because the keychain's item requires the user or a "
                    + "password"
            ),
            ("dryRun", "true if nothing was changed"),
        ],
        exitCodes: [
            BackupOptions.readingExitCodes[0],
            (
                .denied,
                "the passphrase is wrong, or items that require the user or a password were not "
                    + "replaced, and all others were restored"
            ),
        ],
        examples: [
            (
                "valet backup restore keychain.backup --skip-existing --dry-run",
                "Shows how many items are missing."
            ),
            (
                "valet backup restore keychain.backup --keep-newer",
                "After a loss, or on a new machine."
            ),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let passphrase = try Passphrase(values)
        let options = try KeyOptions(values)
        let chosen = policies.filter { values.has($0.option) }
        guard chosen.count <= 1 else { throw choice("expected one of") }
        let policy = chosen.first?.policy
        let isDryRun = values.has(dryRun)
        let backup = try passphrase.open(context)
        let store = try requesting(context.store())
        let report = try context.unlocking(store, options.passcode) {
            () throws(KeychainFailure) -> RestoreReport? in
            do throws(KeychainFailure) {
                return try store.keychain.restore(backup, policy, isDryRun: isDryRun)
            } catch {
                guard error.code == .duplicateItem, policy == nil else { throw error }
                return nil
            }
        }
        guard let report else {
            throw choice("the keychain has items of the backup already: expected one of")
        }
        try context.console.report(ofEffect: !isDryRun) { () throws(CLIError) in
            try show(report, isDryRun: isDryRun, values, context.console)
        }
        guard report.accessControlledCount == 0 else {
            throw leftOut(report.accessControlledCount, isDryRun)
        }
        return .success
    }

    private static func show(
        _ report: RestoreReport, isDryRun: Bool, _ values: ParsedValues, _ console: any Console
    ) throws(CLIError) {
        let writesJSON = values.has(ItemOptions.json)
        var shown = StatusReport(fields: [
            .init("added", "Added", .number(report.addedCount)),
            .init("replaced", "Replaced", .number(report.replacedCount)),
            .init("kept", "Kept", .number(report.keptCount)),
            .init("repaired", "Repaired", .number(report.repairedCount)),
            .init("formerValues", "Former values", .number(report.formerCount)),
            .init("accessControlled", "Left out", .number(report.accessControlledCount)),
        ])
        if writesJSON {
            shown.fields.append(.init("dryRun", nil, .flag(isDryRun)))
        } else if isDryRun {
            console.note("valet: nothing was changed; a restore would do this:")
        }
        try shown.write(to: console, asJSON: writesJSON)
    }

    /// The error for items that a restore does not replace.
    private static func leftOut(_ count: Int, _ isDryRun: Bool) -> CLIError {
        let items = count == 1 ? "1 item" : "\(count) items"
        return CLIError(
            .denied,
            "\(items) of the backup \(isDryRun ? "would be" : count == 1 ? "was" : "were") left "
                + "out, because the keychain's item requires the user or a password",
            hint: "remove the keychain's items first, or choose '--skip-existing'")
    }

    private static func choice(_ message: String) -> CLIError {
        let names = policies.map { "'\($0.option.spelling)'" }.joined(separator: ", ")
        return .usage(
            "\(message) \(names)",
            hint: "choose what happens to items that the keychain has already")
    }
}
