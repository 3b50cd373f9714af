// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetCLI

@testable import ValetClientsCommand

/// A folder that is removed at the end.
struct TemporaryFolder: ~Copyable {
    let path: String

    init() throws {
        path =
            FileManager.default.temporaryDirectory
            .appendingPathComponent("valet-pass-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Makes a file, and the folders above it.
    func write(_ name: String) throws {
        let file = "\(path)/\(name)"
        try FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: file))
    }

    /// Makes a link, which need not lead anywhere.
    func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: "\(path)/\(name)", withDestinationPath: target)
    }

    /// What an import finds in the folder "store".
    func listing() throws -> (names: [String], skipped: [String]) {
        let (names, found) = try PassListing("\(path)/store").read()
        return (names.sorted(), found.skipped.map { "\($0.source): \($0.reason)" }.sorted())
    }
}

@Suite struct `The list of a store of pass` {
    @Test func `The list of a store of pass has entries and folders whose names begin with a dot`()
        throws
    {
        let folder = try TemporaryFolder()
        for name in [".hidden.gpg", ".folder/x.gpg", ".gitlab.gpg", "a.gpg", "b/c.gpg"] {
            try folder.write("store/\(name)")
        }
        for name in [".gpg-id", ".gitattributes", ".git/x.gpg", "b/.gpg-id", ".gpg-id.sig"] {
            try folder.write("store/\(name)")
        }
        let (names, skipped) = try folder.listing()
        #expect(names == [".folder/x.gpg", ".gitlab.gpg", ".hidden.gpg", "a.gpg", "b/c.gpg"])
        #expect(skipped.isEmpty)
    }

    // Promise: 4.4
    @Test func `The list of a store of pass names what is no entry`() throws {
        let folder = try TemporaryFolder()
        for name in ["a.gpg", "notes.txt", "x.gpg~", ".gpg", "b/.gpg"] {
            try folder.write("store/\(name)")
        }
        try folder.link("store/dead.gpg", to: "nowhere")
        #expect(unsafe mkfifo("\(folder.path)/store/pipe.gpg", 0o600) == 0)
        let (names, skipped) = try folder.listing()
        #expect(names == ["a.gpg"])
        #expect(
            skipped == [
                ".gpg: it has no name", "b/.gpg: it has no name",
                "dead.gpg: the link leads nowhere", "notes.txt: its name does not end in .gpg",
                "pipe.gpg: it is not a file", "x.gpg~: its name does not end in .gpg",
            ])
    }

    @Test func `The list of a store of pass names entries and folders whose names are not UTF-8`()
        throws
    {
        let folder = try TemporaryFolder()
        try folder.write("store/a.gpg")
        for bytes in [[0x63, 0xE9, 0x2E, 0x67, 0x70, 0x67], [0xFF]] as [[UInt8]] {
            let path = Array("\(folder.path)/store/".utf8) + bytes
            let name = path.map { CChar(bitPattern: $0) } + [0]
            #expect(unsafe mkdir(name, 0o700) == 0)
        }
        let (names, skipped) = try folder.listing()
        #expect(names == ["a.gpg"])
        #expect(
            skipped == [
                "c\u{FFFD}.gpg: its name is not UTF-8; rename it",
                "\u{FFFD}: its name is not UTF-8; rename it",
            ])
    }

    @Test
    func
        `The list of a store of pass follows links to folders of the store and to other stores`()
        throws
    {
        let folder = try TemporaryFolder()
        for name in ["store/own/a.gpg", "team/b.gpg", "team/.gpg-id", "c.gpg"] {
            try folder.write(name)
        }
        try folder.link("store/alias", to: "own")
        try folder.link("store/team", to: "\(folder.path)/team")
        try folder.link("store/c.gpg", to: "../c.gpg")
        let (names, skipped) = try folder.listing()
        #expect(names == ["alias/a.gpg", "c.gpg", "own/a.gpg", "team/b.gpg"])
        #expect(skipped.isEmpty)
    }

    @Test func `The list of a store of pass names links out of the store, and links in a circle`()
        throws
    {
        let folder = try TemporaryFolder()
        for name in ["store/own/a.gpg", "other/b.gpg"] { try folder.write(name) }
        try folder.link("store/other", to: "../other")
        try folder.link("store/disk", to: "/")
        try folder.link("store/own/up", to: "..")
        try folder.link("store/own/self", to: "self")
        let (names, skipped) = try folder.listing()
        #expect(names == ["own/a.gpg"])
        let place = URL(fileURLWithPath: folder.path).resolvingSymlinksInPath().path
        #expect(
            skipped == [
                "disk: the link leads out of the store; import '/' by itself",
                "other: the link leads out of the store; import '\(place)/other' by itself",
                "own/self: the link leads nowhere",
                "own/up: the link leads to a folder that contains it",
            ])
    }

    @Test func `The list of a store of pass ends at folders that are too deep, and names them`()
        throws
    {
        let folder = try TemporaryFolder()
        let deep = String(repeating: "d/", count: 40)
        try folder.write("store/\(deep)a.gpg")
        let (names, skipped) = try folder.listing()
        #expect(names.isEmpty)
        #expect(skipped.count == 1)
        #expect(skipped.first?.hasSuffix("d: it is more than 32 folders deep") == true)
    }

    @Test func `The list of a store of pass needs a folder`() throws {
        let folder = try TemporaryFolder()
        let error = #expect(throws: CLIError.self) { _ = try folder.listing() }
        #expect(error?.code == .notFound)
    }
}

