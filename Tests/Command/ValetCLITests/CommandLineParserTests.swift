// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ValetCLI

@Suite struct `Reading a command line` {
    private static let number = OptionDeclaration(
        name: "number", valueName: "N", help: "a number", choices: ["one", "three"])
    private static let text = OptionDeclaration(name: "text", valueName: "TEXT", help: "a text")
    private static let loud = OptionDeclaration(name: "loud", letter: "l", help: "shout")
    private static let bare = OptionDeclaration(name: "bare", letter: "b", help: "less")
    private static let thing = ArgumentDeclaration(name: "THING", help: "what to show")

    private let parser = CommandLineParser(verbs: [
        CommandDeclaration(
            name: "show", abstract: "show a thing", arguments: [thing],
            options: [number, text, loud, bare]),
        CommandDeclaration(name: "quit", abstract: "quit"),
    ])

    private func values(_ words: String...) throws -> ParsedValues {
        guard case .run(_, let values) = try parser.parse(words) else { return ParsedValues() }
        return values
    }

    private func error(_ words: String?...) -> CLIError? {
        #expect(throws: CLIError.self) { try parser.parse(words) }
    }

    @Test func `The parser assigns words without names to the arguments`() throws {
        #expect(try values("show", "it")[Self.thing] == "it")
    }

    @Test(arguments: [["--text", "x"], ["--text=x"]])
    func `The parser reads a value after a space or an equals sign`(_ words: [String]) throws {
        let parsed = try parser.parse(["show", "it"] + words)
        #expect(
            parsed
                == .run(
                    verb: "show",
                    ParsedValues(arguments: ["THING": "it"], options: ["text": "x"])))
    }

    @Test func `The parser reads options before arguments`() throws {
        #expect(try values("show", "--loud", "it")[Self.thing] == "it")
    }

    @Test func `The parser keeps equals signs inside a value`() throws {
        #expect(try values("show", "it", "--text=a=b")[Self.text] == "a=b")
    }

    @Test func `The parser reads a value that starts with a hyphen after an equals sign`() throws {
        #expect(try values("show", "it", "--text=-x")[Self.text] == "-x")
    }

    @Test func `The parser reads several flag letters together`() throws {
        #expect(try values("show", "it", "-lb").flags == ["loud", "bare"])
    }

    @Test func `The parser ends the options at two hyphens`() throws {
        #expect(try values("show", "--", "--loud")[Self.thing] == "--loud")
    }

    @Test func `The parser reads one hyphen as an argument`() throws {
        #expect(try values("show", "-")[Self.thing] == "-")
    }

    @Test(arguments: [["-h"], ["--help"], ["help"], ["help", "--help"], ["help", "help"]])
    func `The parser finds the request for help`(_ words: [String]) throws {
        #expect(try parser.parse(words) == .help(verb: nil))
    }

    @Test(arguments: [
        ["show", "-h"], ["show", "--loud", "--help", "--nonsense"], ["help", "show"],
    ])
    func `The parser finds the request for the help of a verb`(_ words: [String]) throws {
        #expect(try parser.parse(words) == .help(verb: "show"))
    }

    @Test func `The parser finds the request for the version`() throws {
        #expect(try parser.parse(["--version"]) == .version)
    }

    private struct Case: CustomTestStringConvertible, Sendable {
        let words: [String?]
        let message: String
        let hint: String?
        var testDescription: String { words.map { $0 ?? "?" }.joined(separator: " ") }
        init(_ words: [String?], _ message: String, _ hint: String?) {
            (self.words, self.message, self.hint) = (words, message, hint)
        }
    }

    private static let usage = "usage: valet show [OPTIONS] THING"

    @Test(arguments: [
        Case([], "expected a verb: show, quit", "'valet --help' explains them"),
        Case(["shwo"], "unknown verb 'shwo'", "did you mean 'show'?"),
        Case(["zzz"], "unknown verb 'zzz'", "'valet --help' lists the verbs"),
        Case(["help", "shw"], "unknown verb 'shw'", "did you mean 'show'?"),
        Case(["help", "show", "x"], "unexpected argument 'x'", nil),
        Case(["--text", "x"], "option '--text' before the verb", "put it after the verb"),
        Case(["--verison"], "unknown option '--verison'", "did you mean '--version'?"),
        Case(["--zz"], "unknown option '--zz'", "'valet --help' lists the verbs"),
        Case(["--version", "x"], "unexpected argument 'x'", nil),
        Case(["show"], "expected THING, what to show", usage),
        Case(["show", "a", "b"], "unexpected argument 'b'", usage),
        Case(["show", "a", "--txt=1"], "unknown option '--txt'", "did you mean '--text'?"),
        Case(
            ["show", "-x"], "unknown option '-x'",
            "'valet show --help' lists the options; put '--' before a THING that starts with "
                + "a hyphen"),
        Case(
            ["quit", "-x"], "unknown option '-x'", "'valet quit --help' lists the options"),
        Case(["show", "a", "--text"], "'--text' needs a value", "write '--text=TEXT'"),
        Case(["show", "a", "--text", "--loud"], "'--text' needs a value", "write '--text=TEXT'"),
        Case(["show", "a", "--text="], "the value of '--text' is empty", nil),
        Case(["show", "a", "--text=1", "--text=2"], "'--text' is given twice", nil),
        Case(["show", "a", "--loud=yes"], "'--loud' takes no value", nil),
        Case(
            ["show", "a", "--number=tree"], "'--number' does not take 'tree'",
            "did you mean 'three'?"),
        Case(
            ["show", "a", "--number=9999"], "'--number' does not take '9999'",
            "it takes one, three"),
        Case(["show", nil], "argument 2 is not UTF-8", nil),
        Case(["a\u{1B}[2J"], "unknown verb 'a\\u{1b}[2J'", "'valet --help' lists the verbs"),
    ])
    private func `The parser says what is wrong, and what helps`(_ wrong: Case) {
        let error = #expect(throws: CLIError.self) { try parser.parse(wrong.words) }
        #expect(error == .usage(wrong.message, hint: wrong.hint))
    }
}

