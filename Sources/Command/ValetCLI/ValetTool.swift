// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem
internal import ValetUserPresence

package enum ValetTool {
    /// Runs the command line of `valet`, and returns its exit code.
    ///
    /// - Parameters:
    ///   - added: The verbs that other modules carry out.
    ///   - words: The words that a call by another name stands for: its name and its arguments.
    package static func main(
        adding added: AddedVerbs, _ words: (_ name: String, [String?]) -> [String?]
    ) -> Int32 {
        main { (context) in
            var context = context
            context.added = added
            return run(words(Terminal.programName, Terminal.arguments), in: context)
        }
    }

    /// Runs the command line of a program that carries out the verbs of one group of `valet`, and
    /// contains no others.
    package static func main(of group: String, _ verbs: AddedVerbs) -> Int32 {
        main { (context) in
            reporting(Terminal.arguments, context) { () throws(CLIError) in
                let table = verbs.table
                if try CompletionsCommand.answer(Terminal.arguments, in: context, table) {
                    return .success
                }
                if try ManualCommand.answer(Terminal.arguments, table) { return .success }
                return try perform([group] + Terminal.arguments, table, context) {
                    (name, values) throws(CLIError) in
                    try checkSettings()
                    return try verbs.run(name, values, context)
                }
            }
        }
    }

    private static func main(_ body: (Context) -> ExitCode) -> Int32 {
        let terminal = Terminal.prepareProcess()
        let code = body(Context(console: terminal))
        // Moves the changes from the log into the database.
        ItemStore.closeAll(atExit: true)
        if code == .brokenPipe { Terminal.endByBrokenPipe() }
        return code.rawValue
    }

    /// Runs the command line `arguments`. nil stands for an argument that is not UTF-8.
    static func run(_ arguments: [String?], in context: Context) -> ExitCode {
        reporting(arguments, context) { () throws(CLIError) in
            guard !arguments.isEmpty else { return try StartPage.show(context) }
            let frequent = frequentVerb(arguments.first ?? nil)
            try SyncCommand.handOver(arguments, in: context)
            let table =
                frequent.map { VerbTable(verbs: [$0.declaration()], groups: []) }
                ?? table(adding: context.added)
            return try perform(arguments, table, context) { (name, values) throws(CLIError) in
                // Locking asks no questions, so a wrong variable must not stop it.
                if name != "lock" { try checkSettings() }
                let verb = frequent ?? verbs.first { $0.declaration().name == name }
                guard let verb else { return try context.added.run(name, values, context) }
                return try verb.run(values, context)
            }
        }
    }

    private static func reporting(
        _ arguments: [String?], _ context: Context, _ body: () throws(CLIError) -> ExitCode
    ) -> ExitCode {
        do {
            return try body()
        } catch {
            if error.code == .brokenPipe { return error.code }
            // Words after "--" are names, and those of `run` belong to another program.
            let options = arguments.prefix { $0 != "--" }
            if options.first != "run", options.contains(ItemOptions.json.spelling) {
                context.console.note(error.json.encoded)
            } else {
                context.console.report(error)
            }
            return error.code
        }
    }

    /// Reads a command line by the declarations in `table`, and calls `run` for its verb.
    private static func perform(
        _ arguments: [String?], _ table: VerbTable, _ context: Context,
        _ run: (_ name: String, ParsedValues) throws(CLIError) -> ExitCode
    ) throws(CLIError) -> ExitCode {
        switch try CommandLineParser(table).parse(arguments) {
        case .version: try context.console.write("valet \(Version.description)\n")
        case .help(let name):
            try context.console.write(
                HelpText.text(
                    for: page(about: name, table), width: context.console.outputColumnCount))
        case .run(let name, let values):
            if values.has(.noQuestions) { Terminal.turnQuestionsOff() }
            return try run(name, values)
        }
        return .success
    }

    /// The verbs that scripts call most. Declaring all others as well, to read a command line,
    /// would take a tenth of the time that reading a secret takes.
    private static func frequentVerb(_ word: String?) -> Verb? {
        switch word {
        case "get", "cat": Verb(GetCommand.declaration, GetCommand.run)
        case "set": Verb(SetCommand.declaration, SetCommand.run)
        case "contains": Verb(ContainsCommand.declaration, ContainsCommand.run)
        case "read": Verb(ReadCommand.declaration, ReadCommand.run)
        case "run": Verb(RunCommand.declaration, RunCommand.run)
        // The process that `copy` starts. It is in no list: nobody else needs it.
        case ClipboardClearing.name: Verb(ClipboardClearing.declaration, ClipboardClearing.run)
        default: nil
        }
    }

    /// Refuses unknown values of variables, even if this verb would not ask.
    private static func checkSettings() throws(CLIError) {
        do {
            try PasscodeAsker.checkSettings()
        } catch {
            throw CLIError(error)
        }
    }

    private static func page(about name: String?, _ table: VerbTable) -> HelpPage {
        switch name.flatMap({ table[$0] }) {
        case .verb(let verb): HelpPage(verb)
        case .group(let group): HelpPage(group, in: table)
        case nil: HelpPage(declaration, in: table)
        }
    }

    private static let verbs: [Verb] = [
        Verb(SetCommand.declaration, SetCommand.run),
        Verb(GetCommand.declaration, GetCommand.run),
        Verb(ContainsCommand.declaration, ContainsCommand.run),
        Verb(RemoveCommand.declaration, RemoveCommand.run),
        Verb(ShowCommand.declaration, ShowCommand.run),
        Verb(MoveCommand.declaration, MoveCommand.run),
        Verb(RenameCommand.declaration, RenameCommand.run),
        Verb(CopyToCommand.declaration, CopyToCommand.run),
        Verb(MigrateCommand.declaration, MigrateCommand.run),
        Verb(HistoryCommand.declaration, HistoryCommand.run),
        Verb(UndoCommand.declaration, UndoCommand.run),
        Verb(ListCommand.declaration, ListCommand.run),
        Verb(SearchCommand.declaration, SearchCommand.run),
        Verb(ReadCommand.declaration, ReadCommand.run),
        Verb(RunCommand.declaration, RunCommand.run),
        Verb(InjectCommand.declaration, InjectCommand.run),
        Verb(GenerateCommand.declaration, GenerateCommand.run),
        Verb(OTPCommand.declaration, OTPCommand.run),
        Verb(OTPAddCommand.declaration, OTPAddCommand.run),
        Verb(EditCommand.declaration, EditCommand.run),
        Verb(CopyCommand.declaration, CopyCommand.run),
        Verb(StatusCommand.declaration, StatusCommand.run),
        Verb(SettingsCommand.declaration, SettingsCommand.run),
        Verb(DoctorCommand.declaration, DoctorCommand.run),
        Verb(UnlockCommand.declaration, UnlockCommand.run),
        Verb(LockCommand.declaration, LockCommand.run),
        Verb(PasscodeSetCommand.declaration, PasscodeSetCommand.run),
        Verb(PasscodeChangeCommand.declaration, PasscodeChangeCommand.run),
        Verb(PasscodeRemoveCommand.declaration, PasscodeRemoveCommand.run),
        Verb(RecoveryCreateCommand.declaration, RecoveryCreateCommand.run),
        Verb(RecoveryUseCommand.declaration, RecoveryUseCommand.run),
        Verb(RecoveryRevokeCommand.declaration, RecoveryRevokeCommand.run),
        Verb(DeviceStatusCommand.declaration, DeviceStatusCommand.run),
        Verb(DeviceBindCommand.declaration, DeviceBindCommand.run),
        Verb(DeviceUnbindCommand.declaration, DeviceUnbindCommand.run),
        Verb(RotateCommand.declaration, RotateCommand.run),
        Verb(BackupCreateCommand.declaration, BackupCreateCommand.run),
        Verb(BackupListCommand.declaration, BackupListCommand.run),
        Verb(BackupVerifyCommand.declaration, BackupVerifyCommand.run),
        Verb(BackupRestoreCommand.declaration, BackupRestoreCommand.run),
        Verb(EntitlementsInitCommand.declaration, EntitlementsInitCommand.run),
        Verb(EntitlementsAddCommand.declaration, EntitlementsAddCommand.run),
        Verb(EntitlementsShowCommand.declaration, EntitlementsShowCommand.run),
        Verb(EntitlementsCheckCommand.declaration, EntitlementsCheckCommand.run),
        Verb(SyncCommand.declaration, SyncCommand.run),
        Verb(CompletionsCommand.declaration, CompletionsCommand.run),
        Verb(ManualCommand.declaration, ManualCommand.run),
    ]

    /// The groups of verbs with two words.
    private static let groups: [GroupDeclaration] =
        [
            PasscodeGroup.declaration, RecoveryGroup.declaration, DeviceGroup.declaration,
            BackupOptions.group, EntitlementsInitCommand.group,
        ]

    static func table(adding added: AddedVerbs) -> VerbTable {
        let added = added.table
        return VerbTable(
            verbs: verbs.map { $0.declaration() } + added.verbs, groups: groups + added.groups)
    }

    static let declaration = ToolDeclaration(
        abstract: "store secrets in an encrypted keychain",
        discussion: [
            "Stores and reads secrets in your own encrypted keychain. Programs that use the Valet "
                + "library store theirs in the same keychain: --app names the program, --id one "
                + "of its valets.",
            "Reads secrets from standard input or a prompt. Writes results to standard output; "
                + "questions, errors and hints to the terminal or standard error. With --json an "
                + "error is a JSON object, too: \"error\" with the members code, exitCode, message "
                + "and hint.",
        ],
        topics: [
            (
                "Secrets",
                ["set", "get", "copy", "generate", "otp", "list", "search", "show", "contains"]
            ),
            (
                "Changing secrets",
                ["edit", "rename", "move", "copy-to", "migrate", "remove", "undo", "history"]
            ),
            ("Giving secrets to programs", ["run", "inject", "read"]),
            (
                "Unlocking and protecting",
                ["unlock", "lock", "passcode", "recovery", "device", "rotate"]
            ),
            ("The keychain as a whole", ["status", "doctor", "settings", "backup", "sync"]),
            (
                "Other programs",
                [
                    "import", "export", "git-credential", "docker-credential", "aws-credentials",
                    "entitlements", "completions", "manual",
                ]
            ),
        ],
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
