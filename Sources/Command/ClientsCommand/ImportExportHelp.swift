// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI

// The declarations of `import` and `export`. ``ClientVerb`` lists them.

enum ImportHelp {
    static let from = OptionDeclaration(
        name: "from", valueName: "SOURCE", help: "where the secrets come from",
        choices: [
            "secret-service", "pass", "gopass", "netrc", "dotenv", "json", "csv", "macos-dump",
            "git-credentials", "docker-config", "aws-credentials", "aws-csv",
        ] + ImportSource.makers)
    static let file = ArgumentDeclaration(
        name: "FILE",
        help: "what to read: a file, or for pass the folder of the store; '-' is standard input",
        isRequired: false)
    static let dryRun = OptionDeclaration(
        name: "dry-run", letter: "n", help: "change nothing, and show what an import would do")
    static let replace = OptionDeclaration(
        name: "replace", help: "if an item exists with another value, give it that of the source")
    static let skipExisting = OptionDeclaration(
        name: "skip-existing", help: "if an item exists with another value, keep it")
    static let forDesktop = OptionDeclaration(
        name: "for-desktop",
        help: "of a Secret Service: keep items as programs stored them, for 'valet serve'")
    static let whole = OptionDeclaration(
        name: "whole", help: "of pass: keep an entry with all its lines as one value")
    static let skipUnreadable = OptionDeclaration(
        name: "skip-unreadable",
        help: "leave out what cannot be read, such as entries of pass for other keys and locked "
            + "collections, and name it")

    static let declaration = CommandDeclaration(
        name: "import", abstract: "read secrets of other programs into the keychain",
        discussion: [
            "Reads all secrets of a source, shows what becomes of each, stores all or none, and "
                + "compares what is stored with the source. Sources are never changed. More than "
                + "200 items or 1 MiB are stored in parts, between which other programs can "
                + "write; if that is interrupted, import again to store the rest.",
            "Without --from, the content of FILE tells what it is, and standard error says what it "
                + "was taken for. The name of a program (bitwarden, 1password, chrome and so on) "
                + "is for its exports in any form that is read: JSON, CSV, and 1Password's 1pux, "
                + "which the program unzip opens.",
            "secret-service: GNOME Keyring, KWallet and others, over D-Bus. Unlock them first. "
                + "pass, gopass: their store, by default in ~/.password-store; gpg asks for its "
                + "passphrase. netrc: ~/.netrc. dotenv: lines NAME=VALUE. json: the output of "
                + "'valet export', an export of Bitwarden without encryption, the output of 'bw "
                + "list items', or an object with names and secrets. csv: an export of a browser "
                + "or a password manager; docs/CLIENTS.md lists the columns. macos-dump: the "
                + "output of 'security dump-keychain -d'.",
            "git-credentials: the files of git's helper 'store', ~/.git-credentials and "
                + "~/.config/git/credentials. docker-config: ~/.docker/config.json. "
                + "aws-credentials: ~/.aws/credentials, or FILE, which may be ~/.aws/config. "
                + "aws-csv: a file that the console of AWS writes. The helpers 'git-credential', "
                + "'docker-credential' and 'aws-credentials' find what these bring, and what "
                + "docker's helpers and Git Credential Manager keep in a keyring.",
            "Passwords with a server become internet passwords, those with a service and an "
                + "account generic passwords. All others become secrets of the valet that the "
                + "options choose, with the names of the source. Entries of one name that differ "
                + "become NAME, NAME (USER), NAME (2) and so on.",
            "An entry of a password manager is one item. Its user name, further addresses, notes, "
                + "one-time passwords and other parts are fields, which 'valet show' lists and "
                + "'valet get --field' reads. Of an entry of pass, the first line is the password, "
                + "lines 'key: value' and 'otpauth://…' are fields, and other lines the note.",
            "With --for-desktop the items of the service that runs get the labels, attributes and "
                + "types that programs gave them. The programs find them once 'valet serve' "
                + "answers.",
            "Each line of the output has the action (add, replace, keep, same, conflict, skip), "
                + "the kind, the owner and the name of the item, and its name in the source. "
                + "Whatever is not imported has a line with 'skip'. Values are never shown.",
            "An item that exists with another accessibility is a conflict, which --replace does "
                + "not solve. One with another value is a conflict, too: without --replace or "
                + "--skip-existing nothing is changed. The same is true of two items of the source "
                + "that would become one: --replace takes the last of them, --skip-existing the "
                + "first.",
        ],
        arguments: [file],
        options: [from, dryRun, replace, skipExisting, skipUnreadable, whole, forDesktop]
            + ItemOptions.all,
        schema: [
            ("added", "how many items were new; 0 if conflicts kept all from being stored"),
            ("replaced", "how many got another value; 0 likewise"),
            ("kept", "how many were left out because the keychain's item was kept"),
            ("same", "how many were there already"),
            ("conflicts", "how many were there with another value"),
            ("dryRun", "true with --dry-run: the numbers say what would be done"),
            ("items", "an array of objects: action, source, kind, owner, name"),
            ("skipped", "an array of objects: source, reason"),
        ],
        exitCodes: [
            (.notFound, "there is no such file or folder"),
            (.damaged, "the input is not what the source writes, or stored data is damaged"),
            (.alreadyThere, "items exist with another value, and nothing was changed"),
        ],
        examples: [
            ("valet import --from pass --dry-run", "Shows what would be imported."),
            ("valet import passwords.csv", "Delete the file then: it is plain text."),
            ("valet import --from dotenv --id web .env", "Into the valet 'web'."),
            (
                "valet import --from secret-service --for-desktop",
                "Before 'valet serve' takes the place of the keyring that runs."
            ),
            (
                "valet import --from git-credentials",
                "What 'git config credential.helper store' kept."
            ),
        ])
}