@Suite struct `Reading a verb of two words` {
    private static let key = ArgumentDeclaration(name: "KEY", help: "which key")

    private let parser = CommandLineParser(
        verbs: [
            CommandDeclaration(name: "show", abstract: "show a thing"),
            CommandDeclaration(name: "key turn", abstract: "turn it", arguments: [key]),
            CommandDeclaration(
                name: "key hide", abstract: "hide it",
                options: [OptionDeclaration(name: "deep", help: "well")]),
            CommandDeclaration(name: "key ring add", abstract: "add one"),
        ],
        groups: [
            GroupDeclaration(name: "key", abstract: "what keys do"),
            GroupDeclaration(name: "key ring", abstract: "many of them"),
        ])

    @Test(arguments: [
        (["key", "hide"], "key hide"), (["key", "ring", "add"], "key ring add"),
    ])
    func `The parser finds a verb of two words`(_ words: [String], _ verb: String) throws {
        #expect(try parser.parse(words) == .run(verb: verb, ParsedValues()))
    }

    @Test func `The parser gives the words after a verb of two words to it`() throws {
        let expected = ParsedValues(arguments: ["KEY": "ring"])
        #expect(try parser.parse(["key", "turn", "ring"]) == .run(verb: "key turn", expected))
    }

    @Test(arguments: [
        (["key", "--help"], "key"), (["key", "-h"], "key"), (["help", "key"], "key"),
        (["key", "help"], "key"), (["key", "ring", "--help"], "key ring"),
        (["help", "key", "ring"], "key ring"), (["key", "turn", "--help"], "key turn"),
        (["help", "key", "turn"], "key turn"), (["key", "help", "turn"], "key turn"),
        (["help", "key", "ring", "add"], "key ring add"),
    ])
    func `The parser finds the request for help in groups`(_ words: [String], _ about: String)
        throws
    {
        #expect(try parser.parse(words) == .help(verb: about))
    }

    @Test(
        arguments: [
            ([], "expected a verb: show, key", "'valet --help' explains them"),
            (
                ["key"], "expected a verb of 'key': turn, hide, ring",
                "'valet key --help' explains them"
            ),
            (
                ["key", "ring"], "expected a verb of 'key ring': add",
                "'valet key ring --help' explains them"
            ),
            (["key", "tunr"], "unknown verb 'key tunr'", "did you mean 'key turn'?"),
            (["key", "zzz"], "unknown verb 'key zzz'", "'valet key --help' lists the verbs"),
            (["key turn"], "unknown verb 'key turn'", "did you mean 'key turn'?"),
            (["hide"], "unknown verb 'hide'", "did you mean 'key hide'?"),
            (["help", "key", "trun"], "unknown verb 'key trun'", "did you mean 'key turn'?"),
            (["help", "key", "turn", "x"], "unexpected argument 'x'", nil),
            (
                ["key", "--deep", "hide"], "option '--deep' before the verb",
                "put it after the verb"
            ),
            (
                ["key", "--version"], "unknown option '--version'",
                "'valet key --help' lists the verbs"
            ),
            (["key", "turn"], "expected KEY, which key", "usage: valet key turn [OPTIONS] KEY"),
            (
                ["key", "hide", "-x"], "unknown option '-x'",
                "'valet key hide --help' lists the options"
            ),
        ] as [([String], String, String?)])
    func `The parser says what is wrong in a group, and what helps`(
        _ words: [String], _ message: String, _ hint: String?
    ) {
        let error = #expect(throws: CLIError.self) { try parser.parse(words) }
        #expect(error == .usage(message, hint: hint))
    }
}

@Suite struct `Suggesting a word` {
    @Test(arguments: [
        ("sett", "set"), ("ste", "set"), ("rem", "remove"), ("GET", nil), ("rename", nil),
        ("move", nil), ("remoev", "remove"), ("pasword", nil),
    ])
    func `A suggestion is the nearest word`(_ word: String, _ expected: String?) {
        #expect(Suggestion.nearest(to: word, among: ["set", "get", "remove"]) == expected)
    }

    @Test(arguments: [
        ("", "abc", 3), ("abc", "abc", 0), ("abcd", "acbd", 1), ("kitten", "sitting", 3),
    ])
    func `A suggestion counts edits`(_ first: String, _ second: String, _ distance: Int) {
        #expect(Suggestion.distance(Array(first), Array(second)) == distance)
    }

    @Test func `A suggestion for a long word takes no time`() {
        let word = String(repeating: "a", count: 1 << 20)
        #expect(Suggestion.nearest(to: word, among: ["set"]) == nil)
    }
}
