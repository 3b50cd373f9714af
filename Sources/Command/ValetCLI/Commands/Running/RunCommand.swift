// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainStore
internal import ValetSealing
internal import ValetUserPresence

/// `valet run -- COMMAND`.
enum RunCommand {
    private static let environment = OptionDeclaration(
        name: "env", valueName: "NAME=REF", help: "set a variable to a secret; may be repeated",
        isRepeatable: true)
    private static let environmentFile = OptionDeclaration(
        name: "env-file", valueName: "FILE",
        help: "set the variables of a .env file, in which references stand for secrets; '-' is "
            + "standard input; may be repeated", isRepeatable: true)
    private static let valet = OptionDeclaration(
        name: "all-from", valueName: "ID",
        help: "set a variable for each secret of the valet ID; may be repeated", isRepeatable: true)
    private static let upperSnake = OptionDeclaration(
        name: "upper-snake",
        help: "with --all-from: name the variable of 'github-token' GITHUB_TOKEN")
    private static let inherited = OptionDeclaration(
        name: "resolve-env", help: "put secrets in place of references in inherited variables")
    private static let file = OptionDeclaration(
        name: "file", valueName: "NAME=REF",
        help: "set a variable to the path of a file in memory with the secret; may be repeated",
        isRepeatable: true)
    private static let input = OptionDeclaration(
        name: "stdin", valueName: "REF", help: "give the secret to the program's standard input")
    private static let mask = OptionDeclaration(
        name: "mask", help: "hide these secrets in what the program writes")
    private static let command = ArgumentDeclaration(
        name: "COMMAND", help: "the program to run, with its arguments")

    static let declaration = CommandDeclaration(
        name: "run", abstract: "run a program with secrets in its environment, files or input",
        synonyms: ["exec", "env"],
        discussion: [
            "Reads all secrets, and becomes the program: without --mask its signals, exit code and "
                + "terminal are those of a program that was started directly. No secret is in a "
                + "file on a disk or in an argument. The program writes no core file, and gets "
                + "neither $VALET_PASSCODE_FD nor its descriptor; if that is 0, or with "
                + "'--env-file -', its standard input is empty.",
            "Programs of the same user can read a program's environment, and programs that it "
                + "starts inherit it. --file and --stdin avoid this. A file in memory is named "
                + "/proc/PID/fd/N after the program's process. The program can open it, and so "
                + "can those that it starts, until it ends or closes its descriptor N: "
                + "'ssh -i' does, so start ssh from another program, as 'sh -c \"ssh …; exit\"'. "
                + "A program that outlives the first one opens /proc/self/fd/N.",
            "--mask replaces the secrets in standard output and standard error, against "
                + "accidents. A program that writes a secret in another form, as base64, "
                + "circumvents it. Secrets of fewer than 4 bytes are not hidden; in one of several "
                + "lines each line of 4 bytes or more is. Output that may be the beginning of a "
                + "secret waits until it goes on. The program is a child then, and dies with this "
                + "command. All signals but KILL and STOP are passed on. At a terminal it gets "
                + "one of its own, and a reader in the background waits, and is not stopped.",
            "Later ones replace variables of earlier ones: inherited variables, --all-from, "
                + "--env-file, --env, --file. --all-from leaves out, with a warning, secrets whose "
                + "names are no names of variables, and those like PATH, LD_PRELOAD and "
                + "NODE_OPTIONS, by which a program runs other code: name these one by one.",
            "In a .env file, a value is a reference if it begins with 'valet:'; in other "
                + "values each '{{ REF }}' stands for a secret. In single quotes or backticks "
                + "nothing is a reference. 'valet export --format dotenv' writes values that way.",
            SecretReference.discussion,
            "KEY alone is a secret of the valet that --app, --id and the other options choose.",
        ],
        arguments: [command],
        options: [environment, environmentFile, valet, upperSnake, inherited, file, input, mask]
            + ItemOptions.all.filter { $0 != ItemOptions.json },
        takesProgram: true,
        exitCodes: [
            (.notFound, ExitCode.notFound.explanation),
            (.cannotStart, ExitCode.cannotStart.explanation),
            (.noSuchProgram, ExitCode.noSuchProgram.explanation),
        ],
        examples: [
            ("valet run --env PGPASSWORD=db-password -- psql", "For one program alone."),
            ("valet run --file KEY=valet://Mailer/Mailer/tls -- server", "As a file in memory."),
            ("valet run --env-file .env --mask -- make test", "With the variables of a file."),
            (
                "valet run --all-from deploy --upper-snake -- ./deploy",
                "With every secret of a valet, 'api-key' as API_KEY."
            ),
        ])

