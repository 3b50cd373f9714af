// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetCLI
import ValetSealing

@testable import ValetClientsCommand

@Suite struct `JSON that is imported` {
    private func json(_ input: String) throws(CLIError) -> (items: [String], skipped: [String]) {
        shown(try JSONExport.items(in: secret(input), .ofCommand))
    }

    @Test func `JSON that is imported keeps two fields of one name, and one that is called notes`()
        throws
    {
        let (items, skipped) = try json(
            #"""
            {"items":[{"name":"A","notes":"3","login":{"username":"u","password":"p",
            "uris":[{"uri":"https://a.example"}]},"fields":[{"name":"pin","value":"1","type":0},
            {"name":"pin","value":"2"},{"name":"notes","value":"4"},{"name":null,"value":"5"},
            {"name":"linked","value":null,"linkedId":100}]}]}
            """#)
        #expect(
            items == [
                "internet a.example u = p [note! 3, pin 1, pin (2)! 2, note (2)! 4, field! 5]"
            ])
        #expect(skipped.isEmpty)
    }

    @Test func `JSON that is imported may be the output of bw list items`() throws {
        let (items, skipped) = try json(
            #"""
            [{"object":"item","id":"1","organizationId":null,"folderId":null,"type":1,"reprompt":0,
            "name":"A","notes":null,"favorite":false,"login":{"uris":[{"match":null,
            "uri":"https://a.example"}],"username":"ann","password":"p","totp":"AB",
            "fido2Credentials":[{"a":"b"}]},"passwordHistory":[{"password":"old"}],
            "attachments":[{"fileName":"x"}]},
            {"type":2,"name":"N","notes":"n","secureNote":{"type":0},"folderId":"f"},
            {"type":3,"name":"C","card":{"number":"4111","code":"123","brand":null,"expYear":30}},
            {"type":5,"name":"S","sshKey":{"privateKey":"k","publicKey":"l"}}, 7]
            """#)
        #expect(
            items == [
                "internet a.example ann = p [otp! otpauth://totp/?secret=AB]",
                "valet default N =  [note! n]", "valet default C =  [number! 4111, code! 123]",
                "valet default S =  [privateKey! k, publicKey! l]",
            ])
        #expect(
            skipped == [
                "A (item 1): its passkeys are not imported",
                "A (item 1): its old passwords are not imported",
                "A (item 1): its attachments are not imported", "item 5: it is not an object",
                "members 'card.expYear', 'folderId', 'id': they are not imported",
            ])
    }

    @Test func `JSON that is imported names members whose type is another one`() throws {
        let (items, skipped) = try json(
            #"{"items":[{"name":"A","notes":{"a":1},"login":{"password":1,"username":"u"}}]}"#)
        #expect(items == ["valet default A =  [username u]"])
        #expect(
            skipped == [
                "members 'login.password', 'notes': they are not imported"
            ])
    }

    // Promise: 4.4
    @Test(arguments: [
        ("Proton", #"{"version":"1","userId":"u","vaults":{"a":{"items":[]}}}"#),
        ("Aegis", #"{"version":1,"header":{"slots":null},"db":{"entries":[]}}"#),
        ("Aegis", #"{"version":1,"header":{"slots":[]},"db":{}}"#),
        ("Firefox", #"{"nextId":2,"logins":[{"hostname":"https://a.example"}]}"#),
        ("Enpass", #"{"folders":[],"items":[{"title":"A","category":"login","fields":[]}]}"#),
        ("Kubernetes", #"{"kind":"Secret","metadata":{"name":"a"},"data":{"a":"YQ=="}}"#),
        ("no known program", #"{"a":"secret","b":{"c":"d"}}"#),
        ("no known program", #"[{"title":"A","secret":"b"}]"#),
    ])
    func `JSON of another program is named, and nothing of it is imported`(
        _ name: String, _ text: String
    ) {
        let error = #expect(throws: CLIError.self) { _ = try json(text) }
        #expect(error?.code == .damaged && error?.message.contains(name) == true)
        #expect(error?.hint != nil)
    }

    @Test func `An item of Bitwarden that was deleted or archived takes no other one's place`()
        throws
    {
        let old = #"{"type":1,"name":"A","login":{"username":"u","password":"old"}"#
        let (items, skipped) = try json(
            "{\"items\":[\(old),\"deletedDate\":\"2024-01-01T00:00:00Z\"},"
                + "\(old),\"archivedDate\":\"2024-01-01T00:00:00Z\",\"deletedDate\":null},"
                + "\(old.replacing("old", with: "new")),\"deletedDate\":null}]}")
        #expect(items == ["valet default A = new [username u]"])
        #expect(
            skipped == ["A (item 1): it is in the trash", "A (item 2): it is archived"])
    }

    @Test(arguments: ["valet-export-2", "valet-export-1"])
    func `JSON that is imported of an export is refused if its form is not known`(_ format: String)
    {
        let error = #expect(throws: CLIError.self) {
            _ = try json("{\"format\":\"\(format)\",\"data\":[]}")
        }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("another version") == true)
    }

    @Test(arguments: [
        "", "nul", "{", "{\"a\":1}x", "{\"a\":1}\0", "{'a':1}", "{\"a\":\"\\u0000\"}", "[1,]",
        "\u{1}", "{\"a\":\"b\nc\"}", String(repeating: "[", count: 100_000), "{\"a\"}", "[01]",
        "[1.]", "[.5]", "[1e]", "[+1]", "[-]", "[\"\\x\"]", "[\"\\u12\"]", "[\"\\ud800\"]",
        "[\"\\ud800\\u0041\"]", "[\"\\udc00\"]", "[NaN]", "[1 2]", "{\"a\":1,}", "\"a", "[\"a\\",
    ])
    func `JSON that is imported is refused if it is not strict JSON without null bytes`(
        _ text: String
    ) {
        let error = #expect(throws: CLIError.self) {
            var reader = try JSONReader(secret(text), called: "it")
            try readAll(&reader)
            try reader.checkEnd()
        }
        #expect(error?.code == .damaged)
        #expect(error?.message.hasPrefix("it is not JSON, line ") == true)
    }

    @Test(arguments: ["0", "-0", "10", "1.5", "1e3", "1E-3", "-1.25e+7", "true", "false", "null"])
    func `JSON that is imported may have every number and literal`(_ word: String) throws {
        var reader = try JSONReader(secret("[ \(word)\t]\r\n"), called: "it")
        var words: [String] = []
        try reader.array { (reader) throws(CLIError) in words.append(try reader.word()) }
        try reader.checkEnd()
        #expect(words == [word])
    }

    @Test func `JSON that is imported keeps every character of its strings`() throws {
        let characters = "\"\\/\u{8}\u{c}\n\r\t\u{1}\u{7f}é\u{1F511}"
        var document = SecretText()
        document.append("[")
        document.appendJSONString(characters)
        document.append(",\"\\ud83d\\udd11\\\\u0000\\/\\b\\f\\u00E9x\"]")
        var reader = try JSONReader(document.value(), called: "it")
        var found: [String?] = []
        try reader.array { (reader) throws(CLIError) in found.append(text(try reader.string())) }
        #expect(found == [characters, "\u{1F511}\\u0000/\u{8}\u{c}éx"])
    }

    @Test func `JSON that is imported names the line of what is wrong`() {
        let error = #expect(throws: CLIError.self) { _ = try json("{\n\"a\": \"1\",\n\"b\": x}") }
        #expect(error?.message == "the input is not JSON, line 3: an unknown word")
    }

    @Test func `JSON that is imported of an export has no two members of one name`() {
        let error = #expect(throws: CLIError.self) {
            _ = try json(
                #"{"format":"valet-export-1","items":[{"class":"generic-password","value":"a","#
                    + #""value":"b"}]}"#)
        }
        #expect(error?.message.contains("two members of one name") == true)
    }

    @Test func `JSON that is imported that has more than can be kept is refused, whatever it is`()
        throws
    {
        var found = ImportedItems()
        for _ in 0...ImportedItems.maximumCount { found.skip("a", "b") }
        #expect(found.skipped.count == ImportedItems.maximumCount)
        let error = #expect(throws: CLIError.self) { try found.checkCount() }
        #expect(error?.code == .usage)
        let another = #expect(throws: CLIError.self) {
            try found.add(ImportedItem("k", secret("v"), in: .ofCommand, from: "s"))
        }
        #expect(another?.message == error?.message)
    }
}

/// Reads every value of a document.
func readAll(_ reader: inout JSONReader) throws(CLIError) {
    switch reader.kind {
    case .object:
        try reader.object(isUnique: false) { (_, reader) throws(CLIError) in try readAll(&reader) }
    case .array: try reader.array { (reader) throws(CLIError) in try readAll(&reader) }
    case .string: _ = try reader.string()
    case .number, .literal: _ = try reader.word()
    }
}
