// SPDX-License-Identifier: Apache-2.0

import Testing

@testable package import ValetCLI

/// Checks that the help of each verb and group fits into 80 columns, and that the parser takes the
/// commands of its examples.
package func checkHelp(of added: AddedVerbs) throws {
    let table = added.table
    for verb in table.verbs {
        let text = HelpText.text(for: HelpPage(verb))
        #expect(text.hasPrefix("valet \(verb.name) - "))
        check(text, of: verb.name)
        #expect(!verb.examples.isEmpty, "\(verb.name)")
        for example in verb.examples { try tryOut(example.command, in: table) }
    }
    for group in table.groups {
        check(HelpText.text(for: HelpPage(group, in: table)), of: group.name)
        #expect(!group.examples.isEmpty, "\(group.name)")
        for example in group.examples { try tryOut(example.command, in: table) }
    }
}

private func check(_ text: String, of name: String) {
    #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(name)")
}

private func tryOut(_ command: String, in table: VerbTable) throws {
    let words = command.split(separator: " ").map(String.init)
    let start = try #require(words.firstIndex { $0.hasSuffix("valet") })
    let stops: Set<String> = ["|", "||", "<", ">"]
    let end =
        words[start...].firstIndex { stops.contains($0) || $0.contains("<") } ?? words.endIndex
    let line = words[(start + 1)..<end].map { $0.filter { !")\"".contains($0) } }
    let own = line.prefix { $0 != "psql" || line.contains("--") }
    #expect(throws: Never.self, "\(command)") {
        try CommandLineParser(table).parse(Array(own))
    }
}
