// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainStore

@testable import ValetCLI

@Suite struct `valet set` {
    private let bench = Bench()

    @Test func `valet set stores the exact bytes of standard input`() {
        #expect(bench.run("set", "k", input: [0, 255, 10, 10]) == .success)
        #expect(bench.values == [[0, 255, 10, 10]])
    }

    @Test func `valet set writes nothing to standard output`() {
        bench.run("set", "k", input: [1])
        #expect(bench.console.output.isEmpty && bench.console.notes.isEmpty)
    }

    @Test func `valet set stores the item where a valet finds it`() {
        bench.run("set", "k", input: [1])
        #expect(bench.items.map(\.itemClass) == [.genericPassword])
        let attributes = bench.items.first?.attributes
        #expect(attributes?[.account] == .text("k"))
        #expect(
            attributes?[.service]
                == .text(
                    "VAL_VALValet_initWithIdentifier:accessibility:_default_AccessibleWhenUnlocked")
        )
    }

    @Test func `valet set stores a group's item where the group's valet finds it`() {
        bench.run("set", "k", "--group", "TEAM.com.example.shared", input: [1])
        let item = bench.items.first
        #expect(item?.accessGroup == AccessGroup("TEAM.com.example.shared"))
        #expect(
            item?.attributes[.service]
                == .text(
                    "VAL_VALValet_initWithSharedAccessGroupIdentifier:accessibility:"
                        + "_com.example.shared_AccessibleWhenUnlocked"))
    }

    @Test func `valet set puts the identifier after the group in the service name`() {
        bench.run("set", "k", "--group=group.shared", "--id=x", "--cloud", input: [1])
        let item = bench.items.first
        #expect(item?.isSynchronizable == true)
        #expect(
            item?.attributes[.service]
                == .text(
                    "VAL_VALSynchronizableValet_initWithSharedAccessGroupIdentifier:accessibility:"
                        + "_shared_x_AccessibleWhenUnlocked"))
    }

    @Test(arguments: ProtectionClass.offered)
    func `valet set stores the item with the given accessibility`(_ accessibility: ProtectionClass)
        throws
    {
        let bench = try Bench.withPasscode()
        bench.run("set", "k", "--accessibility", accessibility.word, input: [1])
        #expect(bench.items.first { $0.name == "k" }?.protectionClass == accessibility)
    }

    @Test(arguments: [190 << 10, 192 << 10])
    func `valet set reports a secret that is too large to be sent to other devices`(
        _ byteCount: Int
    ) {
        let input = [UInt8](repeating: 1, count: byteCount)
        bench.run("set", "k", "--cloud", input: input)
        let isSent = byteCount == 190 << 10
        let notes = [
            "valet: warning: the secret is too large to be sent to other devices, and stays on "
                + "this one",
            "valet: hint: secrets of up to 190 KiB are sent",
        ]
        #expect(bench.console.notes == (isSent ? [] : notes))
        // A secret that is not for other devices.
        bench.run("set", "other", input: input)
        #expect(bench.console.notes.isEmpty)
    }

    @Test func `valet set works for the given application`() {
        bench.run("set", "k", "--app=com.example.a", input: [1])
        #expect(bench.items.map(\.accessGroup) == [AccessGroup("com.example.a")])
    }

    @Test func `valet set reports that a newline was stored with a line of text`() {
        bench.run("set", "k", input: Array("abc\n".utf8))
        #expect(bench.values == [Array("abc\n".utf8)])
        #expect(
            bench.console.notes == [
                "valet: hint: the newline at the end was stored too: '--trim-newline' drops it"
            ])
    }

    @Test(arguments: ["abc", "a\nb\n", "\n", "a\0\n"])
    func `valet set reports no newline in other values`(_ text: String) {
        bench.run("set", "k", input: Array(text.utf8))
        #expect(bench.console.notes.isEmpty)
    }

    @Test(arguments: [("abc\n", "abc"), ("abc\n\n", "abc\n"), ("abc", "abc")])
    func `valet set drops one newline with --trim-newline`(_ input: String, _ stored: String) {
        bench.run("set", "k", "--trim-newline", input: Array(input.utf8))
        #expect(bench.values == [Array(stored.utf8)])
        #expect(bench.console.notes.isEmpty)
    }

    @Test(arguments: [[], ["--trim-newline"]])
    func `valet set refuses an empty secret`(_ options: [String]) {
        bench.console.input = options.isEmpty ? [] : Array("\n".utf8)
        let code = options.isEmpty ? bench.run("set", "k") : bench.run("set", "k", options[0])
        #expect(code == .usage)
        #expect(
            bench.console.notes.first
                == "valet: error: the secret is empty")
        #expect(bench.items.isEmpty)
    }

    @Test func `valet set refuses more than 16 MiB`() {
        let input = [UInt8](repeating: 7, count: SetCommand.maximumByteCount + 1)
        #expect(bench.run("set", "k", input: input) == .usage)
    }

    @Test func `valet set --if-absent keeps a password that valet set would change`() {
        let password = ["set", "u", "--server", "h.example"]
        #expect(bench.run(password + ["--port", "8443"], input: [1]) == .success)
        #expect(bench.run(password + ["--if-absent"], input: [2]) == .alreadyThere)
        #expect(bench.values == [[1]])
        #expect(bench.run(password, input: [2]) == .success)
        #expect(bench.values == [[2]])
    }

    @Test func `valet set --if-absent adds a missing secret, and keeps an existing one`() {
        #expect(bench.run("set", "k", "--if-absent", input: [1]) == .success)
        #expect(bench.run("set", "k", "--if-absent", input: [2]) == .alreadyThere)
        #expect(ExitCode.alreadyThere.rawValue == 73)
        #expect(bench.values == [[1]])
        #expect(
            bench.console.notes == [
                "valet: error: 'k' exists in \(Bench.place) already, and stays",
                "valet: hint: without '--if-absent' the new secret replaces it",
            ])
    }

    @Test func `valet set replaces a secret without asking if there is no terminal`() {
        bench.run("set", "k", input: [1])
        #expect(bench.run("set", "k", input: [2]) == .success)
        #expect(bench.values == [[2]])
    }

    // Promise: 16.1
    @Test func `valet set asks at a terminal before it replaces a secret`() {
        bench.run("set", "k", input: [1])
        bench.console.isInputTerminal = true
        #expect(bench.run("set", "k", input: [2]) == .denied)
        #expect(bench.console.questions == ["Replace 'k' in \(Bench.place)?"])
        #expect(bench.values == [[1]])
        bench.console.answer = true
        #expect(bench.run("set", "k", input: [2]) == .success)
        bench.console.questions = []
        #expect(bench.run("set", "k", "--yes", input: [3]) == .success)
        #expect(bench.console.questions == ["Secret for 'k'"])
        #expect(bench.values == [[3]])
    }

    @Test func `valet set does not ask for a secret that it would not store`() {
        bench.run("set", "k", input: [1])
        bench.console.isInputTerminal = true
        #expect(bench.run("set", "k", "--if-absent", input: [2]) == .alreadyThere)
        #expect(bench.console.questions.isEmpty && bench.values == [[1]])
    }

    @Test func `valet set does not ask for a secret if questions are off`() {
        bench.console.isInputTerminal = true
        bench.console.refusalToAsk = "questions are turned off"
        #expect(bench.run("set", "k", "--yes", input: [1]) == .usage)
        #expect(
            bench.console.notes == [
                "valet: error: cannot ask for the secret: questions are turned off",
                "valet: hint: use standard input: 'valet set KEY < FILE'",
            ])
        #expect(bench.console.questions.isEmpty && bench.values.isEmpty)
    }

    @Test func `valet set asks for the secret at a terminal`() {
        bench.console.isInputTerminal = true
        bench.run("set", "k\u{7}", input: [1])
        #expect(bench.console.questions == ["Secret for 'k\\u{7}'"])
    }

    @Test func `valet set writes a JSON object if asked to`() {
        bench.run("set", "k", "--json", input: [1, 2])
        #expect(bench.console.outputText == "{\"name\":\"k\",\"byteCount\":2,\"moved\":false}\n")
    }

    @Test(arguments: [
        (["set", ""], "the key is empty"),
        (["set", "k", "--group=team"], "'--group' does not take 'team'"),
        (["set", "k", "--group=.team"], "'--group' does not take '.team'"),
        (["set", "k", "--accessibility=always"], "'--accessibility' does not take 'always'"),
        (
            ["set", "k", "--cloud", "--accessibility=when-unlocked-this-device-only"],
            "'--cloud' and '--accessibility when-unlocked-this-device-only' exclude each other"
        ),
    ])
    func `valet set refuses options that no valet can have`(_ words: [String], _ message: String) {
        #expect(bench.run(words, input: [1]) == .usage)
        #expect(bench.console.notes.first == "valet: error: \(message)")
        #expect(bench.items.isEmpty)
    }
}
