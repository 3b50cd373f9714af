// SPDX-License-Identifier: Apache-2.0

/// What a verb takes and does: everything that parsing and `--help` need.
struct CommandDeclaration: Sendable {
    /// All words that lead to it, as `backup create`.
    let name: String
    /// One line, lower case, no full stop.
    let abstract: String
    /// Last words of its name with other commands: they are no verbs here, and lead to a hint.
    var synonyms: [String] = []
    /// Paragraphs.
    var discussion: [String] = []
    var arguments: [ArgumentDeclaration] = []
    var options: [OptionDeclaration] = []
    /// The hint for a surplus argument, which is not shown then: it may be a secret.
    var surplusHint: String?
    /// The object that `--json` writes, a line for each member; nothing for verbs without it.
    var schema: [(member: String, help: String)] = []
    /// The exit codes besides those that every verb has, with what they mean here.
    var exitCodes: [(code: ExitCode, help: String)] = []
    var examples: [(command: String, help: String)] = []

    /// The line after "usage".
    var usage: String {
        let arguments = arguments.map { $0.isRequired ? $0.name : "[\($0.name)]" }
        return (["valet", name, "[OPTIONS]"] + arguments).joined(separator: " ")
    }

    /// The options with the one that every verb has.
    var allOptions: [OptionDeclaration] { options + [.help] }
}

/// One value that stands without a name.
struct ArgumentDeclaration: Hashable, Sendable {
    /// In capitals, as the usage line shows it.
    let name: String
    let help: String
    var isRequired = true
    /// The option that gives the value in another way.
    var alternative: OptionDeclaration?
}

/// One value or flag that stands behind a name.
struct OptionDeclaration: Hashable, Sendable {
    /// Without the hyphens.
    let name: String
    var letter: Character?
    /// What the value is called; nil for flags.
    var valueName: String?
    let help: String
    var defaultValue: String?
    /// The only values there are; empty when any is taken.
    var choices: [String] = []
    /// Verbs of other commands that do the same: they lead to a hint.
    var synonyms: [String] = []

    static let help = OptionDeclaration(name: "help", letter: "h", help: "show this help")
    static let version = OptionDeclaration(
        name: "version", help: "show the version", synonyms: ["version"])

    /// How the option is written, without its value.
    var spelling: String { "--" + name }

    /// How the list of options shows it.
    var synopsis: String {
        let short = letter.map { "-\($0), " } ?? ""
        return short + spelling + (valueName.map { " " + $0 } ?? "")
    }
}
