// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// A help page as a manual page: man(7) of groff and mandoc.
struct ManualPage {
    private var lines: [String]

    /// The file of the page about a verb or group: "valet-backup-create.1".
    static func fileName(_ name: String) -> String {
        (["valet"] + name.split(separator: " ").map(String.init)).joined(separator: "-") + ".1"
    }

    /// - Parameter related: The names of other pages.
    static func text(for page: HelpPage, related: [String]) -> String {
        let title = String(fileName(page.name).dropLast(2))
        var manual = ManualPage(lines: [
            ".\\\" SPDX-License-Identifier: Apache-2.0",
            ".TH \(escaped(title.uppercased())) 1 \"\" \"Valet \(Version.current)\" \"Valet\"",
            ".SH NAME", "\(escaped(title)) \\- \(escaped(page.abstract))", ".SH SYNOPSIS",
        ])
        for usage in page.usages { manual.lines += [".PP", "\\fB" + escaped(usage) + "\\fR"] }
        for section in page.sections {
            switch section {
            case .paragraphs(let paragraphs):
                guard !paragraphs.isEmpty else { continue }
                manual.lines.append(".SH DESCRIPTION")
                for paragraph in paragraphs { manual.lines += [".PP", line(paragraph)] }
            case .list(let title, let entries):
                guard !entries.isEmpty else { continue }
                let name = title == "Exit codes" ? "Exit status" : title
                manual.lines.append(".SH " + escaped(name.uppercased()))
                for (name, help) in entries {
                    manual.lines += [".TP", "\\fB" + escaped(name) + "\\fR", line(help)]
                }
            case .examples(let examples):
                guard !examples.isEmpty else { continue }
                manual.lines.append(".SH EXAMPLES")
                for (command, help) in examples {
                    manual.lines += [".TP", "\\fB" + escaped(command) + "\\fR", line(help)]
                }
            }
        }
        let names = related.map { "\\fB" + escaped(String(fileName($0).dropLast(2))) + "\\fR(1)" }
        if !names.isEmpty {
            manual.lines += [".SH SEE ALSO", names.joined(separator: ",\n")]
        }
        return manual.lines.joined(separator: "\n") + "\n"
    }

    /// A line of running text, which does not begin like a request.
    private static func line(_ text: String) -> String {
        let text = escaped(text)
        return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }

    /// Text without anything that groff acts on.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "`": result += "\\(ga"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case "…": result += "..."
            default: result.append(character)
            }
        }
        return result
    }
}
