// SPDX-License-Identifier: Apache-2.0

/// What help says about a verb, a group or the command, made from the declarations. ``HelpText``
/// and ``ManualPage`` show it.
struct HelpPage {
    enum Section {
        case paragraphs([String])
        case list(_ title: String, [(name: String, help: String)])
        case examples([(command: String, help: String)])
    }

    /// All words of the verb; empty for the command as a whole.
    let name: String
    let abstract: String
    let usages: [String]
    var sections: [Section]
    /// The last line of the text.
    var end: String?

    init(_ verb: CommandDeclaration) {
        (name, abstract, usages) = (verb.name, verb.abstract, verb.usages)
        sections = [
            .paragraphs(verb.discussion),
            .list("Arguments", verb.arguments.map { ($0.name, $0.help) }),
            .list("Options", verb.allOptions.map { ($0.synopsis, Self.explanation(of: $0)) }),
            .list("JSON output", verb.schema.map { ($0.member, $0.help) }),
            .list("Exit codes", Self.exitCodes(of: verb)),
            .examples(verb.examples),
        ]
    }

    init(_ group: GroupDeclaration, in table: VerbTable) {
        (name, abstract) = (group.name, group.abstract)
        usages = ["valet \(group.name) VERB [OPTIONS] [ARGUMENT]"]
        sections = [
            .paragraphs(group.discussion),
            .list("Verbs", Self.entries(of: table, in: group.name)),
            .list("Options", [(OptionDeclaration.help.synopsis, OptionDeclaration.help.help)]),
            .examples(group.examples),
        ]
        end = "'valet help \(group.name) VERB' explains a verb."
    }

    init(_ tool: ToolDeclaration, in table: VerbTable) {
        (name, abstract, usages) = ("", tool.abstract, ["valet VERB [OPTIONS] [KEY]"])
        let options: [OptionDeclaration] = [.help, .version]
        sections =
            [.paragraphs(tool.discussion)] + Self.lists(of: table, by: tool.topics) + [
                .list("Options", options.map { ($0.synopsis, $0.help) }),
                .list("Environment", tool.environment.map { ($0.name, $0.help) }),
                .list(
                    "Exit codes",
                    ExitCode.returned.map { (String($0.rawValue), $0.explanation) }),
                .examples(tool.examples),
            ]
        end = "'valet help VERB' explains a verb."
    }

    private static func entries(
        of table: VerbTable, in group: String?
    ) -> [(name: String, help: String)] {
        table.entries(in: group).map { ($0.name, $0.abstract) }
    }

    /// The verbs by topic; those of no topic come last.
    private static func lists(
        of table: VerbTable, by topics: [(title: String, verbs: [String])]
    ) -> [Section] {
        let entries = entries(of: table, in: nil)
        let known = Set(topics.flatMap(\.verbs))
        let lists = topics.map { topic in
            Section.list(
                topic.title, topic.verbs.compactMap { name in entries.first { $0.name == name } })
        }
        return lists + [.list("Other verbs", entries.filter { !known.contains($0.name) })]
    }

    private static func explanation(of option: OptionDeclaration) -> String {
        var text = option.help
        if !option.choices.isEmpty {
            text += ": " + option.choices.joined(separator: ", ")
        }
        return text + (option.defaultValue.map { " (default: \($0))" } ?? "")
    }

    private static func exitCodes(of verb: CommandDeclaration) -> [(String, String)] {
        let special = Dictionary(
            verb.exitCodes.map { ($0.code, $0.help) }, uniquingKeysWith: { first, _ in first })
        let usual = ExitCode.returned.filter { $0 != .notFound && $0 != .alreadyThere }
        return ExitCode.allCases.filter { usual.contains($0) || special[$0] != nil }
            .map { (String($0.rawValue), special[$0] ?? $0.explanation) }
    }
}

/// A help page as text.
struct HelpText {
    /// The width where there is no terminal.
    static let columnCount = 80
    /// Longer lines are hard to read.
    private static let widest = 100
    private static let narrowest = 40
    /// The column in which explanations start.
    private static let tab = 26

    private let columnCount: Int
    private var lines: [String] = []

    /// - Parameter width: The width of the terminal; nil if there is none.
    static func text(for page: HelpPage, width: Int? = nil) -> String {
        var help = HelpText(
            columnCount: min(max(width ?? columnCount, narrowest), widest))
        let title = page.name.isEmpty ? "valet" : "valet \(page.name)"
        help.lines.append("\(title) - \(page.abstract)")
        help.section("Usage", page.usages)
        for section in page.sections {
            switch section {
            case .paragraphs(let paragraphs): help.paragraphs(paragraphs)
            case .list(let title, let entries): help.list(title, entries)
            case .examples(let examples): help.examples(examples)
            }
        }
        if let end = page.end { help.lines += ["", end] }
        return help.lines.joined(separator: "\n") + "\n"
    }

    private init(columnCount: Int) {
        self.columnCount = columnCount
    }

    private mutating func section(_ title: String, _ body: [String]) {
        lines += ["", title.uppercased()]
        lines += body.map { "  " + $0 }
    }

    private mutating func paragraphs(_ paragraphs: [String]) {
        for paragraph in paragraphs {
            lines.append("")
            lines += Self.wrapped(paragraph, width: columnCount)
        }
    }

    private mutating func list(_ title: String, _ entries: [(name: String, help: String)]) {
        guard !entries.isEmpty else { return }
        section(title, [])
        let width = min(Self.tab, (entries.map(\.name.count).max() ?? 0) + 4)
        for (name, help) in entries {
            let text = Self.wrapped(help, width: columnCount - width)
            let start = "  " + name
            if start.count + 2 > width {
                lines.append(start)
            } else {
                lines.append(start.padded(to: width) + (text.first ?? ""))
            }
            let rest = start.count + 2 > width ? text[...] : text.dropFirst()
            lines += rest.map { String(repeating: " ", count: width) + $0 }
        }
    }

    private mutating func examples(_ examples: [(command: String, help: String)]) {
        guard !examples.isEmpty else { return }
        section("Examples", [])
        for (command, help) in examples {
            lines.append("  " + command)
            lines += Self.wrapped(help, width: columnCount - 6).map { "      " + $0 }
        }
    }

    private static func wrapped(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(whereSeparator: \.isWhitespace) {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return line.isEmpty ? lines : lines + [line]
    }
}
