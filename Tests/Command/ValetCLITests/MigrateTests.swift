// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing

@testable import ValetCLI

@Suite struct `valet migrate` {
    private let bench = Bench()

    /// Two valets of the application `old`, and passwords of it without a valet.
    init() throws {
        set("a", "one", "--app", "old")
        set("b", "two", "--app", "old", "--id", "other", "--cloud")
        let session = try session("old")
        for item in [
            NewItem(
                .genericPassword,
                attributes: [.service: .text("s"), .account: .text("c"), .label: .text("mine")]),
            NewItem(
                .internetPassword, attributes: [.server: .text("host"), .account: .text("d")]),
        ] {
            try session.set(item, value: SecretValue(copying: Array("pass".utf8).span))
        }
    }

    private func set(_ key: String, _ value: String, _ words: String...) {
        #expect(bench.run(["set", key] + words, input: Array(value.utf8)) == .success)
    }

    private func session(_ application: String) throws -> KeychainSession {
        try bench.context.session(of: Requester(application: application))
    }

    private func value(_ words: String...) -> String? {
        bench.run(["get"] + words) == .success ? bench.console.outputText : nil
    }

    private func migrate(_ words: String...) -> ExitCode { bench.run(["migrate"] + words) }

    private func items(_ application: String) throws -> [StoredItem] {
        let session = try session(application)
        return ItemClass.allCases.flatMap { itemClass in
            let query = ItemQuery(
                itemClass, accessGroup: AccessGroup(application), synchronizable: .any)
            return (try? session.attributes(of: query).items) ?? []
        }
    }

    @Test func `Everything of an application moves to another one in one step`() throws {
        let dates = try items("old").map { $0.attributes[.creationDate] }
        #expect(migrate("--app", "old", "--to-app", "new") == .success)
        #expect(try items("old").isEmpty)
        #expect(value("a", "--app", "new") == "one")
        #expect(value("b", "--app", "new", "--id", "other", "--cloud") == "two")
        #expect(value("c", "--app", "new", "--service", "s") == "pass")
        #expect(value("d", "--app", "new", "--server", "host") == "pass")
        let moved = try items("new")
        #expect(Set(moved.map { $0.attributes[.creationDate] }) == Set(dates))
        #expect(moved.contains { $0.attributes[.label] == .text("mine") })
        #expect(bench.run("undo", "a", "--app", "old") == .notFound)
    }

