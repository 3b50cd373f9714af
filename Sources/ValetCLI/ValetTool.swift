// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetUserPresence

/// The `valet` command.
package enum ValetTool {
    /// Runs the command line of this process; returns what it exits with.
    package static func main() -> Int32 {
        let terminal = Terminal.prepareProcess()
        let context = Context(console: terminal) { (requester) throws(KeychainFailure) in
            try KeychainSession.open(requester)
        }
        let code = run(Terminal.arguments, in: context)
        // What was stored lies in the database then, and not only in the log.
        ItemStore.closeAll()
        if code == .brokenPipe { Terminal.endByBrokenPipe() }
        return code.rawValue
    }

    /// Runs the command line `arguments`; nil stands for an argument that is not UTF-8.
    static func run(_ arguments: [String?], in context: Context) -> ExitCode {
        do {
            return try perform(arguments, in: context)
        } catch {
            if error.code != .brokenPipe { context.console.report(error) }
            return error.code
        }
    }

    private static func perform(
        _ arguments: [String?], in context: Context
    ) throws(CLIError) -> ExitCode {
        let parser = CommandLineParser(declaration.table)
        switch try parser.parse(arguments) {
        case .version: try context.console.write("valet \(Version.current)\n")
        case .help(let name): try context.console.write(help(about: name))
        case .run(let verb, let values):
            guard let command = commands.first(where: { $0.declaration.name == verb }) else {
                throw CLIError(.failure, "\(quoted(verb)) is declared but not made")
            }
            // Locking asks nobody, and keys are taken away whatever a variable says.
            if verb != LockCommand.declaration.name { try checkSettings() }
            return try command.init(values).run(in: context)
        }
        return .success
    }

    /// Refuses variables whose values mean nothing, whether this verb would ask or not.
    private static func checkSettings() throws(CLIError) {
        do throws(UserPresenceError) {
            try PasscodeAsker.checkSettings()
        } catch {
            throw CLIError(error)
        }
    }

    private static func help(about name: String?) -> String {
        switch name.flatMap({ declaration.table[$0] }) {
        case .verb(let verb): HelpText.text(for: verb)
        case .group(let group): HelpText.text(for: group, in: declaration.table)
        case nil: HelpText.text(for: declaration)
        }
    }

    private static let commands: [any Command.Type] = [
        SetCommand.self, GetCommand.self, ContainsCommand.self, RemoveCommand.self,
        ListCommand.self, StatusCommand.self, DoctorCommand.self,
        UnlockCommand.self, LockCommand.self, PasscodeSetCommand.self,
        PasscodeChangeCommand.self, PasscodeRemoveCommand.self, RecoveryCreateCommand.self,
        RecoveryUseCommand.self, RecoveryRevokeCommand.self, DeviceStatusCommand.self,
        DeviceBindCommand.self, DeviceUnbindCommand.self, RotateCommand.self,
        BackupCreateCommand.self,
        BackupListCommand.self, BackupVerifyCommand.self, BackupRestoreCommand.self,
        EntitlementsInitCommand.self,
    ]

    /// The groups that commands of two words are in.
    private static let groups: [GroupDeclaration] =
        KeyGroups.all + [BackupOptions.group, EntitlementsInitCommand.group]

    /// What the command takes and does.
    static let declaration = ToolDeclaration(
        abstract: "keep secrets",
        discussion: [
            "Stores secrets in an encrypted keychain of your own, and reads them. Programs that "
                + "use the Valet library keep theirs in the same keychain: --app names the "
                + "program, --id one of its valets.",
            "Secrets come from standard input or a prompt. Results go to standard output; "
                + "questions, errors and hints go to the terminal or standard error.",
        ],
        table: VerbTable(verbs: commands.map { $0.declaration }, groups: groups),
        environment: [
            (
                "VALET_HOME",
                "the folder of the keychain, an absolute path (default: $STATE_DIRECTORY/valet, "
                    + "$XDG_DATA_HOME/valet, ~/.local/share/valet, the first that is set)"
            ),
            (
                "VALET_ENTITLEMENTS",
                "a property list that names an application and its groups; not used with --app "
                    + "or --group"
            ),
            (
                "VALET_PASSCODE_FD",
                "the number of a descriptor that gives the passcode, a line for each question, "
                    + "instead of a person"
            ),
            (
                "VALET_DEVICE_KEY_FILE",
                "the file with the device key, an absolute path, for a keychain that is bound "
                    + "to it"
            ),
            (
                "VALET_LOCK_STATE",
                "kernel or process: where opened keys lie (default: kernel where somebody has "
                    + "logged in); any other value is an error"
            ),
            (
                "VALET_INTERACTION",
                "never: the command asks no questions; any other value is an error"
            ),
            (
                "VALET_PINENTRY",
                "the pinentry program that asks (default: that of gpg-agent, else one in PATH)"
            ),
        ],
        examples: [
            ("valet set github-token", "Asks for a secret and stores it."),
            ("valet get github-token", "Shows it."),
        ])
}
