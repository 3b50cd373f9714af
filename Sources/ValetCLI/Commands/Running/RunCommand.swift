// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainStore
internal import ValetSecretMemory

/// `valet run -- COMMAND`.
struct RunCommand: Command {
    private static let environment = OptionDeclaration(
        name: "env", valueName: "NAME=REF", help: "set a variable to a secret; may be repeated",
        isRepeatable: true)
    private static let environmentFile = OptionDeclaration(
        name: "env-file", valueName: "FILE",
        help: "set the variables of a file of NAME=VALUE lines, in which references stand for "
            + "secrets; may be repeated", isRepeatable: true)
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
            "Reads all secrets, and becomes the program: its signals, exit code and terminal are "
                + "those of a program that was started directly. No secret is in a file on a disk "
                + "or in an argument.",
            "Programs of the same user can read a program's environment, and programs that it "
                + "starts inherit it. --file and --stdin avoid this: a file in memory is named "
                + "/proc/self/fd/N, and is readable for the program and for those that inherit "
                + "its descriptors. The program writes no core file.",
            "--mask replaces the secrets in standard output and standard error, against "
                + "accidents. A program that writes a secret in another form, as base64, "
                + "circumvents it. Secrets of fewer than 4 bytes are not hidden.",
            "In a file of --env-file, a value is a reference if it begins with 'valet:'; in other "
                + "values each '{{ REF }}' stands for a secret.",
            SecretReference.discussion,
            "KEY alone is a secret of the valet that --app, --id and the other options choose.",
        ],
        arguments: [command],
        options: [environment, environmentFile, file, input, mask]
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
        ])

    /// A name, and the reference to its value.
    private struct Assignment: Hashable {
        let name: String
        let reference: String
    }

    private let environment: [Assignment]
    private let environmentFiles: [String]
    private let files: [Assignment]
    private let input: String?
    private let isMasking: Bool
    private let wordCount: Int
    private let values: ParsedValues

    init(_ values: ParsedValues) throws(CLIError) {
        environment = try Self.assignments(Self.environment, values)
        files = try Self.assignments(Self.file, values)
        environmentFiles = values.list(Self.environmentFile)
        input = values[Self.input]
        isMasking = values.has(Self.mask)
        wordCount = values.programWords.count
        self.values = values
    }

    private static func assignments(
        _ option: OptionDeclaration, _ values: ParsedValues
    ) throws(CLIError) -> [Assignment] {
        try values.list(option).map { (text) throws(CLIError) in
            let sides = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard sides.count == 2, VariableName.isValid(sides[0]) else {
                throw .usage(
                    "'\(option.spelling)' does not take \(quoted(text))",
                    hint: "it takes NAME=REF: '\(option.spelling) TOKEN=valet://APP/ID/KEY'")
            }
            return Assignment(name: sides[0], reference: sides[1])
        }
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        guard isMasking else { throw try prepare(in: context).launch.become(try context.signals()) }
        // No secret is in memory any more when this process ends.
        try supervise(in: context).repeatHere()
    }

    private func supervise(in context: Context) throws(CLIError) -> ProgramEnding {
        let (launch, secrets) = try prepare(in: context)
        for _ in secrets.filter({ !OutputMask.hides($0) }) {
            context.console.note("valet: warning: a secret is too short or too long to be hidden")
        }
        var supervisor = MaskingSupervisor(launch, hiding: secrets, try context.signals())
        return try supervisor.run()
    }

    /// Reads all secrets. Returns them and the program that gets them.
    private func prepare(
        in context: Context
    ) throws(CLIError) -> (launch: ProgramLaunch, secrets: [SecretValue]) {
        let resolver = ReferenceResolver(context, values)
        var secrets: [SecretValue] = []
        var launch = ProgramLaunch(lastWords: wordCount)
        for path in environmentFiles { try read(path, resolver, &launch, &secrets) }
        for entry in environment {
            let value = try resolver.value(of: entry.reference)
            try value.withBytes { (bytes) throws(CLIError) in try launch.set(entry.name, to: bytes)
            }
            secrets.append(value)
        }
        for entry in files {
            let value = try resolver.value(of: entry.reference)
            let number = try ProgramLaunch.memoryFile(value)
            try launch.set(entry.name, to: Array("/proc/self/fd/\(number)".utf8).span)
            secrets.append(value)
        }
        if let input {
            let value = try resolver.value(of: input)
            try ProgramLaunch.useAsInput(value)
            secrets.append(value)
        }
        ItemStore.closeAll()
        return (launch, secrets)
    }

    /// Sets the variables of a file.
    private func read(
        _ path: String, _ resolver: ReferenceResolver, _ launch: inout ProgramLaunch,
        _ secrets: inout [SecretValue]
    ) throws(CLIError) {
        let text: String? = try ProgramLaunch.contents(ofFile: path).withBytes { bytes in
            guard TerminalText.isUTF8(bytes) else { return nil }
            return String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
        }
        guard let text else { throw .usage("\(quoted(path)) is not UTF-8") }
        for entry in try EnvironmentFile.entries(text, of: path) {
            let place = "line \(entry.line) of \(quoted(path))"
            let (value, found) = try value(of: entry.value, at: place, resolver)
            try value.withBytes { (bytes) throws(CLIError) in try launch.set(entry.name, to: bytes)
            }
            secrets += found
        }
    }

    /// The value of a variable of a file, and the secrets in it.
    private func value(
        of text: String, at place: String, _ resolver: ReferenceResolver
    ) throws(CLIError) -> (SecretValue, [SecretValue]) {
        if text.hasPrefix(SecretReference.scheme) {
            do throws(CLIError) {
                let value = try resolver.value(of: text)
                return (value, [value])
            } catch {
                throw error.at(place)
            }
        }
        let template = SecretValue(copying: Array(text.utf8).span)
        let parts = try resolver.parts(of: template, at: place)
        var joined = SecretBytes(byteCount: parts.reduce(0) { $0 + $1.value.byteCount })
        var position = 0
        for part in parts {
            part.value.withBytes { joined.write($0, at: position) }
            position += part.value.byteCount
        }
        return (SecretValue(joined), parts.filter(\.isSecret).map(\.value))
    }
}

extension Context {
    /// How programs that the command becomes treat signals.
    fileprivate func signals() throws(CLIError) -> CallersSignals {
        guard let terminal = console as? Terminal else {
            throw CLIError(.failure, "programs run at a real console only")
        }
        return terminal.callersSignals
    }
}
