// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ValetCLI

@Suite struct `valet get` {
    private let bench = Bench.withTwoSecrets

    @Test func `valet get writes the exact bytes`() {
        bench.run("set", "k", input: [0, 255, 10])
        #expect(bench.run("get", "k") == .success)
        #expect(bench.console.output == [0, 255, 10])
    }

    @Test func `valet get names what a person at a terminal may have meant`() {
        bench.run("set", "github/token", input: [1])
        #expect(bench.run("get", "githbu/token") == .notFound)
        #expect(bench.console.notes.last?.contains("did you mean") == false)
        bench.console.isErrorTerminal = true
        #expect(bench.run("get", "githbu/token") == .notFound)
        #expect(bench.console.notes.last == "valet: hint: did you mean 'github/token'?")
        #expect(bench.run("get", "unlike") == .notFound)
        #expect(bench.console.notes.last?.contains("did you mean") == false)
    }

    @Test func `valet get adds a newline at a terminal`() {
        bench.console.isOutputTerminal = true
        bench.run("get", "a")
        #expect(bench.console.outputText == "one\n")
    }

    @Test(arguments: [
        "caf\u{E9}\ttext\r\nmore", "\u{1F511}", "\u{1F469}\u{200D}\u{1F469}\u{200D}\u{1F467}",
        "\u{2764}\u{FE0F}",
    ])
    func `valet get shows text at a terminal`(_ text: String) {
        bench.console.isOutputTerminal = true
        bench.run("set", "k", input: Array(text.utf8))
        #expect(bench.run("get", "k") == .success)
    }

    // Promise: 5.6
    @Test(
        arguments: [
            [0], [0xFF], [0x1B, 0x5B], [0x61, 0x0D], [0x7F], [0xC2, 0x9B], [0xC2, 0x85],
            [0xE2, 0x80],
            Array("a\u{202E}b".utf8), Array("a\u{2066}b".utf8), Array("a\u{200B}b".utf8),
            Array("a\u{200D}b".utf8), Array("\u{1F511}\u{200D}".utf8), Array("\u{2028}".utf8),
            Array("\u{E0041}".utf8), Array("\u{FEFF}a".utf8),
        ] as [[UInt8]])
    func `valet get refuses to write binary data to a terminal`(_ value: [UInt8]) {
        bench.console.isOutputTerminal = true
        bench.run("set", "k", input: value)
        #expect(bench.run("get", "k") == .failure)
        #expect(bench.console.output.isEmpty)
        #expect(
            bench.console.notes == [
                "valet: error: the secret is not plain text, and standard output is a terminal",
                "valet: hint: redirect the output, or use '--force'",
            ])
    }

    @Test func `valet get --force writes binary data to a terminal`() {
        bench.console.isOutputTerminal = true
        bench.run("set", "k", input: [0])
        bench.run("get", "k", "--force")
        #expect(bench.console.output == [0, 10])
    }

    @Test func `valet get names the key and the valet that lacks it, and shows the hint`() throws {
        try bench.setItemAside()
        #expect(bench.run("get", "c", "--id", "x") == .notFound)
        #expect(
            bench.console.notes == [
                "valet: error: no 'c' in valet 'x' of \(Bench.application)",
                Bench.setAside,
            ])
    }

    @Test func `valet get writes text as a JSON object if asked to`() {
        bench.run("set", "k", input: Array("a\"\\\n\u{E9}".utf8))
        bench.run("get", "k", "--json")
        #expect(
            bench.console.outputText
                == #"{"name":"k","byteCount":6,"encoding":"utf-8","value":"a\"\\\né"}"# + "\n")
    }

    // Promise: 5.6
    @Test(arguments: ["\u{1B}]0;a\u{7}", "\u{9B}2J", "\u{202E}", "\u{E0041}"])
    func `valet get writes no character as JSON that a terminal acts on`(_ text: String) throws {
        bench.console.isOutputTerminal = true
        bench.run("set", "k", input: Array(text.utf8))
        #expect(bench.run("get", "k", "--json") == .success)
        #expect(bench.console.outputText.utf8.allSatisfy { (0x20..<0x7F).contains($0) || $0 == 10 })
        let object = try JSONSerialization.jsonObject(with: Data(bench.console.output))
        #expect((object as? [String: Any])?["value"] as? String == text)
    }

    @Test(arguments: [1, 2, 3, 3071, 3072, 3073, 10_000])
    func `valet get writes binary data as base64 in a JSON object`(_ byteCount: Int) throws {
        let value = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 * 7 + 255) }
        bench.run("set", "k", input: value)
        bench.run("get", "k", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(bench.console.output))
        let members = try #require(object as? [String: Any])
        #expect(members["encoding"] as? String == "base64")
        #expect(members["value"] as? String == Data(value).base64EncodedString())
    }

    @Test func `valet get splits no character when it writes a long text as a JSON object`() throws
    {
        let text = String(repeating: "\u{1F511}\u{1}\"", count: 2000)
        bench.run("set", "k", input: Array(text.utf8))
        bench.run("get", "k", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(bench.console.output))
        #expect((object as? [String: Any])?["value"] as? String == text)
    }
}

@Suite struct `valet contains` {
    private let bench = Bench.withTwoSecrets

    @Test(arguments: [("a", ExitCode.success), ("c", .notFound)])
    func `valet contains answers by its exit code alone`(_ key: String, _ code: ExitCode) {
        #expect(bench.run("contains", key) == code)
        #expect(bench.console.output.isEmpty && bench.console.notes.isEmpty)
    }

    @Test func `valet contains writes a JSON object if asked to`() {
        bench.run("contains", "c", "--json")
        #expect(bench.console.outputText == "{\"name\":\"c\",\"contains\":false}\n")
    }
}