enum ExportHelp {
    static let format = OptionDeclaration(
        name: "format", valueName: "FORMAT", help: "the form of the output",
        choices: ["json", "dotenv", "docker-env"])
    static let upperSnake = OptionDeclaration(
        name: "upper-snake", help: "name the variable of 'github-token' GITHUB_TOKEN")
    static let to = OptionDeclaration(
        name: "to", valueName: "PLACE",
        help: "another keyring that gets what programs keep by 'valet serve'",
        choices: ["secret-service"])
    static let dryRun = OptionDeclaration(
        name: "dry-run", help: "with --to: change nothing, and show what an export would do")
    static let replace = OptionDeclaration(
        name: "replace",
        help: "with --to: if the keyring has another value, give it that of the keychain")
    static let skipExisting = OptionDeclaration(
        name: "skip-existing", help: "with --to: if the keyring has another value, keep it")
    /// The options that only an export to a Secret Service takes.
    static let ofService = [dryRun, replace, skipExisting, ItemOptions.json]

    static let declaration = CommandDeclaration(
        name: "export", abstract: "write secrets in the clear, or to another keyring",
        discussion: [
            "Writes names and secrets to standard output, after asking. 'valet backup create' "
                + "writes an encrypted file instead.",
            "json: all items of the application, or of one valet with --id, --accessibility or "
                + "--cloud, in the form that 'valet import --from json' reads. dotenv: lines "
                + "NAME=VALUE for one valet, quoted where needed. docker-env: such lines for "
                + "'docker run --env-file' and 'kubectl --from-env-file', which take quotes as "
                + "part of the value. Secrets that cannot be written, such as those that require "
                + "the user, or are damaged, are left out with a warning. Only json has the fields "
                + "of entries.",
            "With --to secret-service, GNOME Keyring, KWallet or another Secret Service that runs "
                + "gets what programs of the desktop keep by 'valet serve': labels, attributes, "
                + "types and secrets, into its default collection. Unlock it first. Each line of "
                + "the output has what becomes of an item (add, replace, keep, same, conflict). "
                + "What is stored is compared afterwards. An item with the same attributes and "
                + "another value is a conflict: without --replace or --skip-existing nothing is "
                + "changed.",
        ],
        options: [format, upperSnake, to] + ofService
            + ItemOptions.all.filter { $0 != ItemOptions.json } + [KeyOptions.yes],
        schema: [
            ("added", "how many items were new; 0 if conflicts kept all from being stored"),
            ("replaced", "how many got another value; 0 likewise"),
            ("kept", "how many have another value that was kept"),
            ("same", "how many were there already"),
            ("conflicts", "how many were there with another value"),
            ("dryRun", "true with --dry-run: the numbers say what would be done"),
        ],
        exitCodes: [
            (.alreadyThere, "with --to: items exist with another value, and nothing was changed"),
            (.failure, "something was left out; see the messages on standard error"),
            KeyOptions.noConsent,
        ],
        examples: [
            ("valet export --format dotenv --id web", "The valet 'web', as variables."),
            ("valet export --format dotenv --upper-snake", "'api-key' as API_KEY."),
            ("valet export --format json --yes > secrets.json", "Delete the file after use."),
            ("valet export --to secret-service --dry-run", "Back to GNOME Keyring."),
        ])
}
