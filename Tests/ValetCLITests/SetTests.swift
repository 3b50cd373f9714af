// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel

@testable import ValetCLI

@Suite struct `valet set` {
    private let bench = Bench()

    @Test func `stores the exact bytes of standard input`() {
        #expect(bench.run("set", "k", input: [0, 255, 10, 10]) == .success)
        #expect(bench.keychain.values == [[0, 255, 10, 10]])
    }

    @Test func `writes nothing`() {
        bench.run("set", "k", input: [1])
        #expect(bench.console.output.isEmpty && bench.console.notes.isEmpty)
    }

    @Test func `keeps the item where a valet looks for it`() {
        bench.run("set", "k", input: [1])
        #expect(
            bench.keychain.items == [
                NewItem(
                    .genericPassword,
                    attributes: [
                        .account: .text("k"),
                        .service: .text(
                            "VAL_VALValet_initWithIdentifier:accessibility:"
                                + "_default_AccessibleWhenUnlocked"),
                    ])
            ])
    }

    @Test func `keeps a group's item where the group's valet looks for it`() {
        bench.run("set", "k", "--group", "TEAM.com.example.shared", input: [1])
        let item = bench.keychain.items.first
        #expect(item?.accessGroup == AccessGroup("TEAM.com.example.shared"))
        #expect(
            item?.attributes[.service]
                == .text(
                    "VAL_VALValet_initWithSharedAccessGroupIdentifier:accessibility:"
                        + "_com.example.shared_AccessibleWhenUnlocked"))
    }

    @Test func `puts the identifier behind the group`() {
        bench.run("set", "k", "--group=group.shared", "--id=x", "--cloud", input: [1])
        let item = bench.keychain.items.first
        #expect(item?.isSynchronizable == true)
        #expect(
            item?.attributes[.service]
                == .text(
                    "VAL_VALSynchronizableValet_initWithSharedAccessGroupIdentifier:accessibility:"
                        + "_shared_x_AccessibleWhenUnlocked"))
    }

    @Test(arguments: ProtectionClass.offered)
    func `protects the item as it is told to`(_ accessibility: ProtectionClass) {
        bench.run("set", "k", "--accessibility", accessibility.word, input: [1])
        let item = bench.keychain.items.first
        #expect(item?.protectionClass == accessibility)
    }

    @Test func `acts for the application named`() {
        bench.run("set", "k", "--app=com.example.a", input: [1])
        #expect(bench.keychain.requesters == [Requester(application: "com.example.a")])
    }

    @Test func `says that a newline was stored with a line of text`() {
        bench.run("set", "k", input: Array("abc\n".utf8))
        #expect(bench.keychain.values == [Array("abc\n".utf8)])
        #expect(
            bench.console.notes == [
                "valet: hint: the newline at the end was stored, too: --trim-newline leaves it out"
            ])
    }

    @Test(arguments: ["abc", "a\nb\n", "\n", "a\0\n"])
    func `says nothing of newlines in anything else`(_ text: String) {
        bench.run("set", "k", input: Array(text.utf8))
        #expect(bench.console.notes.isEmpty)
    }

    @Test(arguments: [("abc\n", "abc"), ("abc\n\n", "abc\n"), ("abc", "abc")])
    func `leaves out one newline when told to`(_ input: String, _ stored: String) {
        bench.run("set", "k", "--trim-newline", input: Array(input.utf8))
        #expect(bench.keychain.values == [Array(stored.utf8)])
        #expect(bench.console.notes.isEmpty)
    }

    @Test(arguments: [[], ["--trim-newline"]])
    func `refuses an empty secret`(_ options: [String]) {
        bench.console.input = options.isEmpty ? [] : Array("\n".utf8)
        let code = options.isEmpty ? bench.run("set", "k") : bench.run("set", "k", options[0])
        #expect(code == .usage)
        #expect(
            bench.console.notes.first
                == "valet: error: the secret is empty, and Valet has no empty values")
        #expect(bench.keychain.items.isEmpty)
    }

    @Test func `refuses more than 16 MiB`() {
        let input = [UInt8](repeating: 7, count: SetCommand.maximumByteCount + 1)
        #expect(bench.run("set", "k", input: input) == .usage)
    }

    @Test func `adds what is absent when told to, and keeps what is there`() {
        #expect(bench.run("set", "k", "--if-absent", input: [1]) == .success)
        #expect(bench.run("set", "k", "--if-absent", input: [2]) == .alreadyThere)
        #expect(ExitCode.alreadyThere.rawValue == 73)
        #expect(bench.keychain.values == [[1]])
        #expect(
            bench.console.notes == [
                "valet: error: 'k' is in valet 'default' already, and stays as it is",
                "valet: hint: without '--if-absent' the new secret takes its place",
            ])
    }

    @Test func `replaces a secret where there is no terminal`() {
        bench.run("set", "k", input: [1])
        #expect(bench.run("set", "k", input: [2]) == .success)
        #expect(bench.keychain.values == [[2]])
    }

    @Test func `asks at a terminal before it replaces a secret`() {
        bench.run("set", "k", input: [1])
        bench.console.isInputTerminal = true
        #expect(bench.run("set", "k", input: [2]) == .denied)
        #expect(bench.console.questions == ["Replace 'k' in valet 'default'?"])
        #expect(bench.keychain.values == [[1]])
        bench.console.answer = true
        #expect(bench.run("set", "k", input: [2]) == .success)
        bench.console.questions = []
        #expect(bench.run("set", "k", "--yes", input: [3]) == .success)
        #expect(bench.console.questions == ["Secret for 'k'"])
        #expect(bench.keychain.values == [[3]])
    }

    @Test func `does not have a person type what it would not store`() {
        bench.run("set", "k", input: [1])
        bench.console.isInputTerminal = true
        #expect(bench.run("set", "k", "--if-absent", input: [2]) == .alreadyThere)
        #expect(bench.console.questions.isEmpty && bench.keychain.values == [[1]])
    }

    @Test func `asks for no secret where questions are off`() {
        bench.console.isInputTerminal = true
        bench.console.refusalToAsk = "questions are turned off"
        #expect(bench.run("set", "k", "--yes", input: [1]) == .usage)
        #expect(
            bench.console.notes == [
                "valet: error: the secret cannot be asked for: questions are turned off",
                "valet: hint: use standard input: 'valet set KEY < FILE'",
            ])
        #expect(bench.console.questions.isEmpty && bench.keychain.values.isEmpty)
    }

    @Test func `asks at a terminal`() {
        bench.console.isInputTerminal = true
        bench.run("set", "k\u{7}", input: [1])
        #expect(bench.console.questions == ["Secret for 'k\\u{7}'"])
    }

    @Test func `answers with an object when asked to`() {
        bench.run("set", "k", "--json", input: [1, 2])
        #expect(bench.console.outputText == "{\"name\":\"k\",\"byteCount\":2}\n")
    }

    @Test(arguments: [
        (["set", ""], "the key is empty"),
        (["set", "k", "--group=team"], "'--group' does not take 'team'"),
        (["set", "k", "--group=.team"], "'--group' does not take '.team'"),
        (["set", "k", "--accessibility=always"], "'--accessibility' does not take 'always'"),
        (
            ["set", "k", "--cloud", "--accessibility=when-unlocked-this-device-only"],
            "'--cloud' does not go with '--accessibility when-unlocked-this-device-only'"
        ),
    ])
    func `refuses what no valet can be`(_ words: [String], _ message: String) {
        let error = #expect(throws: CLIError.self) {
            guard case .run(_, let values) = try parser.parse(words) else { return }
            _ = try SetCommand(values)
        }
        #expect(error?.code == .usage && error?.message == message)
    }

    private let parser = CommandLineParser(verbs: ValetTool.declaration.table.verbs)
}
