// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainStore

@testable import ValetCLI

@Suite struct `valet remove` {
    private let bench = Bench.withTwoSecrets

    @Test func `valet remove removes one secret`() {
        #expect(bench.run("remove", "a", "--yes") == .success)
        #expect(bench.values == [Array("two".utf8)])
    }

    @Test func `valet remove reports a missing key`() throws {
        try bench.setItemAside()
        #expect(bench.run("remove", "c") == .notFound)
        #expect(
            bench.console.notes == [
                "valet: error: no 'c' in \(Bench.place)",
                Bench.setAside,
            ])
    }

    @Test func `valet remove --if-exists succeeds for a missing key`() {
        #expect(bench.run("remove", "c", "--if-exists") == .success)
        #expect(bench.console.notes.isEmpty)
    }

    @Test func `valet remove --all removes all secrets of one valet and reports how many`() {
        bench.run("set", "a", "--id=other", input: [1])
        #expect(bench.run("remove", "--all", "--yes") == .success)
        #expect(bench.console.notes == ["valet: removed 2 secrets from \(Bench.place)"])
        #expect(bench.items.count == 1)
    }

    @Test func `valet remove --all removes the canary, but does not count it`() {
        bench.run("set", ServiceName.canaryAccount, input: [1])
        bench.run("remove", "--all", "-y")
        #expect(bench.console.notes == ["valet: removed 2 secrets from \(Bench.place)"])
        #expect(bench.items.isEmpty)
    }

    @Test func `valet remove --all works for an empty valet`() {
        #expect(bench.run("remove", "--all", "--id=empty") == .success)
        #expect(
            bench.console.notes == [
                "valet: removed 0 secrets from valet 'empty' of application 'valet'"
            ])
    }

    @Test func `valet remove --all asks at a terminal`() {
        bench.console.isInputTerminal = true
        #expect(bench.run("remove", "--all") == .denied)
        #expect(bench.console.questions == ["Remove 2 secrets from \(Bench.place)?"])
        #expect(bench.items.count == 2)
    }

    @Test func `valet remove --all removes everything after a yes`() {
        bench.console.isInputTerminal = true
        bench.console.answer = true
        #expect(bench.run("remove", "--all") == .success)
        #expect(bench.items.isEmpty)
    }

    @Test(arguments: ["--yes", "-y"])
    func `valet remove does not ask with --yes`(_ option: String) {
        bench.console.isInputTerminal = true
        bench.run("remove", "a", option)
        #expect(bench.console.questions.isEmpty)
        bench.run("remove", "--all", option)
        #expect(bench.console.questions.isEmpty && bench.items.isEmpty)
    }

    // Promise: 16.1
    @Test func `valet remove asks at a terminal before it removes one secret`() {
        bench.console.isInputTerminal = true
        #expect(bench.run("remove", "a") == .denied)
        #expect(bench.console.questions == ["Remove 'a' from \(Bench.place)?"])
        #expect(bench.console.notes == ["valet: error: nothing was changed"])
        #expect(bench.items.count == 2)
        bench.console.answer = true
        #expect(bench.run("remove", "a") == .success)
        #expect(bench.items.count == 1)
    }

    // Promise: 16.1
    @Test(arguments: [["a"], ["a", "--if-exists"], ["--all"]])
    func `valet remove refuses to remove without consent if there is no terminal`(_ words: [String])
    {
        #expect(bench.run(["remove"] + words) == .usage)
        #expect(bench.console.notes.last == "valet: hint: '--yes' gives consent in advance")
        #expect(bench.items.count == 2 && bench.console.questions.isEmpty)
    }

    // Promise: 18.9
    @Test(arguments: [["a"], ["--all"]])
    func `valet remove refuses to remove without consent if questions are off`(_ words: [String]) {
        bench.console.isInputTerminal = true
        bench.console.answer = true
        bench.console.refusalToAsk = "questions are turned off"
        #expect(bench.run(["remove"] + words) == .usage)
        #expect(
            bench.console.notes == [
                "valet: error: this removes secrets and needs your consent, but "
                    + "questions are turned off",
                "valet: hint: '--yes' gives consent in advance",
            ])
        #expect(bench.items.count == 2 && bench.console.questions.isEmpty)
    }

    @Test func `valet remove --all --yes does not read names to count them`() throws {
        let bench = try Bench.withPasscode()
        // Names of a locked keychain cannot be read, but its items can be removed.
        try bench.store.keychain.lock()
        #expect(bench.run("remove", "--all") == .locked)
        #expect(bench.run("remove", "--all", "--yes") == .success)
        #expect(bench.console.notes == ["valet: removed 1 secret from \(Bench.place)"])
    }

    @Test func `valet remove says that a shared password goes from all devices`() {
        bench.run("set", "u", "--service", "s", "--cloud", input: [1])
        bench.console.isInputTerminal = true
        bench.run("remove", "u", "--service", "s")
        #expect(bench.console.questions.first?.hasSuffix(", on all your devices?") == true)
    }

    @Test func `valet remove asks before it removes a damaged secret`() throws {
        try bench.damageItems()
        #expect(bench.run("remove", "a") == .usage)
        #expect(bench.run("remove", "a", "--yes") == .success)
    }

    @Test func `valet remove --all asks before it removes secrets too damaged to be listed`() throws
    {
        try bench.damageItems()
        #expect(bench.run("remove", "--all") == .usage)
        #expect(bench.run("remove", "--all", "--yes") == .success)
    }

    @Test func `valet remove writes a JSON object if asked to`() {
        bench.run("remove", "--all", "--json", "--yes")
        #expect(bench.console.outputText == "{\"removed\":2}\n")
        #expect(bench.console.notes.isEmpty)
    }

    private func fill(_ keys: String...) {
        for key in keys {
            #expect(bench.run("set", key, input: Array("value of \(key)".utf8)) == .success)
        }
    }

    private var names: Set<String> { Set(bench.items.map(\.name)) }

    @Test func `valet remove removes several secrets in one step, or none`() {
        fill("c", "d")
        #expect(bench.run("remove", "c", "none", "d", "--yes") == .notFound)
        #expect(bench.console.notes.first?.contains("no 'none' in") == true)
        #expect(names.isSuperset(of: ["c", "d"]))
        #expect(bench.run("remove", "c", "d", "c", "--yes") == .success)
        #expect(bench.console.notes == ["valet: removed 2 secrets"])
        #expect(names.isDisjoint(with: ["c", "d"]))
        #expect(bench.run("undo", "d") == .success)
        #expect(bench.run("remove", "c", "d", "--if-exists", "--yes", "--json") == .success)
        #expect(bench.console.outputText == "{\"removed\":1}\n")
    }

    @Test func `valet remove --matching removes what fits the whole name`() {
        fill("old/a", "old/b", "older", "bold/c")
        bench.run("set", "old/d", "--cloud", input: [1])
        #expect(bench.run("remove", "--matching", "old/*", "--dry-run") == .success)
        #expect(
            Set(bench.console.outputText.split(separator: "\n")) == ["old/a", "old/b", "old/d"])
        #expect(names.contains("old/a"))
        bench.console.isInputTerminal = true
        bench.console.answer = true
        #expect(bench.run("remove", "--matching", "old/*") == .success)
        #expect(
            bench.console.questions.last?.hasPrefix(
                "Remove 3 secrets, 1 of which your devices share,: ") == true)
        #expect(names.isSuperset(of: ["older", "bold/c"]) && !names.contains("old/d"))
        #expect(bench.run("remove", "--matching", "old/*", "--yes") == .notFound)
        #expect(bench.run("remove", "--matching", "old/*", "--yes", "--if-exists") == .success)
    }

    @Test func `valet remove --purge of several leaves nothing to undo`() {
        fill("c", "d")
        fill("c")
        bench.run("set", "c", input: [1])
        #expect(bench.run("remove", "c", "d", "--purge", "--yes") == .success)
        #expect(bench.run("undo", "c") == .notFound)
        #expect(bench.run("undo", "d") == .notFound)
    }

    @Test func `valet remove takes a star as a character, and hints at patterns`() {
        fill("c*", "cd")
        #expect(bench.run("remove", "c*", "--yes") == .success)
        #expect(names.contains("cd"))
        #expect(bench.run("remove", "c*", "--yes") == .notFound)
        #expect(bench.console.notes.last == "valet: hint: '--matching' removes what fits a pattern")
    }

    @Test func `valet remove --dry-run removes nothing`() {
        fill("c", "d")
        let before = bench.items.count
        for words in [["c"], ["c", "d"], ["--all"], ["--matching", "*"]] {
            #expect(bench.run(["remove", "--dry-run"] + words) == .success)
        }
        #expect(bench.items.count == before)
    }

    @Test(arguments: [
        ["a", "--matching", "b"], ["--matching", "b", "--all"], ["--dry-run"],
        ["a", "b", "--account", "c", "--service", "s"], ["a", ""],
    ])
    func `valet remove refuses choices that contradict each other`(_ words: [String]) {
        let before = bench.items.count
        #expect(bench.run(["remove", "--yes"] + words) == .usage)
        #expect(bench.items.count == before)
    }

    @Test func `valet remove needs a key or --all`() {
        #expect(bench.run("remove") == .usage)
        #expect(
            bench.console.notes.first
                == "valet: error: expected KEY, the name of the secret, "
                + "'--matching PATTERN' or '--all'")
    }

    @Test func `valet remove refuses a key together with --all`() {
        #expect(bench.run("remove", "a", "--all") == .usage)
        #expect(bench.items.count == 2)
    }
}
