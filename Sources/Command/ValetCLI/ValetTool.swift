// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem
internal import ValetUserPresence

package enum ValetTool {
    /// Runs the command line of a program that has only the verbs of one group of `valet`.
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

    static func main(_ body: (Context) -> ExitCode) -> Int32 {
        let terminal = Terminal.prepareProcess()
        let context = Context(console: terminal)
        var code = body(context)
        // Moves the changes from the log into the database.
        if let loss = ItemStore.closeAll(atExit: true).loss, code == .success {
            let error = CLIError(loss)
            context.console.report(error)
            code = error.code
        }
        if code == .brokenPipe { Terminal.endByBrokenPipe() }
        return code.rawValue
    }

    static func reporting(
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
    static func perform(
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

    /// Refuses unknown values of environment variables, even if this verb would not ask a question.
    static func checkSettings() throws(CLIError) {
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
            (
                "The keychain as a whole",
                ["status", "watch", "doctor", "settings", "backup", "sync"]
            ),
            (
                "Other programs",
                [
                    "import", "export", "git-credential", "docker-credential", "aws-credentials",
                    "serve", "grants", "watch-session", "entitlements", "completions", "manual",
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
