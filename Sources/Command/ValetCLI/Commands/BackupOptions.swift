// SPDX-License-Identifier: Apache-2.0

// What the verbs of `backup` share: options, help, and the question for the passphrase.

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetUserPresence

/// The options and help of the group `valet backup`.
enum BackupOptions {
    static let file = ArgumentDeclaration(
        name: "FILE", help: "the backup; '-' for standard input")
    /// The path that stands for standard input or output.
    static let stream = "-"
    static let passphraseDescriptor = OptionDeclaration(
        name: "passphrase-fd", valueName: "N",
        help: "read the passphrase from file descriptor N: one line, without the newline")

    static let group = GroupDeclaration(
        name: "backup", abstract: "copy all items into one encrypted file, and back",
        discussion: [
            "A backup is a file that its passphrase opens on any machine, without the keychain "
                + "and its device key. It holds the items of all applications and groups, with "
                + "their attributes and dates. Two kinds of items are in no backup: items for "
                + "this device only, and items that require the user at each read.",
            "Without the passphrase the file shows its size in steps of 64 KiB, its date, the "
                + "cost of a guess, and a number that identifies the keychain. A thief of the "
                + "file can guess passphrases: choose a long one. It cannot be changed later, and "
                + "without it the backup is lost.",
        ],
        examples: [
            ("valet backup create /mnt/usb/keychain.backup", "Asks for a passphrase, twice."),
            ("valet backup verify /mnt/usb/keychain.backup", "Checks the whole file."),
            (
                "valet backup restore /mnt/usb/keychain.backup --keep-newer --dry-run",
                "Shows what a restore would do."
            ),
        ])

    /// Help on the passphrase, for every verb.
    static let passphraseDiscussion =
        "Type the passphrase at the terminal, or into pinentry if there is no terminal. Scripts "
        + "pass it through --passphrase-fd. It is never read from the command line or the "
        + "environment. It counts exactly as typed, up to 1,024 bytes."

    static let unlockingDiscussion =
        "Where each program unlocks the keychain for itself, the command also asks for its "
        + "passcode, or reads it from a file descriptor: --passcode-fd, else $VALET_PASSCODE_FD."

    static let readingExitCodes: [(code: ExitCode, help: String)] = [
        (.damaged, "the file is damaged, truncated, or not a backup"),
        (.denied, "the passphrase is wrong"),
    ]
}

/// A backup's path, and where its passphrase comes from.
struct Passphrase {
    let path: String
    /// nil to ask the user.
    private let descriptor: PasscodeDescriptor?

    private static let name = SecretName(
        text: "passphrase", option: BackupOptions.passphraseDescriptor)
    private static let weakness = CLIError.usage(
        "the passphrase has fewer than 8 characters",
        hint: "a thief of the file can guess it: choose a longer one, or use '--weak'")

    init(_ values: ParsedValues) throws(CLIError) {
        guard let path = values[BackupOptions.file], !path.isEmpty else {
            throw .usage("FILE is empty")
        }
        self.path = path
        descriptor = try KeyOptions.descriptor(BackupOptions.passphraseDescriptor, values)
    }

    /// A new passphrase. A person types it twice.
    ///
    /// - Throws: ``ExitCode/usage`` for a short one, unless `allowingWeak`.
    func choose(allowingWeak: Bool, _ context: Context) throws(CLIError) -> SecretBytes {
        try context.otherSecrets(descriptor).answer(naming: Self.name) { problem in
            var prompt = PasscodePrompt(
                title: "New backup",
                description: "Choose a passphrase for the backup \(quoted(path)).\n"
                    + "Without it the backup cannot be opened.",
                label: "Passphrase", previousError: problem)
            prompt.asksTwice = true
            prompt.timeout = .seconds(180)
            return prompt
        } _: { (answer) throws(CLIError) in
            guard allowingWeak || !Keychain.isShort(passphrase: answer) else {
                return .refused(Self.weakness)
            }
            return .accepted(answer)
        }
    }

    /// Opens the backup. A person has three tries.
    func open(_ context: Context) throws(CLIError) -> OpenedBackup {
        guard path != BackupOptions.stream || !context.console.isInputTerminal else {
            throw .usage("standard input is a terminal", hint: "name a file, or use a pipe")
        }
        let store = try requesting(context.store())
        let file = try requesting(BackupFile(at: path, besides: store))
        return try context.otherSecrets(descriptor).answer(naming: Self.name) { problem in
            PasscodePrompt(
                title: "Backup", description: "The passphrase of the backup \(quoted(path)).",
                label: "Passphrase", previousError: problem)
        } _: { (answer) throws(CLIError) in
            do throws(KeychainFailure) {
                return .accepted(try file.open(with: answer))
            } catch {
                let refusal = CLIError(error)
                guard error.code == .authenticationFailed else { throw refusal }
                return .refused(refusal, problem: error.message)
            }
        }
    }
}
