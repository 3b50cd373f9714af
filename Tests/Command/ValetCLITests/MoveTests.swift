// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore

@testable import ValetCLI

@Suite struct `valet move, rename and copy-to` {
    private let bench = Bench.withTwoSecrets

    private func value(_ words: String...) -> String? {
        bench.run(["get"] + words) == .success ? bench.console.outputText : nil
    }

    @Test func `rename gives a secret another name and keeps the rest`() throws {
        let before = try #require(bench.items.first { $0.name == "a" })
        var changes = ItemChanges()
        changes.attributes[.label] = .text("mine")
        _ = try bench.session.update(ItemQuery(before.reference), changes)
        #expect(bench.run("rename", "a", "c") == .success)
        #expect(value("a") == nil && value("c") == "one" && value("b") == "two")
        #expect(bench.items.first { $0.name == "c" }?.attributes[.label] == .text("mine"))
    }

    @Test func `A secret at the destination stays, unless --force replaces it`() {
        #expect(bench.run("rename", "a", "b") == .alreadyThere)
        #expect(value("a") == "one" && value("b") == "two")
        #expect(bench.run("rename", "a", "b", "--force") == .success)
        #expect(value("a") == nil && value("b") == "one")
        #expect(bench.run("undo", "b") == .success)
        #expect(value("b") == "two")
    }

    @Test func `move puts a secret into another valet, application or group`() {
        #expect(bench.run("move", "a", "--to-id", "staging") == .success)
        #expect(value("a") == nil && value("a", "--id", "staging") == "one")
        #expect(bench.run("move", "b", "--to-app", "other", "--to-key", "c") == .success)
        #expect(value("b") == nil && value("c", "--app", "other") == "two")
        let there = ["--app", "other"]
        #expect(bench.run(["move", "c", "--to-group", "team.shared"] + there) == .success)
        #expect(value("c", "--app", "other", "--group", "team.shared") == "two")
        #expect(value("c", "--app", "other") == nil)
    }

    @Test func `move changes accessibility and sharing in place`() throws {
        #expect(bench.run("move", "a", "--to-accessibility", "after-first-unlock") == .success)
        #expect(bench.run("move", "a", "--to-cloud") == .success)
        let item = try #require(bench.items.first { $0.name == "a" })
        #expect(item.protectionClass == .afterFirstUnlock && item.isSynchronizable)
        #expect(value("a") == "one")
        #expect(bench.run("move", "a", "--to-local") == .success)
        #expect(bench.items.filter { $0.name == "a" }.map(\.isSynchronizable) == [false])
    }

    @Test func `copy-to leaves the secret where it is`() {
        #expect(bench.run("copy-to", "a", "--to-app", "other") == .success)
        #expect(value("a") == "one" && value("a", "--app", "other") == "one")
    }

    @Test(arguments: [
        ["a", "--to-cloud"], ["a", "--to-accessibility", "after-first-unlock"],
        ["--all", "--to-cloud"], ["a", "--to-cloud", "--dry-run"], ["a", "--to-id", "default"],
    ])
    func `copy-to refuses a second place in the same valet`(_ words: [String]) {
        #expect(bench.run(["copy-to"] + words) == .usage)
        #expect(value("a", "--local", "--accessibility", "when-unlocked") == "one")
        #expect(bench.items.count == 2)
    }

    @Test func `--all and --matching move several secrets in one step`() {
        #expect(bench.run("move", "--matching", "a*", "--to-id", "new", "--dry-run") == .success)
        #expect(value("a") == "one")
        #expect(bench.run("move", "--matching", "a*", "--to-id", "new") == .success)
        #expect(value("a", "--id", "new") == "one" && value("b") == "two")
        bench.run("set", "a", input: Array("other".utf8))
        #expect(bench.run("move", "--all", "--to-id", "new") == .alreadyThere)
        #expect(value("b") == "two" && value("a") == "other")
        #expect(bench.run("move", "--all", "--to-id", "new", "--force", "--json") == .success)
        #expect(
            bench.console.outputText == #"{"moved":2,"names":["a","b"],"dryRun":false}"# + "\n")
        #expect(value("a", "--id", "new") == "other" && value("b", "--id", "new") == "two")
    }

    @Test(arguments: [
        ["move", "a"], ["move"], ["move", "a", "--all", "--to-id", "x"], ["rename", "a", ""],
        ["move", "a", "--to-cloud", "--to-local"], ["move", "a", "--to-group", "nodot"],
        ["move", "--all", "--to-key", "x"],
        ["move", "a", "--to-cloud", "--to-accessibility", "when-unlocked-this-device-only"],
        ["move", "a", "--to-cloud", "--accessibility", "when-unlocked-this-device-only"],
    ])
    func `Command lines that say too little or too much move nothing`(_ words: [String]) {
        #expect(bench.run(words) == .usage)
        #expect(value("a") == "one" && value("b") == "two")
    }

    @Test func `A secret of a group moves into the usual valet of an application`() {
        let group = ["--group", "team.shared"]
        bench.run(["set", "g"] + group, input: Array("three".utf8))
        #expect(bench.run(["move", "g", "--to-app", "other"] + group) == .success)
        #expect(value("g", "--app", "other") == "three")
    }

    @Test func `Text in --matching without a star is the whole name`() {
        bench.run("set", "banana", input: [1])
        #expect(bench.run("move", "--matching", "an", "--to-id", "new") == .notFound)
        #expect(bench.items.count == 3)
        #expect(bench.run("move", "--matching", "*AN*", "--to-id", "new") == .success)
        #expect(value("banana", "--id", "new") != nil)
    }

    @Test func `--dry-run says what --force would replace`() {
        #expect(bench.run("move", "a", "--to-key", "b", "--force", "--dry-run") == .success)
        #expect(bench.console.notes.first == "valet: would replace 'b' in \(Bench.place)")
        #expect(value("a") == "one" && value("b") == "two")
    }

    @Test func `A secret that is not there moves nothing`() {
        #expect(bench.run("rename", "c", "d") == .notFound)
        #expect(bench.run("move", "--all", "--id", "none", "--to-id", "new") == .notFound)
        #expect(bench.items.count == 2)
    }

    @Test func `A locked keychain moves nothing`() throws {
        let bench = try Bench.withPasscode()
        try bench.store.keychain.lock()
        #expect(bench.run("rename", "secret", "new") == .locked)
        try bench.store.keychain.unlock(Bench.passcode(Bench.passcode))
        #expect(bench.run("get", "secret") == .success)
    }
}
