// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetCommandTestSupport

@testable import ValetCLI

@Suite struct `Help` {
    private static let table = ValetTool.table(adding: .none)

    private static let open = CommandDeclaration(
        name: "open", abstract: "open a door",
        discussion: [
            "Opens the door that is named, unless it is locked, in which case it says so."
        ],
        arguments: [ArgumentDeclaration(name: "DOOR", help: "which door", isRequired: false)],
        options: [
            OptionDeclaration(
                name: "speed", valueName: "SPEED", help: "how fast", defaultValue: "slow",
                choices: ["slow", "fast"]),
            OptionDeclaration(
                name: "with-a-long-name", letter: "w", valueName: "AND-VALUE", help: "much"),
        ],
        schema: [("isOpen", "true or false")],
        exitCodes: [(.notFound, "there is no such door")],
        examples: [("valet open front", "Lets the guests in.")])

    private static let page = """
        valet open - open a door

        USAGE
          valet open [OPTIONS] [DOOR]

        Opens the door that is named, unless it is locked, in which case it says so.

        ARGUMENTS
          DOOR  which door

        OPTIONS
          --speed SPEED           how fast: slow, fast (default: slow)
          -w, --with-a-long-name AND-VALUE
                                  much
          -n, --no-questions      fail where a question would be asked
          -h, --help              show this help

        JSON OUTPUT
          isOpen  true or false

        EXIT CODES
          0   success
          1   failure; see the message on standard error
          44  there is no such door
          64  wrong usage, a wrong value, or nobody can be asked
          65  stored data is damaged or was tampered with
          75  the keychain is locked or busy: try again later
          77  access to a group or file is denied, a passcode or passphrase is wrong, or
              you declined

        EXAMPLES
          valet open front
              Lets the guests in.

        """

    @Test func `The help of a verb reads like a manual page`() {
        #expect(HelpText.text(for: HelpPage(Self.open)) == Self.page)
    }

    @Test func `The help of every verb and group fits, and its examples can be parsed`() throws {
        let all = AddedVerbs(Self.table.verbs, groups: Self.table.groups) { (_, _, _) in .success }
        try checkHelp(of: all)
    }

    @Test func `The help of the command names every verb and every exit code`() {
        let bench = Bench()
        #expect(bench.run("--help") == .success)
        for word in Self.table.words(in: nil) {
            #expect(bench.console.outputText.contains("\n  \(word) "))
        }
        for code in ExitCode.returned {
            #expect(bench.console.outputText.contains("\n  \(code.rawValue) "))
        }
    }

    @Test func `The command alone shows where to begin, and makes no keychain`() {
        let bench = Bench()
        #expect(bench.run([]) == .success)
        let page = bench.console.outputText
        #expect(page.contains("There is no keychain yet"))
        #expect(page.split(separator: "\n", omittingEmptySubsequences: false).count <= 18)
        for verb in ["set", "get", "list", "run", "remove"] {
            #expect(page.contains("\n  valet \(verb) "))
        }
        bench.add("key")
        #expect(bench.run([]) == .success)
        #expect(bench.console.outputText.contains("and has no passcode"))
    }

    @Test func `Every verb has one topic`() {
        let topics = ValetTool.declaration.topics.flatMap(\.verbs)
        #expect(Set(topics).count == topics.count)
        let others = Self.table.words(in: nil).filter { !topics.contains($0) }
        #expect(others.isEmpty)
    }

    @Test(arguments: [72, 80, 100, 300])
    func `Help is as wide as the terminal, up to 100 columns`(_ width: Int) {
        let text = HelpText.text(for: HelpPage(GetCommand.declaration), width: width)
        let widest = text.split(separator: "\n").map(\.count).max() ?? 0
        #expect(widest <= min(width, 100))
        #expect(widest > min(width, 100) - 12)
    }

