// SPDX-License-Identifier: Apache-2.0

// The declarations of verbs, groups and the whole command. The parser reads command lines by them,
// and `HelpText` writes the help from them.

/// A verb, with everything that parsing and `--help` need.
package struct CommandDeclaration: Sendable {
    /// The full name of the verb, such as `backup create`.
    package let name: String
    /// One line, lower case, no full stop.
    let abstract: String
    /// Alternatives for the last word of the verb's name.
    var aliases: [String] = []
    /// The verb's last word in other tools. It is no verb here, but leads to a hint.
    var synonyms: [String] = []
    /// Paragraphs.
    var discussion: [String] = []
    var arguments: [ArgumentDeclaration] = []
    var options: [OptionDeclaration] = []
    /// Whether everything from the first argument on belongs to a program that the verb starts.
    var takesProgram = false
    /// The hint for a surplus argument. The argument itself may be a secret, and is not shown then.
    var surplusHint: String?
    /// The members of the object that `--json` writes; empty for verbs without `--json`.
    var schema: [(member: String, help: String)] = []
    /// The exit codes with a meaning of their own for this verb.
    var exitCodes: [(code: ExitCode, help: String)] = []
    var examples: [(command: String, help: String)] = []

    package init(
        name: String, abstract: String, aliases: [String] = [], synonyms: [String] = [],
        discussion: [String] = [], arguments: [ArgumentDeclaration] = [],
        options: [OptionDeclaration] = [], takesProgram: Bool = false, surplusHint: String? = nil,
        schema: [(member: String, help: String)] = [],
        exitCodes: [(code: ExitCode, help: String)] = [],
        examples: [(command: String, help: String)] = []
    ) {
        (self.name, self.abstract, self.aliases) = (name, abstract, aliases)
        (self.synonyms, self.discussion, self.arguments) = (synonyms, discussion, arguments)
        (self.options, self.takesProgram) = (options, takesProgram)
        (self.surplusHint, self.schema) = (surplusHint, schema)
        (self.exitCodes, self.examples) = (exitCodes, examples)
    }

    /// The line after "usage".
    var usage: String { usage(of: name) }

    /// The usage line for the verb's name and for each alias.
    var usages: [String] {
        let group = name.split(separator: " ").dropLast().map(String.init)
        return [usage] + aliases.map { usage(of: (group + [$0]).joined(separator: " ")) }
    }

    private func usage(of name: String) -> String {
        let arguments = arguments.map { argument in
            let name = argument.name + (argument.isRepeatable ? " …" : "")
            return argument.isRequired ? name : "[\(name)]"
        }
        let rest = takesProgram ? ["[ARGUMENT …]"] : []
        return (["valet", name, "[OPTIONS]"] + arguments + rest).joined(separator: " ")
    }

    /// The options, and those that every verb has.
    var allOptions: [OptionDeclaration] {
        // `backup restore` uses `-n` for '--dry-run'.
        let isTaken = options.contains { $0.letter == OptionDeclaration.noQuestions.letter }
        var noQuestions = OptionDeclaration.noQuestions
        if isTaken { noQuestions.letter = nil }
        return options + [noQuestions, .help]
    }
}

/// A value without a name.
package struct ArgumentDeclaration: Hashable, Sendable {
    /// In capitals, as the usage line shows it.
    let name: String
    let help: String
    var isRequired = true
    /// Whether it may be given several times: ``ParsedValues/list(_:)``.
    var isRepeatable = false
    /// The option that gives the value in another way.
    var alternative: OptionDeclaration?
    /// Options with which the value may be missing.
    var dispensers: [OptionDeclaration] = []

    package init(
        name: String, help: String, isRequired: Bool = true, isRepeatable: Bool = false,
        alternative: OptionDeclaration? = nil, dispensers: [OptionDeclaration] = []
    ) {
        (self.name, self.help, self.isRequired) = (name, help, isRequired)
        self.isRepeatable = isRepeatable
        (self.alternative, self.dispensers) = (alternative, dispensers)
    }
}

/// A flag, or a value with a name.
package struct OptionDeclaration: Hashable, Sendable {
    /// Without the hyphens.
    let name: String
    var letter: Character?
    /// The name of the value in help; nil for flags.
    var valueName: String?
    let help: String
    /// The value if the option is not given.
    package var defaultValue: String?
    /// The values that are accepted; empty if every value is.
    package var choices: [String] = []
    /// Whether it also takes other values than ``choices``.
    package var takesOthers = false
    /// Whether it may be given several times: ``ParsedValues/list(_:)``.
    var isRepeatable = false
    /// Verbs of other tools that do the same. They lead to a hint.
    var synonyms: [String] = []

    package init(
        name: String, letter: Character? = nil, valueName: String? = nil, help: String,
        defaultValue: String? = nil, choices: [String] = [], isRepeatable: Bool = false,
        synonyms: [String] = []
    ) {
        (self.name, self.letter, self.valueName, self.help) = (name, letter, valueName, help)
        (self.defaultValue, self.choices) = (defaultValue, choices)
        (self.isRepeatable, self.synonyms) = (isRepeatable, synonyms)
    }

    static let help = OptionDeclaration(name: "help", letter: "h", help: "show this help")
    static let noQuestions = OptionDeclaration(
        name: "no-questions", letter: "n", help: "fail where a question would be asked")
    static let version = OptionDeclaration(
        name: "version", help: "show the version", synonyms: ["version"])

    /// The option on a command line, without its value.
    package var spelling: String { "--" + name }

    /// The option in the list of options.
    var synopsis: String {
        let short = letter.map { "-\($0), " } ?? ""
        return short + spelling + (valueName.map { " " + $0 } ?? "")
    }
}

