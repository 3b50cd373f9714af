// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing

@testable import ValetCLI

/// A keychain as imports and helpers leave it.
extension Bench {
    /// Stores an internet password with its account as the value.
    func addLogin(
        _ account: String, at server: String, _ attributes: ItemAttributes = [:],
        isCloud: Bool = false
    ) throws {
        let name: ItemAttributes = [.account: .text(account), .server: .text(server)]
        var item = NewItem(.internetPassword, attributes: name.overwritten(by: attributes))
        item.isSynchronizable = isCloud
        try session.add(item, value: SecretValue(copying: Array(account.utf8).span))
    }

    /// What `get` writes; nil if it fails.
    func value(_ words: String...) -> String? {
        run(["get"] + words) == .success ? console.outputText : nil
    }

    /// The lines of the last error that choose one item each.
    var choices: [String] {
        console.notes.filter { $0.hasPrefix("valet:     ") }.map { String($0.dropFirst(11)) }
    }
}

@Suite struct `A KEY that is no name` {
    private let bench = Bench.withTwoSecrets

    init() throws {
        try bench.addLogin("nina", at: "github.com", [.label: .text("GitHub")])
        try bench.add(
            NewItem(
                .genericPassword,
                attributes: [.account: .text("otto"), .service: .text("mail")]))
    }

    @Test(arguments: ["GitHub", "github.com", "GITHUB.com", "https://github.com/login"])
    func `leads to the one login with that label or host`(_ key: String) {
        #expect(bench.value(key) == "nina")
        #expect(bench.run("show", key) == .success)
        #expect(bench.console.outputText.contains("github.com"))
        #expect(bench.run("contains", key) == .success)
        #expect(bench.run("read", key) == .success && bench.console.outputText == "nina")
        #expect(bench.run("read", "valet:" + key) == .success)
    }

    @Test func `leads to the one password with that service`() {
        #expect(bench.value("mail") == "\u{1}")
    }

    @Test func `is a name wherever a secret has it`() {
        bench.run("set", "GitHub", input: Array("own".utf8))
        #expect(bench.value("GitHub") == "own")
        #expect(bench.items.count == 5)
        bench.run("remove", "GitHub", "--yes")
        #expect(bench.value("GitHub") == "nina")
        // The former value of the secret comes before the login, too.
        #expect(bench.run("undo", "GitHub") == .success)
        #expect(bench.value("GitHub") == "own")
    }

    @Test func `is a name wherever options choose a valet, or another place of the secret`() {
        #expect(bench.value("GitHub", "--id", "default") == nil)
        bench.run("set", "GitHub", "--local", input: Array("own".utf8))
        #expect(bench.run("get", "GitHub", "--cloud") == .notFound)
    }

    @Test(arguments: [["set"], ["generate"], ["otp", "add"]])
    func `is the name of what a verb stores`(_ verb: [String]) {
        let input = Array("otpauth://totp/x?secret=JBSWY3DPEHPK3PXP".utf8)
        #expect(bench.run(verb + ["GitHub"], input: input) == .success)
        #expect(bench.items.count == 5)
        #expect(bench.value("nina", "--server", "github.com") == "nina")
    }

    @Test func `names no login if it fits several, and the error has the options of each`() throws {
        try bench.addLogin("anna", at: "github.com")
        #expect(bench.run("get", "github.com") == .usage)
        #expect(bench.choices.sorted() == ["anna --server github.com", "nina --server github.com"])
    }

    @Test func `of a removed login leads undo and history to it`() {
        #expect(bench.run("remove", "nina", "--server", "github.com", "--yes") == .success)
        #expect(bench.value("GitHub") == nil && bench.items.count == 3)
        #expect(bench.run("history", "GitHub") == .success)
        #expect(bench.value("GitHub", "--version", "1") == "nina")
        #expect(bench.run("undo", "GitHub") == .success)
        #expect(bench.value("GitHub") == "nina")
    }

    @Test func `is explained in the question of remove`() {
        bench.console.isInputTerminal = true
        #expect(bench.run("remove", "github.com") == .denied)
        let question = bench.console.questions.joined()
        #expect(question.contains("account 'nina'") && question.contains("its host"))
    }

    @Test(arguments: [["GitHub"], ["GitHub", "x"]])
    func `is a name for remove without a question`(_ keys: [String]) {
        #expect(bench.run(["remove", "--if-exists", "--yes"] + keys) == .success)
        #expect(bench.run(["remove", "--yes"] + keys) == .notFound)
        #expect(bench.run(["remove", "--purge", "--yes"] + keys) == .notFound)
        #expect(bench.items.count == 4)
        bench.run("remove", "GitHub", "--yes")
        #expect(bench.console.notes.joined().contains("'GitHub' is its label"))
        #expect(bench.choices == ["nina --server github.com"])
    }