    @Test func `Former values that cannot be opened stay, and are counted`() throws {
        set("a", "two", "--app", "old")
        try bench.store.keychain.setPasscode(Bench.passcode(Bench.passcode))
        let found = try items("old").first { $0.attributes[.account] == .text("a") }
        let item = try #require(found)
        var changes = ItemChanges()
        changes.accessControl = try AccessControl(.whenUnlocked, .devicePasscode)
        _ = try session("old").update(ItemQuery(item.reference), changes)
        #expect(bench.run("remove", "a", "--app", "old", "--yes") == .success)
        set("a", "three", "--app", "old")
        #expect(migrate("--app", "old", "--to-app", "new") == .success)
        #expect(
            bench.console.notes.contains(
                "valet: 1 former value that could not be opened stays under the old name"))
        #expect(bench.run("history", "a", "--app", "old") == .success)
        #expect(value("a", "--app", "new", "--version", "1") == "one")
    }

    @Test func `A dry run moves nothing, and says what would move`() throws {
        #expect(migrate("--app", "old", "--to-app", "new", "--dry-run") == .success)
        #expect(Set(bench.console.outputText.split(separator: "\n")) == ["a", "b", "c", "d"])
        #expect(bench.console.notes == ["valet: would have moved 4 items to group 'new'"])
        #expect(try items("old").count == 4 && items("new").isEmpty)
    }

    @Test func `Accessibility changes for all items, and stays with those that have it`() throws {
        let words = ["--app", "old", "--to-accessibility", "after-first-unlock"]
        #expect(bench.run(["migrate"] + words) == .success)
        #expect(try items("old").allSatisfy { $0.protectionClass == .afterFirstUnlock })
        #expect(value("a", "--app", "old", "--accessibility", "after-first-unlock") == "one")
        #expect(value("b", "--app", "old", "--id", "other") == "two")
        #expect(bench.run(["migrate", "--json"] + words) == .success)
        #expect(
            bench.console.outputText
                == #"{"moved":0,"unchanged":4,"left":[],"dryRun":false}"# + "\n")
    }

    @Test func `Options choose a part`() throws {
        #expect(migrate("--app", "old", "--id", "other", "--to-app", "new") == .success)
        #expect(try items("old").count == 3 && items("new").map(\.name) == ["b"])
        #expect(migrate("--app", "old", "--cloud", "--to-app", "new") == .notFound)
        #expect(migrate("--app", "old", "--local", "--to-app", "new") == .success)
        #expect(try items("old").isEmpty)
    }

    @Test func `Items join an access group, and leave it`() throws {
        let group = ["--group", "team.shared"]
        #expect(migrate("--app", "old", "--to-group", "team.shared") == .success)
        #expect(value("a", "--app", "old", group[0], group[1], "--id", "default") == "one")
        #expect(try items("old").isEmpty)
        #expect(bench.run(["migrate", "--app", "old", "--to-app", "old"] + group) == .success)
        #expect(value("a", "--app", "old") == "one")
        #expect(value("c", "--app", "old", "--service", "s") == "pass")
    }

    @Test func `An item of that name stays, unless --force replaces it`() throws {
        set("a", "mine", "--app", "new", "--accessibility", "after-first-unlock")
        #expect(migrate("--app", "old", "--to-app", "new") == .alreadyThere)
        #expect(try items("old").count == 4)
        #expect(value("a", "--app", "new") == "mine")
        #expect(migrate("--app", "old", "--to-app", "new", "--force") == .success)
        #expect(value("a", "--app", "new") == "one")
        #expect(bench.run("undo", "a", "--app", "new") == .success)
        #expect(value("a", "--app", "new") == "mine")
    }

    @Test func `Two items that would have one name stay`() throws {
        set("a", "second", "--app", "old", "--id", "third")
        #expect(migrate("--app", "old", "--to-id", "one") == .alreadyThere)
        #expect(value("a", "--app", "old") == "one")
        #expect(value("a", "--app", "old", "--id", "third") == "second")
    }

    @Test func `What needs the user stays, and is named`() throws {
        let guarded = try Bench.withPasscode()
        let session = try guarded.context.session(of: Requester(application: "old"))
        var item = NewItem(
            .genericPassword, attributes: [.service: .text("s"), .account: .text("g")])
        item.accessControl = EnclaveDemand.userPresence.accessControl
        try session.set(item, value: SecretValue(copying: [1].span))
        let plain = NewItem(
            .genericPassword, attributes: [.service: .text("s"), .account: .text("p")])
        try session.set(plain, value: SecretValue(copying: [2].span))
        #expect(guarded.run("migrate", "--app", "old", "--to-app", "new") == .success)
        #expect(guarded.console.notes.last?.hasSuffix("needs the user: 'g'") == true)
        let query = ItemQuery(.genericPassword)
        #expect(try session.attributes(of: query).items.map(\.name) == ["g"])
        #expect(guarded.run("copy-to", "g", "--app", "old", "--to-app", "new") == .notFound)
    }

    @Test(arguments: [
        ["--app", "old"], ["--app", "old", "--to-cloud", "--to-local"],
        ["--app", "old", "--to-group", "nodot"],
        ["--app", "old", "--to-cloud", "--to-accessibility", "when-unlocked-this-device-only"],
    ])
    func `Command lines that say too little or too much migrate nothing`(
        _ words: [String]
    ) throws {
        #expect(bench.run(["migrate"] + words) == .usage)
        #expect(try items("old").count == 4)
    }

    @Test func `A locked keychain migrates nothing, nor an application without items`() throws {
        #expect(migrate("--app", "none", "--to-app", "new") == .notFound)
        let locked = try Bench.withPasscode()
        try locked.store.keychain.lock()
        #expect(locked.run("migrate", "--to-app", "new") == .locked)
    }
}
