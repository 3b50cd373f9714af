// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSealing
import ValetSystem

@testable import ValetCLI

@Suite struct `valet copy and valet edit` {
    private let bench = Bench()

    private func value(_ text: String) -> SecretValue {
        SecretValue(copying: Array(text.utf8).span)
    }

    // Promise: 4.11
    @Test func `A copied value is known again by its hash alone`() throws {
        let copied = CopiedValue(value("hunter2"))
        let bytes = copied.bytes
        #expect(bytes.byteCount == 64)
        let known = try #require(CopiedValue(bytes: bytes))
        #expect(known.isEqual(to: value("hunter2")))
        #expect(!known.isEqual(to: value("hunter3")) && !known.isEqual(to: value("")))
        // Nobody can look the hash up: it has another key each time.
        #expect(!CopiedValue(value("hunter2")).bytes.isEqual(to: bytes))
        #expect(CopiedValue(bytes: value("hunter2")) == nil)
        #expect(CopiedValue(bytes: SecretValue(SecretBytes(byteCount: 65))) == nil)
    }

    @Test func `A clipboard needs its session and its programs`() throws {
        let folder = bench.folder.path
        for name in ["wl-copy", "wl-paste", "xclip"] {
            let path = folder + "/" + name
            try Data("#!/bin/sh\n".utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o755], ofItemAtPath: path)
        }
        func kinds(_ variables: [String: String]) -> [Clipboard.Kind] {
            Clipboard.Kind.allCases.filter { Clipboard($0, Environment(variables)) != nil }
        }
        let path = "relative:\(folder)"
        #expect(kinds(["PATH": path, "DISPLAY": ":0"]) == [.xclip])
        #expect(
            kinds(["PATH": path, "WAYLAND_DISPLAY": "w", "DISPLAY": ":0"]) == [.wayland, .xclip])
        #expect(kinds(["PATH": path, "WAYLAND_DISPLAY": "", "DISPLAY": ""]).isEmpty)
        #expect(kinds(["PATH": "/nowhere", "WAYLAND_DISPLAY": "w", "DISPLAY": ":0"]).isEmpty)
        try FileManager.default.removeItem(atPath: folder + "/wl-paste")
        #expect(kinds(["PATH": path, "WAYLAND_DISPLAY": "w"]).isEmpty)
    }

    @Test(arguments: [
        ("xterm-256color", true, true), ("xterm", false, false), ("linux", true, false),
        ("dumb", true, false), ("", true, false), ("vt100", true, false),
    ])
    func `A terminal takes a secret only if it does not show it`(
        _ name: String, _ isTerminal: Bool, _ takesIt: Bool
    ) {
        bench.console.isOutputTerminal = isTerminal
        #expect(Clipboard.hasTerminal(bench.console, Environment(["TERM": name])) == takesIt)
    }

    @Test func `A terminal gets a secret in base64, in one sequence`() throws {
        try Clipboard.send(value("pässword\n"), to: bench.console)
        #expect(bench.console.outputText == "\u{1B}]52;c;cMOkc3N3b3JkCg==\u{7}")
    }

    @Test func `The verb of the process that clears is in no help`() {
        #expect(bench.run("clear-clipboard", "--after", "1s", input: [1]) == .usage)
        bench.run("--help")
        #expect(!bench.console.outputText.contains("clear-clipboard"))
    }

    @Test func `An editor needs a terminal`() {
        bench.run("set", "k", input: [0x61])
        #expect(bench.run("edit", "k") == .usage)
        bench.console.isInputTerminal = true
        #expect(bench.run("edit", "k") == .usage)
        bench.console.isOutputTerminal = true
        bench.console.refusalToAsk = "questions are turned off"
        #expect(bench.run("edit", "k") == .usage)
        #expect(
            bench.console.notes.first
                == "valet: error: cannot open an editor: questions are turned off")
    }

    @Test(arguments: [
        (["get", "-c", "k"], "'valet copy KEY' puts a secret onto the clipboard"),
        (["show", "k", "--clip"], "'valet copy KEY' puts a secret onto the clipboard"),
        (["get", "k", "--otp"], "'valet otp KEY' shows a one-time code"),
        (["contains", "k", "-c"], "'valet contains --help' lists the options"),
    ])
    func `Options that other tools have lead to the verbs`(_ words: [String], _ hint: String) {
        #expect(bench.run(words) == .usage)
        #expect(bench.console.notes.last?.hasPrefix("valet: hint: " + hint) == true)
    }

    @Test(arguments: [("clip", "copy"), ("yank", "copy"), ("vi", "edit"), ("modify", "edit")])
    func `Words that other tools have lead to copy and edit`(_ word: String, _ verb: String) {
        bench.run(word)
        #expect(bench.console.notes.last == "valet: hint: did you mean '\(verb)'?")
    }
}
