// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetUserPresence

/// The `valet` command.
package enum ValetTool {
    /// Runs the command line of `valet`, and returns its exit code.
    package static func main() -> Int32 {
        main { (context) in run(Terminal.arguments, in: context) }
    }

    /// Runs the command line of `valet-sync`, whose verbs are those of `valet sync`.
    ///
    /// - Parameter sync: Carries out a verb.
    package static func main(
        sync: @escaping (SyncVerb, ParsedValues, Context) throws(CLIError) -> ExitCode
    ) -> Int32 {
        main { (context) in
            var context = context
            context.sync = sync
            return run(["sync"] + Terminal.arguments, in: context)
        }
    }

    /// Runs the command line of `valet-clients`, which links call by other names.
    ///
    /// - Parameter clients: Carries out a verb.
    package static func main(
        clients: @escaping (ClientVerb, ParsedValues, Context) throws(CLIError) -> ExitCode
    ) -> Int32 {
        main { (context) in
            var context = context
            context.clients = clients
            let words = ClientVerb.words(ofProgram: Terminal.programName, Terminal.arguments)
            return run(words, in: context)
        }
    }

    private static func main(_ body: (Context) -> ExitCode) -> Int32 {
        let terminal = Terminal.prepareProcess()
        let code = body(
            Context(console: terminal) { (requester) throws(KeychainFailure) in
                try KeychainSession.open(requester)
            })
        // Moves the changes from the log into the database.
        ItemStore.closeAll()
        if code == .brokenPipe { Terminal.endByBrokenPipe() }
        return code.rawValue
    }

    /// Runs the command line `arguments`. nil stands for an argument that is not UTF-8.
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
        let frequent = frequentCommand(arguments.first ?? nil)
        let parser = CommandLineParser(
            frequent.map { VerbTable(verbs: [$0.declaration], groups: []) } ?? declaration.table)
        switch try parser.parse(arguments) {
        case .version: try context.console.write("valet \(Version.current)\n")
        case .help(let name): try context.console.write(help(about: name))
        case .run(let name, let values):
            if values.has(.noQuestions) { Terminal.turnQuestionsOff() }
            if let verb = SyncVerb(rawValue: name) {
                try checkSettings()
                return try context.sync(verb, values, context)
            }
            if let verb = ClientVerb(rawValue: name) {
                try checkSettings()
                return try context.clients(verb, values, context)
            }
            guard
                let command = frequent
                    ?? commands.first(where: { $0.declaration.name == name })
            else {
                throw CLIError(.failure, "\(quoted(name)) is declared but not implemented")
            }
            // Locking asks no questions, so a wrong variable must not stop it.
            if name != LockCommand.declaration.name { try checkSettings() }
            return try command.init(values).run(in: context)
        }
        return .success
    }

    /// The verbs that scripts call most. Declaring all others as well, to read a command line,
    /// would take a tenth of the time that reading a secret takes.
    private static func frequentCommand(_ word: String?) -> (any Command.Type)? {
        switch word {
        case "get", "cat": GetCommand.self
        case "set": SetCommand.self
        case "contains": ContainsCommand.self
        case "read": ReadCommand.self
        case "run": RunCommand.self
        default: nil
        }
    }

    /// Refuses unknown values of variables, even if this verb would not ask.
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
        ShowCommand.self, ListCommand.self, SearchCommand.self, ReadCommand.self, RunCommand.self,
        InjectCommand.self, StatusCommand.self,
        DoctorCommand.self,
        UnlockCommand.self, LockCommand.self, PasscodeSetCommand.self,
        PasscodeChangeCommand.self, PasscodeRemoveCommand.self, RecoveryCreateCommand.self,
        RecoveryUseCommand.self, RecoveryRevokeCommand.self, DeviceStatusCommand.self,
        DeviceBindCommand.self, DeviceUnbindCommand.self, RotateCommand.self,
        BackupCreateCommand.self,
        BackupListCommand.self, BackupVerifyCommand.self, BackupRestoreCommand.self,
        EntitlementsInitCommand.self,
    ]

    /// The groups of verbs with two words.
    private static let groups: [GroupDeclaration] =
        [
            PasscodeGroup.declaration, RecoveryGroup.declaration, DeviceGroup.declaration,
            BackupOptions.group, EntitlementsInitCommand.group,
        ] + SyncVerb.groups + ClientVerb.groups

    /// The whole command.
    static let declaration = ToolDeclaration(
        abstract: "store secrets in an encrypted keychain",
        discussion: [
            "Stores and reads secrets in your own encrypted keychain. Programs that use the Valet "
                + "library store theirs in the same keychain: --app names the program, --id one "
                + "of its valets.",
            "Reads secrets from standard input or a prompt. Writes results to standard output; "
                + "questions, errors and hints to the terminal or standard error.",
        ],
        table: VerbTable(
            verbs: commands.map { $0.declaration } + SyncVerb.allCases.map(\.declaration)
                + ClientVerb.allCases.map(\.declaration),
            groups: groups),
        environment: [
            (
                "VALET_HOME",
                "the folder of the keychain, an absolute path (default: the first that is set of "
                    + "$STATE_DIRECTORY/valet, $XDG_DATA_HOME/valet, ~/.local/share/valet)"
            ),
            (
                "VALET_ENTITLEMENTS",
                "a property list with the application's identifier and groups; ignored with --app "
                    + "or --group"
            ),
            (
                "VALET_PASSCODE_FD",
                "the number of a file descriptor that supplies the passcode, one line for each "
                    + "question, instead of asking"
            ),
            (
                "VALET_DEVICE_KEY_FILE",
                "the file with the device key, an absolute path, if the keychain is bound to one"
            ),
            (
                "VALET_LOCK_STATE",
                "kernel or process: where opened keys are kept (default: kernel in a login "
                    + "session); any other value is an error"
            ),
            (
                "VALET_INTERACTION",
                "never: ask no questions; any other value is an error"
            ),
            (
                "VALET_PINENTRY",
                "the pinentry program (default: that of gpg-agent, else one in PATH)"
            ),
        ],
        examples: [
            ("valet set github-token", "Asks for a secret and stores it."),
            ("valet get github-token", "Shows it."),
        ])
}
