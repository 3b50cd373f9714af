// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing

@testable import ValetCLI

@Suite struct `Former values` {
    private let bench = Bench()

    private func set(_ values: String..., options: [String] = []) {
        for value in values {
            #expect(bench.run(["set", "key"] + options, input: Array(value.utf8)) == .success)
        }
    }

    private var value: String? {
        bench.run("get", "key") == .success ? bench.console.outputText : nil
    }

    /// How many rows the keychain has, whatever shows them.
    private var rowCount: Int? { try? bench.store.keychain.status().itemCount }

    private func former(_ number: Int) -> String? {
        let isThere = bench.run("get", "key", "--version", "\(number)") == .success
        return isThere ? bench.console.outputText : nil
    }

    @Test func `The last three values are kept, the last one first`() {
        set("one", "two", "three", "four", "five")
        #expect((1...4).map(former) == ["four", "three", "two", nil])
        #expect(bench.run("history", "key") == .success)
        #expect(bench.console.outputText.split(separator: "\n").count == 3)
        #expect(!bench.console.outputText.contains("four"))
    }

    @Test func `The value that is stored again is no change`() {
        set("one", "one", "one")
        #expect(former(1) == nil)
    }

    @Test func `undo takes the last change back, and a second undo takes that back`() {
        set("one", "two")
        #expect(bench.run("undo", "key") == .success)
        #expect(value == "one")
        #expect(bench.run("undo", "key") == .success)
        #expect(value == "two")
        #expect(former(1) == "one")
        #expect(former(2) == nil)
    }

    @Test func `undo brings a removed secret back, as it was`() throws {
        set("one", options: ["--accessibility", "after-first-unlock", "--cloud"])
        let before = try #require(bench.items.first)
        #expect(bench.run("remove", "key", "--yes") == .success)
        #expect(value == nil)
        #expect(bench.run("undo", "key") == .success)
        let after = try #require(bench.items.first)
        #expect(after.protectionClass == before.protectionClass)
        #expect(after.isSynchronizable)
        #expect(after.attributes[.creationDate] == before.attributes[.creationDate])
        #expect(value == "one")
    }

    @Test func `undo leaves a secret where it was moved to`() {
        set("one")
        set("two", options: ["--accessibility", "after-first-unlock"])
        #expect(bench.run("undo", "key") == .success)
        #expect(value == "one")
        #expect(bench.items.map(\.protectionClass) == [.afterFirstUnlock])
    }

    @Test func `undo of an older value keeps the present one`() {
        set("one", "two", "three")
        #expect(bench.run("undo", "key", "--version", "2") == .success)
        #expect(value == "one")
        #expect((1...3).map(former) == ["three", "two", nil])
    }

    // Promise: 16.2
    @Test func `remove --purge leaves nothing to undo`() {
        set("one", "two")
        #expect(bench.run("remove", "key", "--purge", "--yes") == .success)
        #expect(bench.run("undo", "key") == .notFound)
        #expect(bench.run("history", "key") == .notFound)
        #expect(rowCount == 0)
    }

    // Promise: 16.2
    @Test func `remove --purge forgets a secret that was removed before`() {
        set("one")
        #expect(bench.run("remove", "key", "--yes") == .success)
        #expect(bench.run("remove", "key", "--purge", "--yes") == .success)
        #expect(rowCount == 0)
    }

    @Test func `remove --all keeps former values, with --purge it does not`() {
        set("one")
        #expect(bench.run("remove", "--all", "--yes") == .success)
        #expect(former(1) == "one")
        #expect(bench.run("undo", "key") == .success)
        #expect(bench.run("remove", "--all", "--purge", "--yes") == .success)
        #expect(rowCount == 0)
    }

    @Test func `Passwords of other software have former values`() {
        let password = ["--service", "mail"]
        set("one", "two", options: password)
        #expect(bench.run(["undo", "key"] + password) == .success)
        #expect(bench.run(["get", "key"] + password) == .success)
        #expect(bench.console.outputText == "one")
    }

    @Test func `Secrets of one name in two groups have former values of their own`() {
        set("one", "two", options: ["--app", "other"])
        #expect(bench.run("history", "key") == .notFound)
        #expect(bench.run("get", "key", "--app", "other", "--version", "1") == .success)
    }

