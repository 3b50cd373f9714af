// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetCLI

@Suite struct `A reference to a secret` {
    private func key(_ text: String) throws -> (ItemSelection, String?) {
        let selection = try SecretReference(text).selection
        return (selection, try selection.key?.text())
    }

    @Test(arguments: [
        ("valet://app/id/key", "app", "id", "key"), ("valet:///id/key", nil, "id", "key"),
        ("valet://app//key", "app", "default", "key"), ("valet:///./a/b", nil, ".", "a/b"),
        ("valet:key", nil, "default", "key"), ("key", nil, "default", "key"),
        ("valet://a%2Fb/i%20d/%C3%A4", "a/b", "i d", "ä"), ("valet:a?b", nil, "default", "a?b"),
    ])
    func `A reference names an application, a valet and a key`(
        _ text: String, _ application: String?, _ identifier: String, _ name: String
    ) throws {
        let (selection, key) = try key(text)
        #expect(selection.scope.requester.application == application)
        #expect(selection.scope.identifier == identifier && key == name)
        #expect(selection.password == nil && !selection.scope.isCloud)
    }

    @Test func `A reference can have options of the item`() throws {
        let (cloud, _) = try key("valet:///x/k?cloud&accessibility=after-first-unlock")
        #expect(cloud.scope.isCloud && cloud.scope.accessibility == .afterFirstUnlock)
        let (password, account) = try key("valet://app/?server=h&port=25&account=anna%40x")
        let query = try #require(password.queries.first)
        #expect(query.itemClass == .internetPassword && account == "anna@x")
        #expect(query.attributes == [.server: .text("h"), .port: .number(25)])
    }

    @Test(arguments: [
        "", "valet:", "valet://", "valet://a/b/%+f", "valet://a/b/%-1", "valet://a/b/% 1",
        "valet://a/?server=h&port=+25", "valet://a", "valet://a/b", "valet://a/b/", "valet://a/b/%",
        "valet://a/b/%zz", "valet://a/b/%00", "valet://a/b/%ff", "valet://a/b/k?",
        "valet://a/b/k?x=1",
        "valet://a/b/k?cloud=1", "valet://a/b/k?accessibility=ever", "valet://a/?port=25",
        "valet://a/b/k?service=s",
    ])
    func `A malformed reference is refused`(_ text: String) {
        let error = #expect(throws: CLIError.self) { try SecretReference(text) }
        #expect(error?.code == .usage)
    }
}

@Suite struct `A template` {
    private func filled(_ text: String) throws -> (String, notes: [String]) {
        let bench = Bench()
        bench.run("set", "k", input: Array("v".utf8))
        #expect(bench.run("inject", input: Array(text.utf8)) == .success)
        return (bench.console.outputText, bench.console.notes)
    }

    @Test(arguments: [
        ("{{ valet:k }}", "v"), ("{{valet:k}}", "v"), ("{{ \"valet:k\" }}", "v"),
        ("{{'valet:k'}}", "v"), ("{{ `valet:k` }}", "v"), ("a \n{{- valet:k -}}\n b", "avb"),
        ("{{- valet:k }} b", "v b"), ("{{ valet:k -}} b", "vb"), ("{{ valet:///default/k}}", "v"),
        ("{{ x }} {{", "{{ x }} {{"), ("{ {{ {{valet:k}}", "{ {{ v"),
        ("{\"a\":{{ valet:k }}}", "{\"a\":v}"), ("x valet:k", "x valet:k"),
    ])
    func `References in braces become secrets, and nothing else does`(
        _ text: String, _ expected: String
    ) throws {
        let (output, notes) = try filled(text)
        #expect(output == expected && notes == [])
    }

    @Test(arguments: [
        ("a {{ secret \"valet:k\" }}", 3), ("{{ x | valet:k }}", 1), ("a\"valet:///d/k\"", 3),
        ("{{-valet:k}} {{ (valet:k) }}", 14),
    ])
    func `What looks like a reference and stays is named`(_ text: String, _ column: Int) throws {
        let notes = try filled(text).notes
        #expect(notes.count == 1)
        #expect(notes.first?.contains("line 1, column \(column): this looks like") == true)
    }

    @Test(arguments: ["{{ valet:k", "{{ valet:k }", "{{ 'valet:k }}", "{{ \"valet:k' }}"])
    func `A reference that is not closed is refused with its place`(_ text: String) {
        let bench = Bench()
        #expect(bench.run("inject", input: Array(("\n " + text).utf8)) == .usage)
        #expect(bench.console.output.isEmpty)
        #expect(
            bench.console.notes.first
                == "valet: error: line 2, column 2: a reference is not closed")
    }

    @Test func `Nothing raw is written to a terminal unless it is forced`() {
        let bench = Bench()
        bench.run("set", "k", input: Array("\u{1B}[2Jv".utf8))
        bench.console.isOutputTerminal = true
        #expect(bench.run("inject", input: Array("a{{ valet:k }}".utf8)) == .failure)
        #expect(bench.console.output.isEmpty)
        bench.run("inject", "--force", input: Array("a{{ valet:k }}".utf8))
        #expect(bench.console.outputText == "a\u{1B}[2Jv")
        bench.console.isOutputTerminal = false
        bench.run("inject", input: Array("a{{ valet:k }}".utf8))
        #expect(bench.console.outputText == "a\u{1B}[2Jv")
    }

    @Test func `A template in the form of a .env file is quoted anew`() {
        let bench = Bench()
        bench.run("set", "k", input: Array("it's\n#1".utf8))
        let template = "# c\nA=valet:k\nB='valet:k'\nC=\"x {{ valet:k }}\"\na.b=1 # c\n"
        #expect(bench.run("inject", "--format", "dotenv", input: Array(template.utf8)) == .success)
        #expect(
            bench.console.outputText
                == "A=\"it's\n#1\"\nB='valet:k'\nC=\"x it's\n#1\"\na.b=1\n")
    }
}
