// SPDX-License-Identifier: Apache-2.0

/// Parses command lines as declared, with the conventions of swift-argument-parser.
///
/// Options follow the verb, in any order among the arguments: `--name value`, `--name=value`, `-h`,
/// several flag letters together. `--` ends the options. A verb of a group follows the group's
/// name.
struct CommandLineParser: Sendable {
    private let table: VerbTable

    init(verbs: [CommandDeclaration], groups: [GroupDeclaration] = []) {
        table = VerbTable(verbs: verbs, groups: groups)
    }

    init(_ table: VerbTable) {
        self.table = table
    }

    /// Reads `arguments`, those after the program's name.
    ///
    /// - Parameter arguments: nil for an argument that is not UTF-8.
    /// - Throws: ``ExitCode/usage``.
    func parse(_ arguments: [String?]) throws(CLIError) -> ParsedCommandLine {
        var words: [String] = []
        for (index, argument) in arguments.enumerated() {
            // The program that `run` starts gets its words unchanged, not as parsed here.
            let isOfProgram = words.first == "run" && words.contains("--")
            guard let word = argument ?? (isOfProgram ? "\u{FFFD}" : nil) else {
                throw .usage("argument \(index + 1) is not UTF-8")
            }
            words.append(word)
        }
        return try parse(words[...], in: nil)
    }

    private func parse(
        _ words: ArraySlice<String>, in group: String?
    ) throws(CLIError) -> ParsedCommandLine {
        guard let first = words.first else {
            guard let name = defaultVerb(of: group) else { throw missing(in: group) }
            return .run(verb: name, ParsedValues())
        }
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
        case .verb(let verb):
            if let longer = longerVerb(verb, rest.first) {
                return try parse(rest.dropFirst(), of: longer)
            }
            return try parse(rest, of: verb)
        }
    }

    /// The verb whose name is the name of `verb` followed by `word`: `otp add`.
    private func longerVerb(_ verb: CommandDeclaration, _ word: String?) -> CommandDeclaration? {
        guard let word, !word.contains(" "),
            case .verb(let longer) = table[VerbTable.name(word, in: verb.name)]
        else { return nil }
        return longer
    }

    private func defaultVerb(of group: String?) -> String? {
        guard let group, case .group(let declaration) = table[group] else { return nil }
        return declaration.defaultVerb.map { VerbTable.name($0, in: group) }
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
            if let longer = longerVerb(verb, rest.first) { return .help(verb: longer.name) }
            if let extra = rest.first { throw .usage("unexpected argument \(quoted(extra))") }
            return .help(verb: verb.name)
        }
    }
}

extension CommandLineParser {
    private func missing(in group: String?) -> CLIError {
        let names = table.words(in: group).joined(separator: ", ")
        let place = group.map { " of '\($0)'" } ?? ""
        return .usage("expected a verb\(place): \(names)", hint: "\(helpLine(group)) explains them")
    }

    private func entry(_ word: String, in group: String?) throws(CLIError) -> VerbTable.Entry {
        let name = VerbTable.name(word, in: group)
        if !word.contains(" "), let entry = table[name] { return entry }
        if let verb = table.verb(calledAlso: word, in: group) { return .verb(verb) }
        if word.hasPrefix("-") { throw misplaced(word, in: group) }
        throw .usage(
            "unknown verb \(quoted(name))",
            hint: (group == nil ? VerbAdvice.text(for: word) : nil)
                ?? suggestion(for: word.lowercased(), in: group).map { "did you mean \($0)?" }
                ?? "\(helpLine(group)) lists the verbs")
    }