    @Test func `Former values and settings are in no list and no count`() {
        set("one", "two")
        bench.run("settings", "history", "5")
        #expect(bench.run("list", "--all", "--names") == .success)
        #expect(bench.console.outputText == "key\n")
        #expect(bench.run("search", "valet.") == .notFound)
        #expect(bench.run("status", "--json") == .success)
        #expect(bench.console.outputText.contains("\"items\":1,"))
    }

    // Promise: 16.2
    @Test func `settings history says how many are kept`() {
        #expect(bench.run("settings", "history", "1") == .success)
        set("one", "two", "three")
        #expect((1...2).map(former) == ["two", nil])
        #expect(bench.run("settings", "history", "0") == .success)
        set("four")
        #expect(former(1) == "two")
        #expect(bench.run("settings", "history", "0", "--purge", "--yes") == .success)
        #expect(former(1) == nil)
        #expect(value == "four")
        #expect(bench.run("settings", "--json") == .success)
        #expect(bench.console.outputText == "{\"history\":0}\n")
    }

    // Promise: 16.1
    @Test func `settings history 0 --purge asks first`() {
        set("one", "two")
        #expect(bench.run("settings", "history", "0", "--purge") == .usage)
        #expect(bench.console.notes.joined().contains("--yes"))
        #expect(former(1) == "one")
        bench.run("settings", "history", "0", "--purge", "--yes")
        #expect(bench.run("settings", "history", "0", "--purge") == .success)
    }

    // Promise: 16.2
    @Test func `settings history 0 --purge removes damaged former values, too`() throws {
        set("one")
        try bench.damageItems()
        set("two", "three")
        try bench.tamper("UPDATE former SET kept = kept + 1 WHERE reason <> 4")
        bench.run("history", "key")
        #expect(bench.console.outputText.split(separator: "\n").count == 2)
        #expect(bench.run("settings", "history", "0", "--purge", "--yes") == .success)
        #expect(bench.console.notes.joined().contains("2 former values"))
        bench.run("history", "key")
        #expect(bench.console.outputText.isEmpty)
        #expect(bench.run("doctor") == .success)
    }

