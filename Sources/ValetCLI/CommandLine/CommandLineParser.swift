// SPDX-License-Identifier: Apache-2.0

/// Reads command lines by declarations, with the conventions of swift-argument-parser.
///
/// Options stand behind the verb, in any order among the arguments: `--name value`,
/// `--name=value`, `-h`, letters of flags together. `--` ends the options. A verb of a group
/// stands behind the group's name.
struct CommandLineParser: Sendable {
    private let table: VerbTable

    init(verbs: [CommandDeclaration], groups: [GroupDeclaration] = []) {
        table = VerbTable(verbs: verbs, groups: groups)
    }

    init(_ table: VerbTable) {
        self.table = table
    }

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
        return try parse(words[...], in: nil)
    }

    private func parse(
        _ words: ArraySlice<String>, in group: String?
    ) throws(CLIError) -> ParsedCommandLine {
        guard let first = words.first else { throw missing(in: group) }
        let rest = words.dropFirst()
        switch first {
        case "-h", "--help": return .help(verb: group)
        case "--version" where group == nil:
            if let extra = rest.first { throw .usage("unexpected argument \(quoted(extra))") }
            return .version
        case "help": return try help(rest, in: group)
        default: break
        }
        switch try entry(first, in: group) {
        case .group(let group): return try parse(rest, in: group.name)
        case .verb(let verb): return try parse(rest, of: verb)
        }
    }

    private func parse(
        _ words: ArraySlice<String>, of verb: CommandDeclaration
    ) throws(CLIError) -> ParsedCommandLine {
        var scanner = ArgumentScanner(verb: verb, words: words)
        try scanner.scan()
        if scanner.values.has(.help) { return .help(verb: verb.name) }
        try scanner.checkArguments()
        return .run(verb: verb.name, scanner.values)
    }

    private func help(
        _ words: ArraySlice<String>, in group: String?
    ) throws(CLIError) -> ParsedCommandLine {
        guard let word = words.first, !["--help", "-h", "help"].contains(word) else {
            return .help(verb: group)
        }
        let rest = words.dropFirst()
        switch try entry(word, in: group) {
        case .group(let group): return try help(rest, in: group.name)
        case .verb(let verb):
            if let extra = rest.first { throw .usage("unexpected argument \(quoted(extra))") }
            return .help(verb: verb.name)
        }
    }
}

/// What is said where no verb is.
extension CommandLineParser {
    private func missing(in group: String?) -> CLIError {
        let names = table.words(in: group).joined(separator: ", ")
        let place = group.map { " of '\($0)'" } ?? ""
        return .usage("expected a verb\(place): \(names)", hint: "\(helpLine(group)) explains them")
    }

    private func entry(_ word: String, in group: String?) throws(CLIError) -> VerbTable.Entry {
        let name = VerbTable.name(word, in: group)
        if !word.contains(" "), let entry = table[name] { return entry }
        if word.hasPrefix("-") { throw misplaced(word, in: group) }
        throw .usage(
            "unknown verb \(quoted(name))",
            hint: suggestion(for: word, in: group).map { "did you mean '\($0)'?" }
                ?? "\(helpLine(group)) lists the verbs")
    }

    /// What other commands call `word`, else a verb of that group with a name like it, else one of
    /// another group with that name.
    private func suggestion(for word: String, in group: String?) -> String? {
        if let name = synonym(word, in: group) { return name }
        let nearest = Suggestion.nearest(to: word, among: table.words(in: group) + ["help"])
        if let nearest { return VerbTable.name(nearest, in: group) }
        return table.verbs.first { $0.name == word || $0.name.hasSuffix(" " + word) }?.name
    }

    private func synonym(_ word: String, in group: String?) -> String? {
        let names = table.words(in: group).map { VerbTable.name($0, in: group) }
        let verb = table.below(group).first {
            $0.synonyms.contains(word) && names.contains($0.name)
        }
        if let verb { return verb.name }
        let version = OptionDeclaration.version
        return group == nil && version.synonyms.contains(word) ? version.spelling : nil
    }

    /// The error for an option in front of the verb.
    private func misplaced(_ word: String, in group: String?) -> CLIError {
        let name = String(word.prefix { $0 != "=" })
        let known = table.below(group).flatMap(\.allOptions).map(\.spelling)
        if known.contains(name) {
            return .usage("\(quoted(name)) stands in front of the verb", hint: "it goes behind it")
        }
        let own = group == nil ? ["--help", "--version"] : ["--help"]
        let nearest = Suggestion.nearest(to: name, among: own)
        return .usage(
            "unknown option \(quoted(name))",
            hint: nearest.map { "did you mean '\($0)'?" } ?? "\(helpLine(group)) lists the verbs")
    }

    private func helpLine(_ group: String?) -> String {
        "'" + (["valet"] + [group].compactMap { $0 } + ["--help"]).joined(separator: " ") + "'"
    }
}

/// A word of a command line as messages show it.
func quoted(_ word: String) -> String { "'\(Escaping.printable(word))'" }