    @Test(arguments: [
        "GitLab.com", "gitlab.com", "GITLAB.com:443", "https://gitlab.com", "gitlab.com:443",
    ])
    func `leads to a login whose host was stored in another form`(_ key: String) throws {
        try bench.addLogin("lena", at: "GitLab.com", [.protocol: .text("htps")])
        try bench.addLogin("port", at: "GitLab.com", [.port: .number(8443)])
        bench.run("remove", "--server", "GitLab.com", "--port", "8443", "--yes")
        #expect(bench.value(key) == "lena")
        #expect(bench.value("gitlab.com:8443") == nil)
        try bench.addLogin("other", at: "GitLab.com", [.port: .number(8443)])
        #expect(bench.value("gitlab.com:8443") == "other")
        #expect(bench.value("github.com:443") == "nina")
    }

    @Test func `is the name of an item of an enclave valet, which needs the user`() throws {
        let identity = ValetIdentity(
            identifier: "default", enclave: .devicePasscode, asksOnce: false)
        try bench.store.keychain.setPasscode(Bench.passcode(Bench.passcode))
        try bench.add(identity.item("sealed"))
        #expect(bench.run("contains", "sealed") == .success)
        #expect(bench.run("show", "sealed") == .success)
        #expect(bench.run("show", "sealed", "--id", "default") == .success)
        #expect(bench.run("show", "sealed", "--id", "other") == .notFound)
        #expect(bench.choices.isEmpty)
        #expect(bench.run("get", "sealed") != .notFound)
        #expect(bench.run("remove", "sealed", "--yes") == .success)
        #expect(bench.run("contains", "sealed") == .notFound)
    }

    @Test(arguments: [["GitHub", "label"], ["github.com", "host"], ["mail", "service"]])
    func `becomes the name of a new secret, and set says of which login it is the label`(
        _ words: [String]
    ) {
        #expect(bench.run("set", words[0], input: [65]) == .success)
        let notes = bench.console.notes.joined(separator: "\n")
        #expect(notes.contains("is the \(words[1]) of a password, too"))
        #expect(notes.contains("--ser") && notes.contains("changes that password"))
        #expect(bench.run("set", words[0], input: [66]) == .success)
        #expect(bench.console.notes.isEmpty)
        #expect(bench.run("set", "nothing else", input: [66]) == .success)
        #expect(bench.console.notes.isEmpty)
    }

    @Test(arguments: [["GitHub"], ["GitHub", "a"]])
    func `gets the same answer of a dry run as of remove --yes`(_ keys: [String]) {
        var answers: [[String]] = []
        for option in ["--dry-run", "--yes"] {
            #expect(bench.run(["remove", option] + keys) == .notFound)
            #expect(bench.choices == ["nina --server github.com"])
            answers.append(bench.console.notes)
        }
        #expect(answers[0] == answers[1] && bench.items.count == 4)
    }

    @Test func `removes a login once that two keys lead to`() {
        bench.console.isInputTerminal = true
        bench.console.answer = true
        #expect(bench.run("remove", "a", "GitHub", "github.com") == .success)
        #expect(bench.console.notes.joined().contains("'nina' of 'github.com'"))
        #expect(bench.items.map(\.name).sorted() == ["b", "otto"])
    }

    @Test(arguments: [["rename", "GitHub", "x"], ["move", "GitHub", "--to-key", "x"]])
    func `gets no new name: that would be a new account`(_ words: [String]) {
        #expect(bench.run(words) == .usage)
        #expect(bench.everything.contains("nina --server github.com"))
        #expect(bench.value("GitHub") == "nina")
    }

    @Test func `moves the login, and the answer says which`() {
        #expect(bench.run("move", "GitHub", "--to-cloud") == .success)
        #expect(bench.console.notes.joined().contains("'nina' of 'github.com'"))
        #expect(bench.items.filter(\.isSynchronizable).map(\.name) == ["nina"])
    }

    @Test func `of a damaged login is not absent`() throws {
        try bench.tamper(
            "UPDATE item SET salt = salt + 1 WHERE number = (SELECT max(number) - 1 FROM item)")
        for key in ["GitHub", "github.com"] {
            #expect(bench.run("get", key) == .damaged)
            #expect(bench.run("contains", key) == .damaged)
        }
        try bench.addLogin("anna", at: "github.com")
        #expect(bench.run("get", "github.com") == .damaged)
        #expect(bench.run("remove", "github.com", "--yes") == .damaged)
        #expect(bench.run("get", "other") == .notFound)
        #expect(bench.value("a") == "one")
    }
}

@Suite struct `Several items that match` {
    private let bench = Bench()

