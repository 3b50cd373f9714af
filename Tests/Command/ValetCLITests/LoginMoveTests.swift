// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing

@testable import ValetCLI

@Suite struct `Passwords that move` {
    private let bench = Bench.withTwoSecrets
    private let nina = ["nina", "--server", "github.com"]

    init() throws {
        try bench.addLogin(
            "nina", at: "github.com",
            [
                .label: .text("GitHub"), .comment: .text("work"), .protocol: .text("htps"),
                .authenticationType: .text("form"), .path: .text("x"), .creator: .number(7),
            ])
        try bench.add(
            NewItem(
                .genericPassword,
                attributes: [.account: .text("otto"), .service: .text("mail")]))
    }

    private func item(_ name: String) throws -> StoredItem {
        let found = bench.items.filter { $0.name == name }
        #expect(found.count == 1)
        return try #require(found.first)
    }

    /// What a move leaves: all attributes but those that it changes, and the value.
    private func expectSame(
        _ old: StoredItem, _ new: StoredItem, but changed: Set<Attribute> = []
    ) throws {
        let own = changed.union([.modificationDate])
        #expect(
            old.attributes.filter { !own.contains($0.key) }
                == new.attributes.filter { !own.contains($0.key) })
        #expect(old.reference == new.reference)
        let value = try bench.session.value(of: ItemQuery(new.reference))
        #expect(value?.isEqual(to: SecretValue(copying: Array("nina".utf8).span)) == true)
    }

    @Test(arguments: [["--to-cloud"], ["--to-accessibility", "after-first-unlock"]])
    func `keep their label, comment, dates and parts`(_ words: [String]) throws {
        let old = try item("nina")
        #expect(bench.run(["move"] + nina + words) == .success)
        let new = try item("nina")
        try expectSame(old, new)
        #expect(new.isSynchronizable == (words == ["--to-cloud"]))
        #expect(bench.console.notes.joined().contains("'nina' of 'github.com'"))
        #expect(bench.run(["move"] + nina + words) == .usage)
    }

    @Test func `keep their former values`() throws {
        bench.run(["set"] + nina, input: Array("new".utf8))
        #expect(bench.run(["move"] + nina + ["--to-cloud"]) == .success)
        #expect(bench.console.notes.count == 1)
        #expect(bench.run(["rename"] + nina + ["anna"]) == .success)
        #expect(bench.value("anna", "--server", "github.com") == "new")
        #expect(bench.run("undo", "anna", "--server", "github.com") == .success)
        #expect(bench.value("anna", "--server", "github.com") == "nina")
        #expect(bench.run("contains", "nina", "--server", "github.com") == .notFound)
    }

    @Test(arguments: [
        ["rename", "nina", "anna", "--server", "github.com"],
        ["rename", "--server", "github.com", "anna"],
        ["rename", "anna", "--label", "GitHub"],
        ["move", "--server", "github.com", "--to-key", "anna"],
    ])
    func `get another account by rename`(_ words: [String]) throws {
        let old = try item("nina")
        #expect(bench.run(words) == .success)
        try expectSame(old, try item("anna"), but: [.account])
    }

    @Test func `go to another application or group, but to no valet`() throws {
        let old = try item("nina")
        #expect(bench.run(["move"] + nina + ["--to-id", "x"]) == .usage)
        #expect(bench.run(["move"] + nina + ["--to-app", "other"]) == .success)
        let there = try item("nina")
        try expectSameAttributes(old, there)
        #expect(there.accessGroup.rawValue == "other")
        let further = ["--app", "other", "--to-group", "team.x"]
        #expect(bench.run(["move"] + nina + further) == .success)
        let shared = try item("nina")
        #expect(shared.accessGroup.rawValue == "team.x")
    }

    private func expectSameAttributes(_ old: StoredItem, _ new: StoredItem) throws {
        #expect(
            old.attributes.filter { $0.key != .modificationDate }
                == new.attributes.filter { $0.key != .modificationDate })
    }

    @Test func `are copied with all attributes, but to no second place of one name`() throws {
        #expect(bench.run(["copy-to"] + nina + ["--to-cloud"]) == .usage)
        #expect(bench.run(["copy-to"] + nina + ["--to-app", "other"]) == .success)
        let both = bench.items.filter { $0.name == "nina" }
        #expect(both.count == 2 && both.allSatisfy { $0.attributes[.comment] == .text("work") })
    }

    @Test func `replace no two at once`() throws {
        let nina = ["nina", "--server", "b.example"]
        for isCloud in [false, true] {
            try bench.addLogin("nina", at: "b.example", isCloud: isCloud)
        }
        #expect(bench.run("move", "--all", "--to-app", "other") == .success)
        try bench.addLogin("nina", at: "b.example")
        #expect(bench.run(["move"] + nina + ["--to-app", "other", "--force"]) == .alreadyThere)
        #expect(bench.items.count { $0.name == "nina" && $0.owner.name == "b.example" } == 3)
    }

    @Test(arguments: [["move"], ["move", "--force"], ["copy-to"]])
    func `do not go to one place together, and a dry run says so, too`(_ verb: [String]) throws {
        for isCloud in [false, true] {
            try bench.addLogin("nina", at: "b.example", isCloud: isCloud)
        }
        let words = verb + ["--all", "--to-app", "other", "--to-cloud"]
        for more in [["--dry-run"], []] {
            #expect(bench.run(words + more) == .usage)
            #expect(bench.console.notes.joined().contains("would both be 'nina' of 'b.example'"))
            #expect(
                bench.choices.sorted() == [
                    "nina --server b.example --cloud", "nina --server b.example --local",
                ])
        }
        #expect(bench.items.allSatisfy { $0.accessGroup.rawValue == "valet" })
        let twin = ["nina", "--server", "b.example", "--local"]
        #expect(bench.run(["move"] + twin + words.suffix(3)) == .success)
    }

    @Test func `of two valets do not take one name in a third one`() throws {
        for name in ["x", "y"] {
            let service = ServiceName.standard(
                .valet, identifier: name, accessibility: "AccessibleWhenUnlocked")
            try bench.add(
                NewItem(
                    .genericPassword,
                    attributes: [
                        .account: .text("k"), .service: .text(service), .label: .text("L"),
                    ]))
        }
        for more in [["--dry-run"], []] {
            #expect(bench.run(["move", "--all", "--label", "L", "--to-id", "z"] + more) == .usage)
            #expect(bench.choices.sorted() == ["k --id x", "k --id y"])
        }
        #expect(bench.run("get", "k", "--id", "z") == .notFound)
    }

    @Test func `that are there already are told what would move them`() {
        #expect(bench.run(["move"] + nina + ["--to-local"]) == .usage)
        let text = bench.console.notes.joined()
        #expect(text.contains("'--to-app'") && !text.contains("'--to-id'"))
    }

    @Test(arguments: [
        ["rename", "--account", "tok", "new"], ["move", "--account", "tok", "--to-key", "new"],
    ])
    func `do not take a secret out of its valet`(_ words: [String]) {
        bench.run("set", "tok", "--id", "web", input: Array("v".utf8))
        #expect(bench.run(words) == .success)
        #expect(bench.value("new", "--id", "web") == "v")
    }

    @Test(arguments: [["--label", "New"], []])
    func `are not what set finds by an account alone`(_ options: [String]) throws {
        bench.run("set", "tok", "--id", "web", input: Array("v".utf8))
        let words = ["set", "--account", "tok"] + options
        #expect(bench.run(words, input: Array("x".utf8)) == .usage)
        #expect(bench.value("tok", "--id", "web") == "v")
    }

    @Test func `take no place that is taken, unless --force replaces it`() throws {
        var more: ItemAttributes = [
            .protocol: .text("htps"), .authenticationType: .text("form"), .path: .text("x"),
        ]
        try bench.addLogin("nina", at: "github.com", more, isCloud: true)
        #expect(bench.run(["move"] + nina + ["--local", "--to-cloud"]) == .alreadyThere)
        more[.label] = .text("other")
        try bench.addLogin("anna", at: "github.com", more, isCloud: true)
        #expect(bench.run(["rename"] + nina + ["--local", "anna"]) == .alreadyThere)
        let count = bench.items.count
        #expect(bench.run(["move"] + nina + ["--local", "--to-cloud", "--force"]) == .success)
        #expect(bench.items.count == count - 1)
    }

    @Test func `of the application move with --all, and stay where a valet is chosen`() throws {
        #expect(bench.run("move", "--all", "--to-cloud", "--dry-run") == .success)
        #expect(bench.console.outputText == "a\nb\nnina\notto\n")
        #expect(bench.run(["move"] + nina + ["--to-cloud"]) == .success)
        // Some are there already.
        #expect(bench.run("move", "--all", "--to-cloud") == .success)
        #expect(bench.items.allSatisfy(\.isSynchronizable) && bench.items.count == 4)
        #expect(bench.console.notes.count == 2)
        #expect(bench.console.notes.joined().contains("'otto' of 'mail'"))
        #expect(bench.run("move", "--all", "--to-cloud") == .usage)
        #expect(bench.run("move", "--all", "--id", "default", "--to-local") == .success)
        #expect(bench.items.filter(\.isSynchronizable).map(\.name).sorted() == ["nina", "otto"])
        #expect(bench.run("move", "--all", "--to-id", "x") == .success)
        let notes = bench.console.notes.joined(separator: "\n")
        #expect(notes.contains("2 passwords stay: 'nina' of 'github.com', 'otto' of 'mail'"))
        #expect(bench.run("move", "--all", "--server", "github.com", "--to-local") == .success)
        #expect(bench.items.filter(\.isSynchronizable).map(\.name).sorted() == ["otto"])
        #expect(bench.run("move", "--matching", "ot*", "--to-local") == .success)
        #expect(bench.items.filter(\.isSynchronizable).isEmpty)
    }

    @Test func `stay with remove --all and --matching, which name them`() throws {
        #expect(bench.run("remove", "--matching", "*", "--dry-run") == .success)
        #expect(bench.console.outputText == "a\nb\n")
        #expect(bench.run("remove", "--all", "--yes") == .success)
        let notes = bench.console.notes.joined(separator: "\n")
        #expect(notes.contains("2 passwords stay: 'nina' of 'github.com', 'otto' of 'mail'"))
        #expect(bench.items.map(\.name).sorted() == ["nina", "otto"])
    }

    @Test func `that require the user stay`() throws {
        var item = NewItem(
            .internetPassword,
            attributes: [.account: .text("guarded"), .server: .text("github.com")])
        item.accessControl = try AccessControl(.whenUnlocked, .devicePasscode)
        try bench.store.keychain.setPasscode(Bench.passcode(Bench.passcode))
        try bench.add(item)
        let words = ["guarded", "--server", "github.com"]
        #expect(bench.run(["move"] + words + ["--to-cloud"]) == .denied)
        #expect(bench.run(["set"] + words + ["--cloud"], input: [65]) == .denied)
        let left = try self.item("guarded")
        #expect(left.accessControl != nil)
    }

    @Test(arguments: [
        ["nina", "--server", "github.com", "--cloud"], ["--label", "GitHub", "--cloud"],
        ["nina", "--server", "GitHub.com", "--protocol", "https", "--cloud"],
    ])
    func `are moved by set, in one step`(_ words: [String]) throws {
        let old = try item("nina")
        #expect(bench.run(["set", "--json"] + words, input: Array("nina".utf8)) == .success)
        #expect(bench.console.outputText.contains("\"moved\":true"))
        #expect(
            bench.console.notes.joined().contains(
                "it was when-unlocked, on this device, and is when-unlocked, shared"))
        let new = try item("nina")
        #expect(new.isSynchronizable)
        try expectSame(old, new)
        #expect(bench.run(["set"] + words, input: Array("two".utf8)) == .success)
        #expect(!bench.console.notes.joined().contains("moved"))
        #expect(bench.run(["undo"] + words) == .success)
        #expect(bench.value("nina", "--server", "github.com") == "nina")
    }

    @Test func `are moved by set --service, too`() throws {
        #expect(bench.run("set", "otto", "--service", "mail", "--cloud", input: [65]) == .success)
        let moved = try item("otto")
        #expect(moved.isSynchronizable)
        #expect(bench.run("set", "otto", "--service", "mail", "--local", input: [65]) == .success)
        let back = try item("otto")
        #expect(!back.isSynchronizable)
        #expect(
            bench.run("set", "otto", "--service", "mail", "--cloud", "--if-absent", input: [65])
                == .alreadyThere)
    }
}
