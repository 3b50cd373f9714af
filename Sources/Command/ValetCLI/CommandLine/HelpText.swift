// SPDX-License-Identifier: Apache-2.0

/// Writes help from declarations, 80 columns wide.
struct HelpText {
    static let columnCount = 80
    /// The column in which explanations start.
    private static let tab = 26

    private var lines: [String] = []

    static func text(for verb: CommandDeclaration) -> String {
        var help = HelpText()
        help.lines.append("valet \(verb.name) - \(verb.abstract)")
        help.section("Usage", verb.usages)
        help.paragraphs(verb.discussion)
        help.list("Arguments", verb.arguments.map { ($0.name, $0.help) })
        help.list("Options", verb.allOptions.map { ($0.synopsis, explanation(of: $0)) })
        help.list("JSON output", verb.schema.map { ($0.member, $0.help) })
        help.list("Exit codes", exitCodes(of: verb))
        help.examples(verb.examples)
        return help.finished
    }

    static func text(for group: GroupDeclaration, in table: VerbTable) -> String {
        var help = HelpText()
        help.lines.append("valet \(group.name) - \(group.abstract)")
        help.section("Usage", ["valet \(group.name) VERB [OPTIONS] [ARGUMENT]"])
        help.paragraphs(group.discussion)
        help.list("Verbs", table.entries(in: group.name))
        help.list("Options", [(OptionDeclaration.help.synopsis, OptionDeclaration.help.help)])
        help.examples(group.examples)
        help.lines += ["", "'valet help \(group.name) VERB' explains a verb."]
        return help.finished
    }

    static func text(for tool: ToolDeclaration, in table: VerbTable) -> String {
        var help = HelpText()
        help.lines.append("valet - \(tool.abstract)")
        help.section("Usage", ["valet VERB [OPTIONS] [KEY]"])
        help.paragraphs(tool.discussion)
        help.list("Verbs", table.entries(in: nil))
        let options: [OptionDeclaration] = [.help, .version]
        help.list("Options", options.map { ($0.synopsis, $0.help) })
        help.list("Environment", tool.environment.map { ($0.name, $0.help) })
        help.list("Exit codes", ExitCode.returned.map { (String($0.rawValue), $0.explanation) })
        help.examples(tool.examples)
        help.lines += ["", "'valet help VERB' explains a verb."]
        return help.finished
    }

    private var finished: String { lines.joined(separator: "\n") + "\n" }

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

    private mutating func section(_ title: String, _ body: [String]) {
        lines += ["", title.uppercased()]
        lines += body.map { "  " + $0 }
    }

    private mutating func paragraphs(_ paragraphs: [String]) {
        for paragraph in paragraphs {
            lines.append("")
            lines += Self.wrapped(paragraph, width: Self.columnCount)
        }
    }

    private mutating func list(_ title: String, _ entries: [(String, String)]) {
        guard !entries.isEmpty else { return }
        section(title, [])
        let width = min(Self.tab, (entries.map(\.0.count).max() ?? 0) + 4)
        for (name, help) in entries {
            let text = Self.wrapped(help, width: Self.columnCount - width)
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
            lines += Self.wrapped(help, width: Self.columnCount - 6).map { "      " + $0 }
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