    /// Items that differ in one attribute each, and some whose names no terminal shows.
    init() throws {
        let server = "reg.example"
        let base: ItemAttributes = [.protocol: .text("htps")]
        try bench.addLogin("anna", at: server)
        try bench.addLogin("anna", at: server, isCloud: true)
        try bench.addLogin(
            "anna", at: server, base.overwritten(by: [.label: .text("Docker Credentials")]))
        for (attribute, value) in [
            (Attribute.authenticationType, AttributeValue.text("dflt")),
            (.authenticationType, .text("form")), (.path, .text("x")), (.port, .number(8443)),
            (.securityDomain, .text("realm")), (.label, .text("it's \"one\" & $two")),
        ] {
            var more = base
            more[attribute] = value
            if attribute == .label { more[.path] = .text("y") }
            try bench.addLogin("anna", at: server, more)
        }
        for account in ["", "-x", "a\u{1B}[31mb", "a\nb", "e\u{301}", "-e\u{301}", "a b'c"] {
            try bench.addLogin(account, at: server)
        }
        try bench.addLogin("anna", at: "--odd\\server")
        let generic: [ItemAttributes] = [
            [.account: .text("anna"), .service: .text("")],
            [.account: .text("anna"), .service: .text("mail\u{202E}")],
            [.account: .bytes([0xFF]), .service: .text("mail")],
        ]
        for attributes in generic {
            try bench.add(NewItem(.genericPassword, attributes: attributes))
        }
    }

    /// The words that a shell makes of a line.
    private func words(_ line: String) throws -> [String] {
        let output = try TestedCommand.withFolder { folder in
            try TestedCommand.run(
                "/bin/sh", ["-c", "printf '%s\\0' " + line], in: folder
            ).output
        }
        return String(decoding: output, as: UTF8.self).split(separator: "\0").map(String.init)
    }

    @Test(arguments: [["--server", "reg.example"], ["anna"], ["--account", "anna"]])
    func `have a line each, whose words choose exactly that one`(_ selection: [String]) throws {
        let code = bench.run(["show"] + selection)
        #expect(code == (selection == ["anna"] ? .notFound : .usage))
        let lines = bench.choices
        #expect(lines.count > 9 && Set(lines).count == lines.count)
        var found: Set<PersistentReference> = []
        for line in lines {
            #expect(Escaping.harmless(line) == line)
            let words = try words(line)
            for verb in ["show", "history", "contains"] {
                #expect(bench.run([verb] + words) == .success, Comment(rawValue: line))
            }
            bench.run(["show", "--json"] + words)
            let output = bench.console.outputText
            let item = try #require(
                bench.items.first {
                    output.contains("\"id\":\"" + Hexadecimal.text($0.reference.itemID))
                })
            found.insert(item.reference)
            // `set` changes this item, and adds none.
            let count = bench.items.count
            #expect(bench.run(["set"] + words, input: [65]) == .success, Comment(rawValue: line))
            let value = try bench.session.value(of: ItemQuery(item.reference))
            #expect(value?.isEqual(to: SecretValue(copying: ([65] as [UInt8]).span)) == true)
            #expect(bench.items.count == count)
        }
        #expect(found.count == lines.count)
    }

    @Test func `are each moved, renamed and removed by the words of their line`() throws {
        bench.run("show", "--server", "reg.example")
        for line in bench.choices {
            let words = try words(line)
            let before = bench.items.count
            let move = ["move", "--to-accessibility", "after-first-unlock"]
            #expect(bench.run(move + words) == .success, Comment(rawValue: line))
            #expect(bench.run(["remove", "--yes"] + words) == .success, Comment(rawValue: line))
            #expect(bench.items.count == before - 1)
        }
        #expect(bench.run("contains", "--server", "reg.example") == .notFound)
    }

    @Test func `of several valets and services have a line each`() throws {
        bench.run("set", "k", "--id", "a", input: [65])
        bench.run("set", "k", "--id", "b c", input: [66])
        bench.run("set", "k", "--service", "mail", input: [67])
        #expect(bench.run("get", "k") == .notFound)
        #expect(
            Set(bench.choices) == ["k --id a", "k --id 'b c'", "k --service mail"])
        #expect(
            try bench.choices.map(words).map { bench.run(["get"] + $0) }
                == [.success, .success, .success])
    }

    @Test func `are shown by the first twenty lines, and counted`() throws {
        for number in 0..<30 { try bench.addLogin("many", at: "s\(number).example") }
        #expect(bench.run("get", "many") == .notFound)
        #expect(bench.choices.count == 20)
        #expect(bench.everything.contains("shows 10 more"))
    }

    @Test func `are members of the error in JSON`() {
        bench.run("set", "k", "--id", "a", input: [65])
        bench.run("set", "k", "--id", "b", input: [66])
        #expect(bench.run("get", "k", "--json") == .notFound)
        #expect(bench.everything.contains(#""choices":["k --id a","k --id b"]"#))
    }
}
