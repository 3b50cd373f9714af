// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel

@testable import ValetCLI

@Suite struct `The login that valet set changes` {
    private let bench = Bench()
    private let anna = ["set", "anna", "--server", "h.example"]

    private func set(_ options: String..., value: String = "new") -> ExitCode {
        bench.run(anna + options, input: Array(value.utf8))
    }

    /// The values of Anna's passwords for the host.
    private var passwords: [String] {
        bench.values.map { String(decoding: $0, as: UTF8.self) }.sorted()
    }

    private static let parts: [(attributes: ItemAttributes, word: String)] = [
        ([.protocol: .text("ssh ")], "protocol 'ssh'"), ([.port: .number(8443)], "port '8443'"),
        ([.path: .text("team"), .protocol: .text("htps")], "path 'team'"),
    ]

    @Test(arguments: 0..<3)
    func `is named if the command line leaves its protocol, port or path open`(
        _ number: Int
    ) throws {
        let (attributes, word) = Self.parts[number]
        try bench.addLogin("anna", at: "h.example", attributes)
        #expect(set() == .success)
        #expect(passwords == ["new"])
        #expect(bench.console.notes.count == 1)
        #expect(bench.console.notes.joined().contains("valet: changed password with server"))
        #expect(bench.console.notes.joined().contains(word))
        #expect(set("--cloud") == .success)
        #expect(bench.console.notes.first?.contains(word) == true)
    }

    @Test func `is named in the question, too`() throws {
        try bench.addLogin("anna", at: "h.example", [.protocol: .text("ssh ")])
        bench.console.isInputTerminal = true
        #expect(set() == .denied)
        #expect(bench.console.questions.joined().contains("protocol 'ssh'"))
        #expect(passwords == ["anna"])
    }

    @Test(arguments: [[:], [.protocol: .text("htps")]] as [ItemAttributes])
    func `is not named if it is the usual one`(_ attributes: ItemAttributes) throws {
        try bench.addLogin("anna", at: "h.example", attributes)
        #expect(set() == .success && bench.console.notes.isEmpty)
        #expect(passwords == ["new"])
    }

    @Test func `is not named if its parts are given`() throws {
        try bench.addLogin("anna", at: "h.example", Self.parts[0].attributes)
        #expect(set("--protocol", "ssh") == .success && bench.console.notes.isEmpty)
        try bench.addLogin("bert", at: "h.example", Self.parts[1].attributes)
        #expect(bench.run("set", "bert", "--server", "h.example:8443", input: [65]) == .success)
        #expect(bench.console.notes.isEmpty)
        #expect(passwords == ["A", "new"])
    }

    @Test(arguments: [
        ["--protocol", "https"], ["--port", "22"], ["--port", "8443", "--protocol", "https"],
        ["--server", "https://h.example"], ["--server", "h.example:22"],
        ["--server", "https://h.example:8443"],
    ])
    func `is a new one if a part that is given is another one`(_ options: [String]) throws {
        try bench.addLogin(
            "anna", at: "h.example", [.protocol: .text("ssh "), .port: .number(8443)])
        let place = options.first == "--server" ? options : anna.suffix(2) + options
        #expect(bench.run(["set", "anna"] + place, input: Array("new".utf8)) == .success)
        #expect(passwords == ["anna", "new"])
        // It is what the same words find.
        #expect(bench.run(["get", "anna"] + place) == .success)
        #expect(bench.console.outputText == "new")
        #expect(bench.run(["set", "anna"] + place, input: Array("two".utf8)) == .success)
        #expect(passwords == ["anna", "two"])
    }

    @Test func `is none of several, and the error has the options of each`() throws {
        try bench.addLogin("anna", at: "h.example", [.protocol: .text("htps")])
        try bench.addLogin("anna", at: "h.example", [.protocol: .text("ssh ")])
        try bench.addLogin("anna", at: "h.example", [.port: .number(8443)])
        #expect(set() == .usage)
        #expect(passwords == ["anna", "anna", "anna"])
        let lines = bench.choices
        #expect(
            Set(lines) == [
                "anna --server h.example --protocol https",
                "anna --server h.example --protocol ssh", "anna --server h.example --port 8443",
            ])
        for line in lines {
            let words = line.split(separator: " ").map(String.init)
            #expect(bench.run(["set"] + words, input: Array(line.utf8)) == .success)
        }
        #expect(passwords == lines.sorted())
    }

    @Test func `is what --if-absent keeps`() throws {
        try bench.addLogin("anna", at: "h.example", [.protocol: .text("ssh ")])
        #expect(set("--if-absent") == .alreadyThere)
        #expect(bench.console.notes.joined().contains("protocol 'ssh'"))
        #expect(set("--if-absent", "--protocol", "https") == .success)
        #expect(set("--if-absent") == .alreadyThere)
        #expect(bench.run("set", "--account", "anna", "--if-absent", input: [65]) == .usage)
        #expect(passwords == ["anna", "new"])
    }

    @Test func `is named after generate, too`() throws {
        try bench.addLogin("anna", at: "h.example", [.protocol: .text("ssh ")])
        let words = ["generate", "anna", "--server", "h.example"]
        #expect(bench.run(words) == .alreadyThere)
        #expect(bench.run(words + ["--force"]) == .success)
        #expect(bench.console.notes.joined().contains("protocol 'ssh'"))
    }
}
