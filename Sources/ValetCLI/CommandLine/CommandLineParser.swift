// SPDX-License-Identifier: Apache-2.0

/// Reads command lines by declarations, with the conventions of swift-argument-parser.
///
/// Options stand behind the verb, in any order among the arguments: `--name value`,
/// `--name=value`, `-h`, letters of flags together. `--` ends the options.
struct CommandLineParser: Sendable {
    let verbs: [CommandDeclaration]

    /// What `arguments`, those after the program's name, ask for.
    ///
    /// - Parameter arguments: nil for an argument that is not UTF-8.
    /// - Throws: ``ExitCode/usage``.
    func parse(_ arguments: [String?]) throws(CLIError) -> ParsedCommandLine {
        var words: [String] = []
        for (index, argument) in arguments.enumerated() {
            guard let argument else { throw .usage("argument \(index + 1) is not UTF-8") }
            words.append(argument)
        }
        guard let first = words.first else {
            let names = verbs.map(\.name).joined(separator: ", ")
            throw .usage("expected a verb: \(names)", hint: "'valet --help' explains them")
        }
        switch first {
        case "-h", "--help": return .help(verb: nil)
        case "--version": return .version
        case "help": return try help(Array(words.dropFirst()))
        default: break
        }
        let verb = try declaration(of: first)
        var scanner = ArgumentScanner(verb: verb, words: words.dropFirst())
        try scanner.scan()
        if scanner.values.has(.help) { return .help(verb: verb.name) }
        try scanner.checkArguments()
        return .run(verb: verb.name, scanner.values)
    }

    private func help(_ words: [String]) throws(CLIError) -> ParsedCommandLine {
        guard let word = words.first, word != "--help", word != "-h" else {
            return .help(verb: nil)
        }
        guard words.count == 1 else { throw .usage("unexpected argument \(quoted(words[1]))") }
        return .help(verb: try declaration(of: word).name)
    }

    private func declaration(of word: String) throws(CLIError) -> CommandDeclaration {
        if let verb = verbs.first(where: { $0.name == word }) { return verb }
        if word.hasPrefix("-") { throw misplaced(word) }
        let nearest = Suggestion.nearest(to: word, among: verbs.map(\.name) + ["help"])
        throw .usage(
            "unknown verb \(quoted(word))",
            hint: nearest.map { "did you mean '\($0)'?" } ?? "'valet --help' lists the verbs")
    }

    /// The error for an option in front of the verb.
    private func misplaced(_ word: String) -> CLIError {
        let name = String(word.prefix { $0 != "=" })
        let known = verbs.flatMap(\.allOptions).map(\.spelling)
        if known.contains(name) {
            return .usage("\(quoted(name)) stands in front of the verb", hint: "it goes behind it")
        }
        let nearest = Suggestion.nearest(to: name, among: ["--help", "--version"])
        return .usage(
            "unknown option \(quoted(name))",
            hint: nearest.map { "did you mean '\($0)'?" } ?? "'valet --help' lists the verbs")
    }
}

/// A word of a command line as messages show it.
func quoted(_ word: String) -> String { "'\(Escaping.printable(word))'" }
