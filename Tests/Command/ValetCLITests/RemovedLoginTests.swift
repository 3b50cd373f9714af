// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetSealing

@testable import ValetCLI

@Suite struct `A removed login` {
    private let bench = Bench()
    private let nina = ["nina", "--server", "github.com"]
    private let otto = ["otto", "--server", "github.com"]

    /// Two logins of one host. Nina's is gone.
    init() throws {
        try bench.addLogin("nina", at: "github.com", [.label: .text("GitHub")])
        try bench.addLogin("otto", at: "github.com")
        #expect(bench.run(["remove", "--yes"] + nina) == .success)
    }

    @Test(arguments: ["github.com", "GITHUB.com"])
    func `is what undo and history mean, and not one that has no former value`(_ key: String) {
        #expect(bench.run("history", key) == .success)
        #expect(bench.console.outputText.contains("removed"))
        #expect(bench.value(key, "--version", "1") == "nina")
        #expect(bench.run("undo", key) == .success)
        #expect(bench.items.map(\.name).sorted() == ["nina", "otto"])
    }

    @Test func `is one of two if another one has former values, and each has a line`() {
        bench.run(["set"] + otto, input: Array("new".utf8))
        for words in [["undo"], ["history"], ["get", "--version", "1"]] {
            #expect(bench.run(words + ["github.com"]) == .usage)
            #expect(
                bench.choices.sorted() == ["nina --server github.com", "otto --server github.com"])
        }
        #expect(bench.items.count == 1)
        #expect(bench.run(["undo"] + otto) == .success && bench.value("github.com") == "otto")
        #expect(bench.run(["undo"] + nina) == .success)
        #expect(bench.value("nina", "--server", "github.com") == "nina")
    }

    @Test func `is not meant if the present one alone has former values`() {
        #expect(bench.run(["remove", "--purge", "--yes"] + nina) == .success)
        #expect(bench.run("history", "github.com") == .success)
        #expect(bench.console.notes.joined().contains("no former values"))
        bench.run(["set"] + otto, input: Array("new".utf8))
        #expect(bench.run("undo", "github.com") == .success)
        #expect(bench.value("github.com") == "otto")
    }

    @Test func `is one of two for remove --purge`() {
        bench.console.isInputTerminal = true
        bench.console.answer = true
        #expect(bench.run("remove", "--purge", "github.com") == .usage)
        #expect(bench.run("remove", "--purge", "GitHub", "--yes") == .notFound)
        #expect(bench.choices == ["nina --server github.com"])
        #expect(bench.run(["history"] + nina) == .success)
        #expect(bench.run("remove", "--purge", "GitHub") == .success)
        #expect(bench.run(["history"] + nina) == .notFound)
    }

    @Test func `is not one that has another label now`() {
        let words = otto + ["--label"]
        bench.run(["set"] + words + ["Old"], input: Array("1".utf8))
        bench.run(["set"] + words + ["New"], input: Array("2".utf8))
        #expect(bench.run("undo", "Old") == .notFound)
        #expect(bench.value("New") == "2")
    }

    @Test func `that was removed twice is one`() throws {
        try bench.addLogin("nina", at: "github.com", [.label: .text("Second")])
        #expect(bench.run(["remove", "--yes"] + nina) == .success)
        #expect(bench.run(["history"] + nina) == .success)
        #expect(bench.run("undo", "github.com") == .success)
        #expect(bench.value("Second") == "nina")
    }

    @Test(arguments: [true, false])
    func `of several has a line whose words choose exactly it`(_ isOnePresent: Bool) throws {
        let server = "reg.example"
        let parts: [ItemAttributes] = [
            [:], [.port: .number(8443)], [.protocol: .text("htps")],
            [.path: .text("x"), .protocol: .text("htps")], [.authenticationType: .text("form")],
            [.label: .text("Docker"), .path: .text("y")],
        ]
        var values: Set<String> = []
        for (number, attributes) in parts.enumerated() {
            let name: ItemAttributes = [.account: .text("anna"), .server: .text(server)]
            let item = NewItem(.internetPassword, attributes: name.overwritten(by: attributes))
            let value = "value \(number)"
            try bench.session.add(item, value: SecretValue(copying: Array(value.utf8).span))
            values.insert(value)
        }
        // Stored with another form of the name.
        let stray: ItemAttributes = [.account: .text("anna"), .server: .text("Reg.example")]
        try bench.session.add(
            NewItem(.internetPassword, attributes: stray),
            value: SecretValue(copying: Array("stray".utf8).span))
        for server in [server, "Reg.example"] {
            #expect(bench.run("remove", "--all", "--server", server, "--yes") == .success)
        }
        if isOnePresent { try bench.addLogin("anna", at: server) }
        #expect(bench.run("history", "--server", "Reg.example") == .usage)
        #expect(bench.choices.count == parts.count + 1)
        values.insert("stray")
        var found: Set<String> = []
        for line in bench.choices {
            let words = line.split(separator: " ").map(String.init)
            #expect(bench.run(["history"] + words) == .success, Comment(rawValue: line))
            #expect(bench.run(["get", "--version", "1"] + words) == .success)
            found.insert(bench.console.outputText)
            #expect(bench.run(["undo"] + words) == .success, Comment(rawValue: line))
        }
        #expect(found == values)
        // Those of this host, and one of another.
        #expect(bench.items.count == values.count + 1)
    }
}
