// SPDX-License-Identifier: Apache-2.0

/// What the verbs of `backup` share.
enum BackupOptions {
    static let file = ArgumentDeclaration(name: "FILE", help: "the backup")
    static let passphraseDescriptor = OptionDeclaration(
        name: "passphrase-fd", valueName: "N",
        help: "read the passphrase from descriptor N: its first line, without the newline")

    static let group = GroupDeclaration(
        name: "backup", abstract: "copy all items into one encrypted file, and back",
        discussion: [
            "A backup is a file that its passphrase opens on any machine, without the keychain "
                + "and its device key. It holds the items of all applications and groups, with "
                + "their attributes and dates. Two kinds of items are in no backup: items for "
                + "this device only, and items that need a person for each use.",
            "Without the passphrase the file shows its size in steps of 64 KiB, when it was made, "
                + "the cost of a guess, and a number that names the keychain. A thief of the file "
                + "can try passphrases: choose a long one. It cannot be changed later, and "
                + "without it the backup is lost.",
        ],
        examples: [
            ("valet backup create /mnt/usb/keychain.backup", "Asks for a passphrase, twice."),
            ("valet backup verify /mnt/usb/keychain.backup", "Checks the whole file."),
            (
                "valet backup restore /mnt/usb/keychain.backup --keep-newer --dry-run",
                "Says what a restore would do."
            ),
        ])

    /// Help on the passphrase, for every verb.
    static let passphraseDiscussion =
        "The passphrase is asked for on the terminal, or through pinentry where there is none, "
        + "or read with --passphrase-fd; never from the command line or the environment. It "
        + "counts exactly as typed, up to 1,024 bytes."

    /// Help of verbs that need an unlocked keychain.
    static let unlockingDiscussion =
        "Where each program unlocks the keychain for itself, its passcode is asked for, too, or "
        + "read from a descriptor: --passcode-fd, else $VALET_PASSCODE_FD."

    static let readingExitCodes: [(code: ExitCode, help: String)] = [
        (.damaged, "the file is damaged, cut short, or no backup"),
        (.denied, "the passphrase is wrong"),
    ]

    /// The path of the backup, which is never empty.
    static func path(_ values: ParsedValues) throws(CLIError) -> String {
        guard let path = values[file], !path.isEmpty else { throw .usage("FILE is empty") }
        return path
    }
}