    @Test func `Words of other tools lead to verbs that exist`() {
        let words = Set(Self.table.words(in: nil) + ["export", "git-credential"])
        let texts = VerbAdvice.advice.values + VerbAdvice.options.values.flatMap(\.values)
        for text in texts {
            let named = text.components(separatedBy: "'valet ").dropFirst()
                .compactMap { $0.split { !$0.isLetter && $0 != "-" }.first.map(String.init) }
            #expect(Set(named).isSubset(of: words), "\(text)")
        }
        for word in VerbAdvice.advice.keys { #expect(!words.contains(word), "\(word)") }
        #expect(Set(VerbAdvice.options.keys).isSubset(of: words))
        let bench = Bench()
        for (line, hint) in [
            (["find-generic-password", "-s", "x", "-w"], "valet get ACCOUNT --service NAME"),
            (["rm", "-rf", "x"], "'valet remove --matching"),
            (["show", "-o", "x"], "'valet get KEY' writes the value"),
            (["read", "op://vault/item/field"], "valet://APP/ID/KEY"), (["-v"], "'--version'"),
            (["exec", "work", "--", "env"], "'run'"), (["tree"], "'valet list --tree'"),
            (["-c", "key"], "'valet copy KEY'"), (["ls", "--flat"], "'--names'"),
            (["generate", "key", "--generator", "xkcd"], "'--words N'"),
            (["fscopy", "a", "b"], "valet set KEY < FILE"), (["save", "x"], "'set'"),
            (["write", "x"], "'set'"), (["GET", "x"], "'get'"), (["fetch", "x"], "'get'"),
            (["view", "x"], "'get'"), (["reveal", "x"], "'get'"), (["unset", "x"], "'remove'"),
            (["erase", "x"], "'remove'"), (["undelete", "x"], "'undo'"),
            (["dump"], "'valet export'"), (["logout"], "'valet lock'"),
            (["secrets"], "'valet list'"),
            (["field", "x"], "--field NAME"), (["share", "x"], "'valet sync'"),
            (["Vault"], "'valet status'"), (["LOGIN"], "'valet unlock'"),
        ] {
            #expect(bench.run(line) == .usage)
            #expect(bench.console.notes.last?.contains(hint) == true, "\(line)")
        }
    }

    @Test func `Errors are JSON with --json, with the code and the hint`() {
        let bench = Bench()
        #expect(bench.run("get", "key", "--json") == .notFound)
        let error = bench.console.notes.joined()
        #expect(error.hasPrefix("{\"error\":{\"code\":\"notFound\",\"exitCode\":44,"))
        #expect(error.contains("\"hint\":\"'valet list' shows"))
        // What follows is a name.
        #expect(bench.run("get", "--", "--json") == .notFound)
        #expect(bench.console.notes.first?.hasPrefix("valet: error: ") == true)
        // This word belongs to another program.
        #expect(bench.run("run", "jq", "--json") != .success)
        #expect(bench.console.notes.first?.hasPrefix("valet: error: ") == true)
    }

    private static let doors = VerbTable(
        verbs: [open, CommandDeclaration(name: "window open", abstract: "open a window")],
        groups: [
            GroupDeclaration(
                name: "window", abstract: "let air in", discussion: ["There are many."],
                examples: [("valet window open", "Opens one.")])
        ])

    private static let groupPage = """
        valet window - let air in

        USAGE
          valet window VERB [OPTIONS] [ARGUMENT]

        There are many.

        VERBS
          open  open a window

        OPTIONS
          -h, --help  show this help

        EXAMPLES
          valet window open
              Opens one.

        'valet help window VERB' explains a verb.

        """

    @Test func `The help of a group shows its verbs`() throws {
        let group = try #require(Self.doors.groups.first)
        #expect(HelpText.text(for: HelpPage(group, in: Self.doors)) == Self.groupPage)
    }

    @Test func `The help of the command shows a group once`() {
        let tool = ToolDeclaration(
            abstract: "", discussion: [], topics: [], environment: [], examples: [])
        let lines = HelpText.text(for: HelpPage(tool, in: Self.doors)).split(separator: "\n").filter
        {
            $0.hasPrefix("  open") || $0.hasPrefix("  window")
        }
        #expect(lines == ["  open    open a door", "  window  let air in"])
    }

    @Test(arguments: [
        (["ls", "--help"], "valet ls [OPTIONS] [PATTERN]"),
        (["help", "rm"], "valet rm [OPTIONS] [KEY …]"),
        (["cat", "-h"], "valet cat [OPTIONS] KEY"),
        (["backup", "ls", "--help"], "valet backup ls [OPTIONS] FILE"),
    ])
    func `The help of a verb shows its other names`(_ words: [String], _ usage: String) {
        let bench = Bench()
        #expect(bench.run(words) == .success)
        #expect(bench.console.outputText.contains("\n  \(usage)\n"))
    }

    @Test func `Help is written to standard output`() {
        let bench = Bench()
        bench.run("help", "get")
        #expect(bench.console.notes.isEmpty)
    }
}
