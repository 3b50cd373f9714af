// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel

@testable import ValetCLI

/// Damage does not decide which item a command takes.
@Suite struct `A damaged item beside others` {
    let bench = Bench()

    private func fill(_ words: [[String]]) throws {
        for words in words {
            #expect(bench.run(["set"] + words, input: Array("value".utf8)) == .success)
        }
    }

    /// Two passwords of a service, the first one damaged.
    private func addPasswords() throws {
        try fill([["anna", "--service", "s"], ["bert", "--service", "s"]])
        try bench.damageFirstItem()
    }

    private var isBertUnchanged: Bool {
        bench.run("get", "bert", "--service", "s") == .success
            && bench.console.outputText == "value"
    }

    // Promise: 14.2
    @Test(arguments: [
        ["get"], ["show"], ["set"], ["remove", "--yes"], ["remove", "--yes", "--if-exists"],
        ["remove", "--yes", "--purge"], ["copy"],
    ])
    func `A password is not the only match while another one is damaged`(_ words: [String]) throws {
        try addPasswords()
        #expect(bench.run(words + ["--service", "s"], input: Array("new".utf8)) == .damaged)
        #expect(bench.console.notes.first?.hasPrefix("valet: error: ") == true)
        #expect(isBertUnchanged)
    }

    // Promise: 14.2
    @Test(arguments: [
        ["undo"], ["undo", "--version", "2"], ["get", "--version", "1"], ["history"],
    ])
    func `A former value is not that of the only match while another one is damaged`(
        _ words: [String]
    ) throws {
        try addPasswords()
        for _ in 1...2 {
            bench.run("set", "bert", "--service", "s", input: Array("other".utf8))
            bench.run("set", "bert", "--service", "s", input: Array("value".utf8))
        }
        #expect(bench.run(words + ["--service", "s"]) == .damaged)
        #expect(isBertUnchanged)
        #expect(bench.run("undo", "bert", "--service", "s") == .success)
        #expect(!isBertUnchanged)
    }

    @Test func `A password that the command line names is found beside a damaged one`() throws {
        try addPasswords()
        #expect(isBertUnchanged)
        #expect(bench.run("set", "bert", "--service", "s", input: [1]) == .success)
        #expect(bench.run("remove", "bert", "--service", "s", "--yes") == .success)
        #expect(bench.run("get", "anna", "--service", "s") == .damaged)
    }

    @Test func `Whether a password exists does not depend on a damaged one beside it`() throws {
        try addPasswords()
        #expect(bench.run("contains", "--service", "s") == .success)
        #expect(bench.run("contains", "anna", "--service", "s") == .damaged)
    }

    @Test func `A password that only a damaged one resembles is not added`() throws {
        try fill([["anna", "--service", "s"]])
        try bench.damageFirstItem()
        for words in [["set", "anna"], ["set", "anna", "--if-absent"]] {
            #expect(bench.run(words + ["--service", "s"], input: [2]) == .damaged, "\(words)")
        }
        #expect(bench.run("generate", "anna", "--service", "s") == .alreadyThere)
    }

    /// Two secrets of one name, as two programs may store them.
    private func addSecrets() throws {
        for service in Scope.ofCommand.services
        where [.whenUnlocked, .afterFirstUnlock].contains(service.protectionClass)
            && !service.isSynchronizable
        {
            try bench.add(service.item("k"))
        }
    }

    // Promise: 14.2
    @Test(
        arguments: [
            "UPDATE item SET salt = salt + 1 WHERE number = (SELECT min(number) FROM item)",
            "UPDATE item SET protection = 2 WHERE number = (SELECT min(number) FROM item)",
            "UPDATE item SET protection = 99 WHERE number = (SELECT min(number) FROM item)",
        ] as [StaticString],
        [["get", "k"], ["set", "k"], ["remove", "k", "--yes"], ["show", "k"]])
    func `A secret is not the only one of its name while another one is damaged`(
        _ sql: StaticString, _ words: [String]
    ) throws {
        try addSecrets()
        #expect(bench.run(words, input: [2]) == .usage)
        try bench.tamper(sql)
        let code = bench.run(words, input: [2])
        #expect(code == .usage || code == .damaged)
        let other = ["get", "k", "--accessibility", "after-first-unlock"]
        #expect(bench.run(other) == .success && bench.console.output == [1])
    }

    @Test func `A damaged secret is there for --if-absent, which changes nothing`() throws {
        try fill([["k"]])
        try bench.damageFirstItem()
        #expect(bench.run("set", "k", "--if-absent", input: [2]) == .alreadyThere)
        #expect(bench.run("generate", "k") == .alreadyThere)
        #expect(bench.run("set", "k", input: [2]) == .success)
        #expect(bench.run("get", "k") == .success && bench.console.output == [2])
    }

    // Promise: 14.2
    @Test func `A former value is not the last one while another one is damaged`() throws {
        for value in ["1", "2", "3"] {
            #expect(bench.run("set", "k", input: Array(value.utf8)) == .success)
        }
        try bench.tamper(
            """
            UPDATE former SET salt = salt + 1 WHERE kept = (SELECT max(kept) FROM former)
            """)
        for words in [["undo", "k"], ["get", "k", "--version", "1"]] {
            #expect(bench.run(words) == .damaged, "\(words)")
        }
        #expect(bench.run("history", "k") == .success)
        #expect(bench.console.outputText.contains("damaged"))
        #expect(bench.run("get", "k") == .success && bench.console.outputText == "3")
    }

    @Test func `A keychain whose items are all damaged is not called empty`() throws {
        try fill([["k"]])
        try bench.damageItems()
        #expect(bench.run("list", "--id", "other") == .success)
        #expect(!bench.everything.contains("is empty"))
    }

    @Test func `remove --all removes nothing while a row may be of another application`() throws {
        try fill([["a"], ["b"]])
        try bench.tamper(
            """
            UPDATE item SET protection = 99 WHERE number = (SELECT min(number) FROM item)
            """)
        #expect(bench.run("remove", "--all", "--yes") == .damaged)
        #expect(bench.run("get", "b") == .success)
    }
}