    private static func assignments(
        _ option: OptionDeclaration, _ values: ParsedValues
    ) throws(CLIError) -> [(name: String, reference: String)] {
        try values.list(option).map { (text) throws(CLIError) in
            let sides = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard sides.count == 2, VariableName.isValid(sides[0]) else {
                throw .usage(
                    "'\(option.spelling)' does not take \(quoted(text))",
                    hint: "it takes NAME=REF: '\(option.spelling) TOKEN=valet://APP/ID/KEY'")
            }
            return (sides[0], sides[1])
        }
    }

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let signals = try context.signals()
        guard values.has(mask) else {
            let launch = try prepare(values, context).launch
            throw launch.error(launch.become(signals))
        }
        // `supervise` has wiped every secret when `repeatHere` ends this process.
        try supervise(values, context, signals).repeatHere()
    }

    private static func supervise(
        _ values: ParsedValues, _ context: Context, _ signals: CallersSignals
    ) throws(CLIError) -> ProgramEnding {
        let program = try prepare(values, context)
        for _ in program.secrets.filter({ !OutputMask.hides($0) }) {
            context.console.note(
                "valet: warning: a secret, or a line of one, is too short or too long to be hidden")
        }
        var supervisor = MaskingSupervisor(program.launch, hiding: program.secrets, signals)
        return try supervisor.run()
    }

    /// Reads all secrets. Later options replace the variables of earlier ones.
    private static func prepare(
        _ values: ParsedValues, _ context: Context
    ) throws(CLIError) -> ProgramVariables {
        let environment = try assignments(environment, values)
        let files = try assignments(file, values)
        if values.has(upperSnake), values.list(valet).isEmpty {
            throw .usage("'--upper-snake' needs '--all-from'")
        }
        let readsInput = values.list(environmentFile).contains("-")
        guard !readsInput || PasscodeDescriptor.variableText() != "0" else {
            throw .usage(
                "'--env-file -' and $\(PasscodeDescriptor.variable) both read standard input")
        }
        let resolver = ReferenceResolver(context, values)
        let launch = ProgramLaunch(lastWords: values.programWords.count)
        var program = ProgramVariables(launch, resolver, context)
        for identifier in values.list(valet) {
            var scope = try ItemOptions.scope(values)
            scope.identifier = identifier
            try program.setAll(of: scope, upperSnake: values.has(upperSnake))
        }
        for path in values.list(environmentFile) { try program.read(path) }
        for entry in environment {
            try program.set(entry.name, to: try program.value(of: entry.reference))
        }
        for entry in files {
            let value = try program.value(of: entry.reference)
            program.launch.set(entry.name, toFile: try ProgramLaunch.memoryFile(value))
        }
        let input = try values[input].map { (reference) throws(CLIError) in
            try program.value(of: reference)
        }
        try program.takeInherited(resolving: values.has(inherited))
        ItemStore.closeAll()
        // The program must not get the passcode that this command has read, or could have read.
        PasscodeDescriptor.keepFromPrograms(hasReadInput: readsInput)
        if let input { try ProgramLaunch.useAsInput(input) }
        return program
    }
}

extension Context {
    /// The caller's treatment of signals, which the started program gets.
    fileprivate func signals() throws(CLIError) -> CallersSignals {
        guard let terminal = console as? Terminal else {
            throw CLIError(.failure, "programs run at a real console only")
        }
        return terminal.callersSignals
    }
}
