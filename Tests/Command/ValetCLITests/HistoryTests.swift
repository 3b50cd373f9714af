// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore

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

    @Test func `remove --purge leaves nothing to undo`() {
        set("one", "two")
        #expect(bench.run("remove", "key", "--purge", "--yes") == .success)
        #expect(bench.run("undo", "key") == .notFound)
        #expect(bench.run("history", "key") == .notFound)
        #expect(rowCount == 0)
    }

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

    @Test func `settings history says how many are kept`() {
        #expect(bench.run("settings", "history", "1") == .success)
        set("one", "two", "three")
        #expect((1...2).map(former) == ["two", nil])
        #expect(bench.run("settings", "history", "0") == .success)
        set("four")
        #expect(former(1) == "two")
        #expect(bench.run("settings", "history", "0", "--purge") == .success)
        #expect(former(1) == nil)
        #expect(value == "four")
        #expect(bench.run("settings", "--json") == .success)
        #expect(bench.console.outputText == "{\"history\":0}\n")
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

    @Test func `What a library replaces or deletes is gone`() throws {
        set("one")
        let item = try #require(bench.items.first)
        _ = try bench.session.delete(ItemQuery(item.reference))
        #expect(bench.run("undo", "key") == .notFound)
        #expect(rowCount == 0)
    }

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

    @Test func `undo keeps a value that was stored with another accessibility`() {
        set("one")
        #expect(bench.run("remove", "key", "--yes") == .success)
        bench.run("settings", "history", "0")
        set("two", options: ["--accessibility", "after-first-unlock"])
        #expect(bench.run("undo", "key") == .success)
        #expect(value == "one" && former(1) == "two")
        #expect(bench.items.map(\.protectionClass) == [.afterFirstUnlock])
    }

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
        #expect(try bench.store.keychain.itemsThatNeedPasscode() == 0)
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

    @Test func `A key change keeps former values`() throws {
        set("one", "two")
        try bench.store.keychain.setPasscode(Bench.passcode(Bench.passcode))
        #expect(former(1) == "one")
        #expect(bench.run("undo", "key") == .success)
        #expect(value == "one")
    }
}