    /// The verb to suggest for `word`: the one that has it as a synonym, else one of this group
    /// with a similar name, else the verbs of other groups with that name.
    private func suggestion(for word: String, in group: String?) -> String? {
        if let name = synonym(word, in: group) { return "'\(name)'" }
        let nearest = Suggestion.nearest(to: word, among: table.words(in: group) + ["help"])
        if let nearest { return "'\(VerbTable.name(nearest, in: group))'" }
        let others = table.verbs.map(\.name).filter { $0 == word || $0.hasSuffix(" " + word) }
        guard let last = others.last else { return nil }
        let before = others.dropLast().map { "'\($0)'" }.joined(separator: ", ")
        return (before.isEmpty ? "" : before + " or ") + "'\(last)'"
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

    /// The error for an option before the verb.
    private func misplaced(_ word: String, in group: String?) -> CLIError {
        let name = String(word.prefix { $0 != "=" })
        let known = table.below(group).flatMap(\.allOptions).map(\.spelling)
        if known.contains(name) {
            return .usage("option \(quoted(name)) before the verb", hint: "put it after the verb")
        }
        if group == nil, ["-v", "-V"].contains(name) {
            return .usage("unknown option '\(name)'", hint: "did you mean '--version'?")
        }
        let own = group == nil ? ["--help", "--version"] : ["--help"]
        let nearest = Suggestion.nearest(to: name, among: own)
        return .usage(
            "unknown option \(quoted(name))",
            hint: VerbAdvice.text(for: name) ?? nearest.map { "did you mean '\($0)'?" }
                ?? "\(helpLine(group)) lists the verbs")
    }

    private func helpLine(_ group: String?) -> String {
        "'" + (["valet"] + [group].compactMap { $0 } + ["--help"]).joined(separator: " ") + "'"
    }
}

/// A word of a command line, safe to show in a message.
package func quoted(_ word: String) -> String { "'\(Escaping.printable(word))'" }

enum ParsedCommandLine: Hashable, Sendable {
    /// The help of a verb or a group; nil for the whole command.
    case help(verb: String?)
    case version
    case run(verb: String, ParsedValues)
}

/// The values of one command line, by the names of their declarations.
package struct ParsedValues: Hashable, Sendable {
    var arguments: [String: String] = [:]
    var options: [String: String] = [:]
    var flags: Set<String> = []
    /// The values of options that were given several times.
    var lists: [String: [String]] = [:]
    /// The words of the program that the verb starts.
    var programWords: [String] = []

    /// All values that were given for an option.
    package func list(_ option: OptionDeclaration) -> [String] { lists[option.name] ?? [] }

    /// All words that were given for an argument.
    func list(_ argument: ArgumentDeclaration) -> [String] { lists[argument.name] ?? [] }

    /// The value given for an argument; nil if the argument was not given.
    package subscript(argument: ArgumentDeclaration) -> String? { arguments[argument.name] }

    /// The value given for an option, or its default.
    package subscript(option: OptionDeclaration) -> String? {
        options[option.name] ?? option.defaultValue
    }

    /// Whether an option is there, with a value or as a flag.
    package func isChosen(_ option: OptionDeclaration) -> Bool { isGiven(option) || has(option) }

    /// The number given for an option that has a default, in decimal digits.
    ///
    /// - Throws: ``ExitCode/usage`` for a number outside of `range`, and for other text.
    func number<N: FixedWidthInteger>(
        _ option: OptionDeclaration, in range: ClosedRange<N>
    ) throws(CLIError) -> N {
        let text = self[option] ?? ""
        guard let number = N(text), range.contains(number), !text.hasPrefix("+") else {
            throw .usage(
                "'\(option.spelling)' does not take \(quoted(text))",
                hint: "it takes \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A copy with `value` for an option.
    package func with(_ option: OptionDeclaration, _ value: String) -> ParsedValues {
        var values = self
        values.options[option.name] = value
        return values
    }

    /// Whether a flag was given.
    package func has(_ flag: OptionDeclaration) -> Bool { flags.contains(flag.name) }

    /// Whether an option was given a value.
    package func isGiven(_ option: OptionDeclaration) -> Bool { options[option.name] != nil }
}