    // Promise: 16.1
    @Test func `Former values that are kept since the question stay`() throws {
        set("one", "two", "three")
        let settings = Caller(
            applicationIdentifier: "app", accessGroups: [AccessGroup("valet.settings")])
        let failure = #expect(throws: KeychainFailure.self) {
            try bench.store.deleteHistory(
                setting: Addition(
                    KeychainSetting.history.item,
                    value: SecretValue(copying: Array("0".utf8).span)),
                atMost: 1, for: settings)
        }
        #expect(failure?.code == .timedOut)
        #expect(former(2) == "one")
    }

    @Test(arguments: ["11", "-1", "many", "3.0"])
    func `settings history refuses other numbers`(_ number: String) {
        #expect(bench.run("settings", "history", "--", number) == .usage)
        #expect(bench.run("settings") == .success)
        #expect(bench.console.outputText.contains(" 3 "))
    }

    @Test(arguments: ["0", "-1", "x", "99999999999999999999"])
    func `get refuses a version that is no number from 1 on`(_ number: String) {
        set("one", "two")
        #expect(bench.run("get", "key", "--version=\(number)") == .usage)
    }

    // Promise: 16.2
    @Test func `What a library replaces or deletes is gone`() throws {
        set("one")
        let item = try #require(bench.items.first)
        _ = try bench.session.delete(ItemQuery(item.reference))
        #expect(bench.run("undo", "key") == .notFound)
        #expect(rowCount == 0)
    }

    // Promise: 16.2
    @Test func `A locked keychain tells nothing about former values`() throws {
        set("one", "two")
        try bench.store.keychain.setPasscode(Bench.passcode(Bench.passcode))
        try bench.store.keychain.lock(all: true)
        for words in [["history", "key"], ["undo", "key"], ["settings"]] {
            #expect(bench.run(words) == .locked, "\(words)")
            #expect(bench.console.outputText.isEmpty)
        }
    }

    @Test func `What is removed while the keychain is locked comes back`() throws {
        set("one")
        try bench.store.keychain.setPasscode(Bench.passcode(Bench.passcode))
        try bench.store.keychain.lock()
        #expect(bench.run("remove", "--all", "--yes") == .success)
        #expect(rowCount == 0)
        try bench.store.keychain.unlock(Bench.passcode(Bench.passcode))
        #expect(bench.run("undo", "key") == .success)
        #expect(value == "one")
    }

    @Test func `undo keeps the present value where the setting keeps none`() {
        set("one", "two")
        bench.run("settings", "history", "0")
        #expect(bench.run("undo", "key") == .success)
        #expect(value == "one" && former(1) == "two")
        #expect(bench.run("undo", "key") == .success)
        #expect(value == "two" && former(1) == "one")
    }

    // Promise: 16.3
    @Test func `undo keeps a value that was stored with another accessibility`() {
        set("one")
        #expect(bench.run("remove", "key", "--yes") == .success)
        bench.run("settings", "history", "0")
        set("two", options: ["--accessibility", "after-first-unlock"])
        #expect(bench.run("undo", "key") == .success)
        #expect(value == "one" && former(1) == "two")
        #expect(bench.items.map(\.protectionClass) == [.afterFirstUnlock])
    }

    // Promise: 16.3
    @Test func `undo refuses to replace a value that needs the user`() throws {
        try bench.store.keychain.setPasscode(Bench.passcode(Bench.passcode))
        set("one", "two")
        let item = try #require(bench.items.first)
        var changes = ItemChanges()
        changes.accessControl = try AccessControl(.whenUnlocked, .devicePasscode)
        _ = try bench.session.update(ItemQuery(item.reference), changes)
        #expect(bench.run("undo", "key") == .denied)
        #expect(bench.console.notes.joined().contains("the present value requires the user"))
        #expect(bench.items.first?.accessControl?.constraints == .devicePasscode)
        #expect(bench.run("remove", "key", "--yes") == .success)
        #expect(bench.run("undo", "key", "--version", "2") == .success)
        #expect(value == "one")
    }

    @Test func `A secret that moves takes its former values along`() {
        set("one", "two")
        #expect(bench.run("rename", "key", "other") == .success)
        #expect(bench.run("history", "key") == .notFound)
        #expect(bench.run("get", "other", "--version", "1") == .success)
        #expect(bench.console.outputText == "one")
        #expect(bench.run("remove", "other", "--purge", "--yes") == .success)
        for name in ["key", "other"] { #expect(bench.run("undo", name) == .notFound) }
        #expect(bench.run("history") == .success)
        #expect(bench.console.outputText.isEmpty)
    }

    // Promise: 16.3
    @Test func `A secret that a move replaces comes back, and if not, the move says so`() {
        set("replaced")
        bench.run("set", "new", input: Array("moved".utf8))
        #expect(bench.run("rename", "new", "key", "--force") == .success)
        #expect(!bench.console.notes.joined().contains("is gone"))
        #expect(bench.run("undo", "key") == .success)
        #expect(value == "replaced" && former(1) == "moved")
        bench.run("settings", "history", "0")
        bench.run("set", "newer", input: Array("last".utf8))
        #expect(bench.run("rename", "newer", "key", "--force") == .success)
        #expect(bench.console.notes.joined().contains("what was replaced is gone"))
    }

    @Test func `history lists what was removed, and undo brings it back`() throws {
        for name in ["old/a", "old/b", "new", "key"] {
            bench.run("set", name, input: Array(name.utf8))
        }
        set("two")
        #expect(bench.run("history") == .success)
        #expect(bench.console.outputText.isEmpty)
        #expect(bench.run("remove", "--matching", "old/*", "--yes") == .success)
        #expect(bench.run("remove", "new", "--yes") == .success)
        #expect(bench.run("history") == .success)
        let lines = bench.console.outputText.split(separator: "\n")
        let names = lines.map { $0.split(separator: " ")[1] }
        #expect(names == ["new", "old/b", "old/a"] || names == ["new", "old/a", "old/b"])
        #expect(bench.run("undo", "--matching", "none*") == .notFound)
        #expect(bench.run("undo", "--matching", "old/*") == .success)
        #expect(bench.console.notes.joined().contains("2 secrets"))
        #expect(bench.run("list", "--names") == .success)
        #expect(bench.console.outputText == "key\nold/a\nold/b\n")
        #expect(bench.run("history", "--json") == .success)
        #expect(bench.console.outputText.contains(#""removed":[{"name":"new","owner":"default""#))
        #expect(bench.run("undo", "key", "--matching", "*") == .usage)
    }

    @Test func `A secret that was stored again is in no list of removed ones`() {
        set("one")
        bench.run("remove", "key", "--yes")
        set("two", options: ["--accessibility", "after-first-unlock"])
        #expect(bench.run("history") == .success)
        #expect(bench.console.outputText.isEmpty)
        #expect(former(1) == "one")
    }

    @Test func `Former values of several passwords are not mixed`() {
        for account in ["a", "b"] {
            let words = ["set", account, "--service", "mail"]
            bench.run(words, input: Array("one".utf8))
            bench.run(words, input: Array("two".utf8))
        }
        for verb in ["history", "undo"] {
            #expect(bench.run(verb, "--service", "mail") == .usage)
        }
        #expect(bench.run("undo", "a", "--service", "mail") == .success)
        #expect(bench.run("get", "a", "--service", "mail") == .success)
        #expect(bench.console.outputText == "one")
        #expect(bench.run("get", "b", "--service", "mail") == .success)
        #expect(bench.console.outputText == "two")
    }

    @Test func `Former values are in no count`() throws {
        set("one", "two", "three")
        bench.run("remove", "key", "--yes")
        #expect(rowCount == 0)
        let passcode = try Bench.passcode(Bench.passcode)
        try bench.store.keychain.setPasscode(passcode)
        #expect(try bench.store.keychain.lossWithoutPasscode().itemCount == 0)
    }

    @Test func `A damaged former value is listed, and not given out`() throws {
        set("one", "two")
        try bench.tamper("UPDATE former SET kept = kept + 1")
        set("three")
        #expect(bench.run("history", "key") == .success)
        #expect(bench.console.outputText.contains("damaged"))
        #expect(bench.run("undo", "key", "--version", "2") == .damaged)
        #expect(bench.run("get", "key", "--version", "2") == .damaged)
        #expect(value == "three" && former(1) == "two")
    }

    // Promise: 16.5
    @Test func `The last value of a removed secret is damaged, and no older one is brought back`()
        throws
    {
        set("one", "two")
        bench.run("set", "other", input: Array("one".utf8))
        bench.run("remove", "key", "other", "--yes")
        try bench.tamper(
            """
            UPDATE former SET flags = 256 WHERE kept = (
                SELECT max(kept) FROM former AS one WHERE 2 = (
                    SELECT count(*) FROM former WHERE account_hash = one.account_hash))
            """)
        #expect(bench.run("history") == .damaged)
        #expect(bench.console.outputText.split(separator: "\n").count == 1)
        #expect(bench.console.outputText.contains("other"))
        #expect(bench.console.notes.joined().contains("1 removed secret is damaged"))
        for pattern in ["*", "key"] {
            #expect(bench.run("undo", "--matching", pattern) == .damaged)
        }
        #expect(bench.items.isEmpty)
        #expect(bench.run("undo", "key") == .damaged)
        #expect(bench.run("undo", "key", "--version", "2") == .success)
        #expect(value == "one")
        #expect(bench.run("history") == .success)
        #expect(bench.run("undo", "--matching", "*") == .success)
        #expect(bench.items.count == 2)
        #expect(bench.run("doctor") == .damaged)
        #expect(bench.run("doctor", "--purge-damaged", "--yes") == .success)
        #expect(bench.console.notes.joined().contains("1 former value"))
        #expect(bench.run("history", "key") == .success)
        #expect(!bench.console.outputText.contains("damaged"))
    }

    @Test func `A damaged setting is an error until it is stored again`() throws {
        set("one", "two")
        bench.run("settings", "history", "7")
        set("three")
        try bench.tamper("UPDATE item SET names = zeroblob(72) WHERE protection = 5")
        #expect(bench.run("settings") == .damaged)
        #expect(bench.run("set", "key", input: Array("four".utf8)) == .damaged)
        #expect(bench.console.notes.joined().contains("valet settings history"))
        #expect(bench.run("remove", "key", "--yes") == .damaged)
        #expect(value == "three" && former(1) == "two" && former(2) == "one")
        #expect(bench.run("settings", "history", "7") == .success)
        set("four")
        #expect((1...3).map(former) == ["three", "two", "one"])
    }

    @Test func `status counts no settings`() throws {
        bench.run("settings", "history", "7")
        #expect(rowCount == 0)
        set("one")
        bench.run("settings", "history", "2")
        #expect(rowCount == 1)
    }

    // Promise: 16.2
    @Test func `remove --all --purge leaves no former value of what was removed before`() throws {
        set("one", "two", options: ["--cloud"])
        bench.run("remove", "key", "--yes")
        set("three", "four")
        bench.run("set", "damaged", input: Array("one".utf8))
        bench.run("remove", "damaged", "--yes")
        try bench.tamper(
            "UPDATE former SET class = 9 WHERE kept = (SELECT max(kept) FROM former)")
        bench.run("set", "mail", "--service", "mail", input: Array("one".utf8))
        bench.run("set", "mail", "--service", "mail", input: Array("two".utf8))
        #expect(bench.run("remove", "--all", "--purge", "--yes") == .success)
        #expect(bench.run("history", "key") == .notFound)
        #expect(bench.run("history", "damaged") == .notFound)
        #expect(bench.run("history", "mail", "--service", "mail") == .success)
        #expect(bench.console.outputText.contains("1"))
    }

    @Test func `remove --purge of several names forgets those that were removed before`() {
        for name in ["a", "b"] {
            bench.run("set", name, input: Array("one".utf8))
            bench.run("set", name, input: Array("two".utf8))
        }
        bench.run("remove", "a", "--yes")
        #expect(bench.run("remove", "a", "b", "--purge", "--yes") == .success)
        for name in ["a", "b"] { #expect(bench.run("history", name) == .notFound) }
        #expect(bench.run("remove", "a", "b", "--purge", "--yes") == .notFound)
    }

    @Test func `A move says which former values stay under the old name`() throws {
        try bench.store.keychain.setPasscode(Bench.passcode(Bench.passcode))
        set("one")
        let item = try #require(bench.items.first)
        var changes = ItemChanges()
        changes.accessControl = try AccessControl(.whenUnlocked, .devicePasscode)
        _ = try bench.session.update(ItemQuery(item.reference), changes)
        #expect(bench.run("remove", "key", "--yes") == .success)
        set("two", "three")
        #expect(bench.run("rename", "key", "other") == .success)
        #expect(
            bench.console.notes.contains(
                "valet: 1 former value that could not be opened stays under the old name"))
        #expect(bench.run("history", "key") == .success)
        #expect(bench.run("get", "other", "--version", "1") == .success)
        #expect(bench.console.outputText == "two")
        #expect(bench.run("move", "other", "--to-id", "new") == .success)
        #expect(!bench.console.notes.joined().contains("former"))
    }

    @Test func `A removed password beside a present one is not taken for it`() throws {
        for account in ["a", "b"] {
            bench.run("set", account, "--service", "mail", input: Array("one".utf8))
        }
        bench.run("remove", "a", "--service", "mail", "--yes")
        for verb in ["history", "undo"] { #expect(bench.run(verb, "--service", "mail") == .usage) }
        for words in [["history", "a"], ["undo", "a"]] {
            #expect(bench.run(words + ["--service", "mail"]) == .success)
        }
    }

    // Promise: 16.3
    @Test func `A restore keeps what it replaces`() throws {
        set("one")
        let file = bench.store.folder + ".backup"
        let options = [file, "--passphrase-fd", "3"]
        #expect(
            bench.run(["backup", "create", "--weak"] + options, lines: ["open"]) == .success)
        set("two", "three")
        #expect(
            bench.run(["backup", "restore", "--replace"] + options, lines: ["open"]) == .success)
        #expect(value == "one" && (1...3).map(former) == ["three", "two", "one"])
        #expect(bench.run("undo", "key") == .success)
        #expect(value == "three")
    }

    @Test func `A key change keeps former values`() throws {
        set("one", "two")
        try bench.store.keychain.setPasscode(Bench.passcode(Bench.passcode))
        #expect(former(1) == "one")
        #expect(bench.run("undo", "key") == .success)
        #expect(value == "one")
    }
}
