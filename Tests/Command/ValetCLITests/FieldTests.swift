// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel

@testable import ValetCLI

@Suite struct `The fields of a secret` {
    private let bench = Bench.withTwoSecrets
    private static let uri = "otpauth://totp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

    private func set(_ words: String..., value: String) {
        #expect(bench.run(["set"] + words, input: Array(value.utf8)) == .success, "\(words)")
    }

    private func get(_ words: String...) -> String {
        bench.run(["get"] + words) == .success ? bench.console.outputText : "failed"
    }

    private var shown: String {
        bench.run("show", "a", "--json")
        return bench.console.outputText
    }

    @Test func `A field is set, read and removed by its name, and the value stays`() {
        set("a", "--field", "pin", value: "1234\n")
        #expect(get("a", "--field", "pin") == "1234" && get("a") == "one")
        set("a", "--field", "pin", value: "5")
        #expect(get("a", "--field", "PIN") == "5")
        #expect(bench.run("contains", "a", "--field", "pin") == .success)
        #expect(bench.run("remove", "a", "--field", "pin", "--yes") == .success)
        #expect(bench.run("contains", "a", "--field", "pin") == .notFound)
        #expect(bench.run("get", "a", "--field", "pin") == .notFound)
        #expect(bench.console.notes.last?.contains("'valet set KEY --field NAME'") == true)
        #expect(bench.run("remove", "a", "--field", "pin", "--yes") == .notFound)
        #expect(bench.run("remove", "a", "--field", "pin", "--yes", "--if-exists") == .success)
        #expect(get("a") == "one")
    }

    @Test func `The value is no field that can be removed, alone or with others`() {
        set("a", "--field", "pin", value: "1")
        for words in [["a"], ["a", "b"], ["--all"], ["a", "--purge"]] {
            let line = ["remove"] + words + ["--field", "Password", "--yes"]
            #expect(bench.run(line) == .usage, "\(words)")
        }
        #expect(get("a") == "one" && get("b") == "two" && get("a", "--field", "pin") == "1")
    }