/// A group of verbs, with everything that its `--help` needs besides them.
package struct GroupDeclaration: Sendable {
    /// The first words of the names of its verbs, such as `backup`.
    let name: String
    /// One line, lower case, no full stop.
    let abstract: String
    /// Paragraphs.
    var discussion: [String] = []
    var examples: [(command: String, help: String)] = []
    /// The last word of the verb that the group's name alone stands for.
    var defaultVerb: String?

    package init(
        name: String, abstract: String, discussion: [String] = [],
        examples: [(command: String, help: String)] = [], defaultVerb: String? = nil
    ) {
        (self.name, self.abstract, self.discussion) = (name, abstract, discussion)
        (self.examples, self.defaultVerb) = (examples, defaultVerb)
    }
}

/// The verbs that a program adds to those of this module: their declarations, and how to run them.
package struct AddedVerbs: Sendable {
    /// Makes ``table``.
    private let declare: @Sendable () -> VerbTable
    /// Carries out the verb with that name.
    let run: Runner

    /// Carries out the verb with that name.
    package typealias Runner =
        @Sendable (_ name: String, ParsedValues, Context) throws(CLIError) -> ExitCode

    package init(
        _ verbs: @autoclosure @escaping @Sendable () -> [CommandDeclaration],
        groups: @autoclosure @escaping @Sendable () -> [GroupDeclaration], run: @escaping Runner
    ) {
        declare = { VerbTable(verbs: verbs(), groups: groups()) }
        self.run = run
    }

    /// The table of these verbs alone. It is made when asked for: the frequent verbs do not need
    /// it.
    var table: VerbTable { declare() }

    /// These verbs and one more.
    package func adding(
        _ declaration: @autoclosure @escaping @Sendable () -> CommandDeclaration,
        _ name: String,
        _ run: @escaping @Sendable (ParsedValues, Context) throws(CLIError) -> ExitCode
    ) -> AddedVerbs {
        let (declare, others) = (declare, self.run)
        return AddedVerbs(
            declare().verbs + [declaration()], groups: declare().groups
        ) { (verb, values, context) throws(CLIError) in
            try verb == name ? run(values, context) : others(verb, values, context)
        }
    }

    static let none = AddedVerbs([], groups: []) { (_, _, _) in .failure }
}

/// The whole command, with everything that its `--help` needs.
struct ToolDeclaration: Sendable {
    let abstract: String
    /// Paragraphs.
    let discussion: [String]
    /// The verbs and groups by what they are for, in the order of help.
    let topics: [(title: String, verbs: [String])]
    let environment: [(name: String, help: String)]
    let examples: [(command: String, help: String)]
}

/// The verbs of a command, and the groups that some of them are in.
///
/// A verb's name has all its words, `backup create`. A group's name is the start of it, `backup`.
struct VerbTable: Sendable {
    let verbs: [CommandDeclaration]
    let groups: [GroupDeclaration]

    /// The meaning of a name.
    enum Entry: Sendable {
        case verb(CommandDeclaration)
        case group(GroupDeclaration)

        var abstract: String {
            switch self {
            case .verb(let verb): verb.abstract
            case .group(let group): group.abstract
            }
        }
    }

    /// The verb or group with that full name.
    subscript(name: String) -> Entry? {
        if let verb = verbs.first(where: { $0.name == name }) { return .verb(verb) }
        return groups.first { $0.name == name }.map { .group($0) }
    }

    /// The verb of a group, or without one, that has `word` as another name.
    func verb(calledAlso word: String, in group: String?) -> CommandDeclaration? {
        let count = group.map { $0.split(separator: " ").count } ?? 0
        return below(group).first {
            $0.aliases.contains(word) && $0.name.split(separator: " ").count == count + 1
        }
    }

    /// The words that may follow a group's name, in the order of the verbs. For nil, the first
    /// words of all verbs and groups.
    func words(in group: String?) -> [String] {
        var words: [String] = []
        for verb in below(group) {
            let rest = verb.name.dropFirst(group.map { $0.count + 1 } ?? 0)
            let word = String(rest.prefix { $0 != " " })
            if !words.contains(word) { words.append(word) }
        }
        return words
    }

    /// The words that may follow a group's name, each with its abstract.
    func entries(in group: String?) -> [(name: String, abstract: String)] {
        words(in: group).map { ($0, self[Self.name($0, in: group)]?.abstract ?? "") }
    }

    /// The verbs in a group and in its subgroups.
    func below(_ group: String?) -> [CommandDeclaration] {
        guard let group else { return verbs }
        return verbs.filter { $0.name.hasPrefix(group + " ") }
    }

    /// The full name of `word` in a group.
    static func name(_ word: String, in group: String?) -> String {
        group.map { $0 + " " + word } ?? word
    }
}