@Suite struct `An entry of pass` {
    private func entry(_ text: String, isWhole: Bool = false) -> String {
        let entry = PassEntry(secret(text), isWhole: isWhole)
        var item = ImportedItem("k", entry.value, in: .ofCommand, from: "k.gpg")
        item.fields = entry.fields
        return String(shown(item).dropFirst("valet default k = ".count))
    }

    // Promise: 4.4
    @Test(arguments: [
        ("p", "p"), ("p\n", "p"), ("p\r\n", "p"), ("", ""), ("\n", ""),
        ("p\nlogin: ann\nURL:https://a.example\n", "p [username ann, url https://a.example]"),
        ("p\r\nuser: ann\r\nrest\r\n", "p [username ann, note! rest]"),
        ("p\nPIN: 1\nPIN: 2\n", "p [PIN! 1, PIN (2)! 2]"),
        ("p\notpauth://totp/a?secret=AB\n", "p [otp! otpauth://totp/a?secret=AB]"),
        ("otpauth://totp/a?secret=AB\n", " [otp! otpauth://totp/a?secret=AB]"),
        ("p\ntotp: ab cd\n", "p [otp! otpauth://totp/?secret=abcd]"),
        ("p\n---\nuser: ann\n\none\n\ntwo\n\n", "p [username ann, note! one\n\ntwo]"),
        (
            "p\nhttps://a.example\nurl://x\n- a: b\n# c: d\n e: f\ng:\nh: |\n",
            "p [note! https://a.example\nurl://x\n- a: b\n# c: d\n e: f\ng:\nh: |]"
        ),
        ("p\npassword: q\n", "p [password (2)! q]"),
        ("GOPASS-SECRET-1.0\nPassword: p\nUser: ann\n\nn\n", "p [username ann, note! n]"),
        ("-----BEGIN KEY-----\na: b\n", "-----BEGIN KEY-----\na: b\n"), ("{\na: b\n", "{\na: b\n"),
        ("p\na: \0b\n", "p\na: \0b\n"),
    ])
    func `An entry of pass is a password, fields and a note`(_ text: String, _ wanted: String) {
        #expect(entry(text) == wanted)
    }

    @Test func `An entry of pass is one value if that is asked for, or if its lines are too many`()
    {
        #expect(entry("p\nuser: ann\n", isWhole: true) == "p\nuser: ann\n")
        #expect(entry("p\n", isWhole: true) == "p")
        let long = "p\n" + String(repeating: "a: b\n", count: 1_001)
        #expect(entry(long) == long)
        let empty = "p" + String(repeating: "\n", count: 10_001)
        #expect(entry(empty) == empty)
    }

    @Test func `A store of gopass that age encrypts is named, and so are single entries of age`()
        throws
    {
        let folder = try TemporaryFolder()
        try folder.write("store/a/b.age")
        try folder.write("store/.age-recipients")
        let error = #expect(throws: CLIError.self) { _ = try folder.listing() }
        #expect(error?.message.contains("with age, which is not read") == true)
        #expect(error?.hint?.contains("gopass convert") == true)
        try folder.write("store/c.gpg")
        let (names, skipped) = try folder.listing()
        #expect(names == ["c.gpg"])
        #expect(skipped == ["a/b.age: it is encrypted with age, which is not read"])
    }
}
