// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetUserPresence

/// `valet backup create FILE`.
struct BackupCreateCommand: Command {
    private static let force = OptionDeclaration(
        name: "force", letter: "f", help: "replace an existing file")
    private static let weak = OptionDeclaration(
        name: "weak", help: "accept a passphrase of fewer than 8 characters")
    private static let skipDamaged = OptionDeclaration(
        name: "skip-damaged", help: "leave damaged items out; otherwise nothing is written")

    static let declaration = CommandDeclaration(
        name: "backup create", abstract: "write all items that may leave this device to a file",
        discussion: [
            "Writes the items of all applications and groups, as they are at one moment; "
                + "other programs can go on meanwhile. Says how many items are in the file, and "
                + "how many were left out because they are for this device only or need a "
                + "person for each use.",
            "FILE gets its name once it is whole and on disk. Until then, and if anything "
                + "fails, a file of that name stays as it was. Its folder must exist. The "
                + "keychain must be unlocked.",
            BackupOptions.passphraseDiscussion, BackupOptions.unlockingDiscussion,
        ],
        arguments: [
            ArgumentDeclaration(name: BackupOptions.file.name, help: "the file to write")
        ],
        options: [
            BackupOptions.passphraseDescriptor, KeyOptions.passcodeDescriptor, force, weak,
            skipDamaged, ItemOptions.json,
        ],
        schema: [
            ("path", "the file"), ("items", "how many items are in it"),
            ("thisDeviceOnly", "how many were left out because they are for this device only"),
            ("accessControlled", "how many because they need a person for each use"),
            ("damaged", "how many because they are damaged"),
        ],
        exitCodes: [
            (.notFound, "there is no keychain"),
            (.damaged, "items are damaged, and nothing was written"),
        ],
        examples: [
            ("valet backup create keychain.backup", "Asks for a passphrase, twice."),
            (
                "valet backup create --force --passphrase-fd 3 keychain.backup 3<passphrase.txt",
                "In a script: the shell opens the file."
            ),
        ])

    private let passphrase: Passphrase
    private let descriptor: PasscodeDescriptor?
    private let request: BackupRequest
    private let allowsWeak: Bool
    private let writesJSON: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        passphrase = try Passphrase(values)
        descriptor = try KeyOptions.descriptor(KeyOptions.passcodeDescriptor, values)
        var request = BackupRequest(path: passphrase.path)
        request.isReplacing = values.has(Self.force)
        request.skipsDamaged = values.has(Self.skipDamaged)
        self.request = request
        allowsWeak = values.has(Self.weak)
        writesJSON = values.has(ItemOptions.json)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let store = try asking(context.store)
        // Nobody is to choose a passphrase for what cannot be.
        try context.unlocking(store, descriptor) { () throws(KeychainFailure) in
            try store.checkBackup(request)
        }
        let secret = try passphrase.choose(allowingWeak: allowsWeak, context)
        let report: BackupReport
        do throws(KeychainFailure) {
            report = try store.backUp(request, passphrase: secret)
        } catch {
            throw CLIError(error)
        }
        if writesJSON {
            try context.console.write(report.json(path: request.path))
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
            "thisDeviceOnly": .number(thisDeviceOnlyCount),
            "accessControlled": .number(accessControlledCount), "damaged": .number(damagedCount),
        ])
    }

    fileprivate func text(path: String) -> String {
        let left = [
            (thisDeviceOnlyCount, "for this device only"),
            (accessControlledCount, "with an access control"), (damagedCount, "damaged"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        let items = itemCount == 1 ? "1 item" : "\(itemCount) items"
        return "wrote \(items) to \(quoted(path))"
            + (left.isEmpty ? "" : "; left out: " + left.joined(separator: ", "))
    }
}