    @Test func `A field is found, changed and removed under its name in other capitals`() {
        set("a", "--field", "PIN", value: "1")
        set("a", "--field", "pin", value: "2")
        #expect(get("a", "--field", "Pin") == "2")
        #expect(shown.contains("\"name\":\"PIN\"") && !shown.contains("\"name\":\"pin\""))
        let counter = "otpauth://hotp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&counter=0"
        set("a", "--field", "Code", value: counter)
        for (name, code) in [("code", "755224"), ("CODE", "287082"), ("Code", "359152")] {
            #expect(bench.run("otp", "a", "--field", name) == .success)
            #expect(bench.console.outputText == code)
        }
        #expect(bench.run("remove", "a", "--field", "pin", "--yes") == .success)
        #expect(bench.run("get", "a", "--field", "PIN") == .notFound)
        #expect(
            bench.run("remove", "none", "--field", "x", "--if-exists", "--yes") == .success)
    }

    // Promise: 22.2
    @Test func `What a write replaces of fields can be undone, and a new field replaces nothing`() {
        set("a", "--username", "anna", value: "one")
        bench.run("history", "a", "--json")
        #expect(!bench.console.outputText.contains("\"version\""))
        set("a", "--username", "bob", value: "one")
        #expect(bench.run("undo", "a") == .success)
        #expect(get("a", "--field", "username") == "anna")
        set("a", "--username", "carl", "--cloud", value: "one")
        #expect(bench.run("undo", "a") == .success)
        #expect(get("a", "--field", "username") == "anna")
    }

    @Test func `Bytes that are no text are a field as they are`() {
        let bytes: [UInt8] = [0xEF, 0xBB, 0xBF, 0, 1, 10]
        #expect(bench.run(["set", "a", "--field", "raw"], input: bytes) == .success)
        #expect(bench.run("get", "a", "--field", "raw") == .success)
        #expect(Array(bench.console.output) == bytes)
    }

    @Test func `A secret that makes codes itself keeps its key, whatever fields it has`() {
        #expect(bench.run("otp", "add", "k", input: Array(Self.uri.utf8)) == .success)
        set("k", "--field", "username", value: "anna")
        let other = "otpauth://totp/y?secret=JBSWY3DPEHPK3PXP"
        #expect(bench.run("otp", "add", "k", input: Array(other.utf8)) == .alreadyThere)
        #expect(get("k") == Self.uri)
    }

    @Test func `Several lines are a field as they are`() {
        set("a", "--field", "key", value: "BEGIN\nEND\n")
        #expect(get("a", "--field", "key") == "BEGIN\nEND\n")
    }

    // Promise: 22.1
    @Test func `A new value keeps the fields`() {
        set("a", "--field", "pin", value: "1")
        set("a", value: "two")
        set("a", "--cloud", value: "three")
        #expect(get("a") == "three" && get("a", "--field", "pin") == "1")
    }

    // Promise: 22.2
    @Test func `Rename, move, copy, remove and undo take the fields along`() {
        set("a", "--field", "pin", value: "1")
        #expect(bench.run("rename", "a", "c") == .success)
        #expect(get("c", "--field", "pin") == "1")
        #expect(bench.run("copy-to", "c", "--to-id", "other") == .success)
        #expect(get("c", "--id", "other", "--field", "pin") == "1")
        #expect(bench.run("move", "c", "--to-accessibility", "after-first-unlock") == .success)
        #expect(get("c", "--field", "pin") == "1")
        #expect(bench.run("remove", "c", "--yes") == .success)
        #expect(bench.run("undo", "c") == .success)
        #expect(get("c", "--field", "pin") == "1")
        set("c", "--field", "pin", value: "2")
        #expect(get("c", "--version", "1", "--field", "pin") == "1")
        #expect(bench.run("undo", "c") == .success)
        #expect(get("c", "--field", "pin") == "1" && get("c") == "one")
    }

    @Test func `Show writes what is not secret, and the names of the rest`() {
        set("a", "--note", "of the team", "--username", "anna", "--url", "https://a.b", value: "x")
        set("a", "--field", "pin", value: "1234")
        set("a", "--field", "colour", "--visible", value: "red")
        #expect(bench.run("show", "a") == .success)
        let text = bench.console.outputText
        for line in [
            "username:      anna", "url:           https://a.b", "colour:        red",
            "Comment:       of the team", "Secret fields: pin",
        ] { #expect(text.contains(line + "\n"), "\(line)") }
        #expect(!text.contains("1234"))
        let end =
            "\"fields\":[{\"name\":\"username\",\"secret\":false,\"byteCount\":4,\"value\":"
            + "\"anna\"},"
        #expect(shown.contains(end) && !shown.contains("1234"))
        #expect(shown.contains("{\"name\":\"pin\",\"secret\":true,\"byteCount\":4,\"value\":null}"))
    }

    @Test func `Other words for a standard field mean the same`() {
        set("a", "--username", "anna", "--note", "n", value: "x")
        for word in ["username", "user", "login", "LOGIN"] {
            #expect(get("a", "--field", word) == "anna", "\(word)")
        }
        #expect(get("a", "--field", "notes") == "n" && get("a", "--field", "password") == "x")
        set("a", "--field", "notes", value: "secret")
        #expect(get("a", "--field", "note") == "secret")
    }

    @Test func `Account, server, label and comment of a login are fields by their names`() {
        set("anna", "--server", "https://mail.example:8443", "--note", "of work", value: "x")
        #expect(get("anna", "--server", "mail.example", "--field", "username") == "anna")
        #expect(
            get("anna", "--server", "mail.example", "--field", "url")
                == "https://mail.example:8443")
        set("anna", "--server", "mail.example", "--field", "label", value: "Mail")
        #expect(
            get("Mail", "--field", "label") == "Mail" && get("Mail", "--field", "note") == "of work"
        )
        for field in ["username", "url"] {
            #expect(
                bench.run("set", "Mail", "--field", field, input: Array("x".utf8)) == .usage)
        }
        #expect(bench.run("remove", "Mail", "--field", "label", "--yes") == .success)
        #expect(
            bench.run("get", "anna", "--server", "mail.example", "--field", "label") == .notFound)
    }

    @Test func `A reference names a field after a hash sign`() {
        set("a", "--field", "pin code", value: "1234")
        for reference in ["valet:a#pin code", "valet://valet/default/a#pin%20code"] {
            #expect(bench.run("read", reference) == .success, "\(reference)")
            #expect(bench.console.outputText == "1234")
        }
        #expect(bench.run("read", "valet:a#none") == .notFound)
        #expect(bench.run("read", "valet:a#") == .usage)
        set("x#y", value: "plain")
        #expect(bench.run("read", "x#y") == .success)
        #expect(bench.run("read", "valet:///default/x%23y") == .success)
    }

    @Test func `One-time codes come from the field of a password, and its key is not copied`() {
        #expect(bench.run("otp", "add", "a", input: Array(Self.uri.utf8)) == .success)
        #expect(get("a") == "one" && get("a", "--field", "otp") == Self.uri)
        bench.seconds = 59
        #expect(bench.run("otp", "a") == .success)
        #expect(bench.console.outputText == "287082")
        #expect(bench.run("otp", "add", "a", input: Array(Self.uri.utf8)) == .alreadyThere)
        #expect(bench.run("otp", "add", "a", "--force", input: Array(Self.uri.utf8)) == .success)
    }

    @Test func `A counter in a field moves on with each code, and history stays as it was`() {
        let uri = "otpauth://hotp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&counter=0"
        #expect(bench.run("otp", "add", "a", input: Array(uri.utf8)) == .success)
        for code in ["755224", "287082", "359152"] {
            #expect(bench.run("otp", "a") == .success)
            #expect(bench.console.outputText == code)
        }
        #expect(get("a", "--field", "otp").hasSuffix("counter=3") && get("a") == "one")
        bench.run("history", "a", "--json")
        #expect(bench.console.outputText.components(separatedBy: "\"version\"").count == 1)
    }

    @Test(
        arguments: [
            ["set", "a", "--field", ""], ["set", "a", "--field", "a\nb"],
            ["set", "a", "--visible"], ["set", "a", "--field", "x", "--note", "y"],
            ["set", "a", "--field", "x", "--if-absent"], ["set", "a", "--url", ""],
            ["set", "a", "--server", "h", "--username", "u"],
            ["set", "a", "--server", "h", "--url", "u"],
            ["remove", "a", "b", "--field", "x"], ["remove", "--all", "--field", "x"],
            ["remove", "a", "--field", "x", "--purge"],
        ])
    func `What contradicts itself is refused, and nothing changes`(_ words: [String]) {
        let before = bench.values
        #expect(bench.run(words, input: Array("new".utf8)) == .usage)
        #expect(bench.values == before)
    }

    @Test func `A field of a secret that is not there is refused, and nothing is stored`() {
        #expect(bench.run("set", "new", "--field", "x", input: [1]) == .notFound)
        #expect(bench.run("set", "a", "--field", "x", input: []) == .usage)
        #expect(bench.values.count == 2)
    }
}
