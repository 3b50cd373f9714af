// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSystem

@testable import ValetCLI

@Suite struct `valet grants` {
    private let bench = Bench.withTwoSecrets

    private func keep(_ name: String, _ collection: String, lastUse: UInt64? = nil) throws {
        let file = FileVersion(device: 1, inode: 2, byteCount: 3, changed: 4, nanoseconds: 5)
        let program: AccessGrant.Program =
            name.hasPrefix("/") ? .file(path: name, file) : .sandbox(name)
        let grant = AccessGrant(
            program, collection: collection, since: 978_307_200, lastUse: lastUse)
        try bench.session.keep([grant])
    }

    @Test func `It shows programs and collections, since when, and the last use`() throws {
        try keep("/usr/bin/geary", "login", lastUse: 978_393_600)
        try keep("flatpak:org.example.A\u{1B}", "work")
        #expect(bench.run("grants") == .success)
        #expect(
            bench.console.outputText == """
                PROGRAM                      COLLECTION  SINCE                 LAST USED
                /usr/bin/geary               login       2001-01-01T00:00:00Z  2001-01-02T00:00:00Z
                flatpak:org.example.A\\u{1b}  work        2001-01-01T00:00:00Z  -

                """)
        #expect(bench.run("grants", "--json") == .success)
        #expect(
            bench.console.outputText.hasPrefix(
                #"{"grants":[{"program":"/usr/bin/geary","collection":"login","since":"2001-"#))
        #expect(bench.console.outputText.contains(#""lastUsed":null}]}"#))
    }

    @Test func `Without grants there is a hint, and an empty array`() {
        #expect(bench.run("grants") == .success && bench.console.outputText.isEmpty)
        #expect(bench.console.notes.joined().contains("no program"))
        bench.run("grants", "--json")
        #expect(bench.console.outputText == "{\"grants\":[]}\n")
    }

    // Promise: 20.14
    @Test func `valet grants remove takes back one, those of a program, or all`() throws {
        for name in ["/usr/bin/a", "/usr/bin/b"] {
            for collection in ["login", "work"] { try keep(name, collection) }
        }
        #expect(bench.run("grants", "remove", "/usr/bin/a", "work") == .success)
        #expect(bench.console.notes == ["valet: took back 1 grant"])
        #expect(try bench.session.grants().grants.count == 3)
        #expect(bench.run("grants", "remove", "/usr/bin/a", "work") == .notFound)
        #expect(bench.run("grants", "remove", "/usr/bin/b") == .success)
        #expect(try bench.session.grants().grants.map(\.program.name) == ["/usr/bin/a"])
        #expect(bench.run("grants", "remove") == .usage)
        #expect(bench.run("grants", "remove", "--all", "/usr/bin/a") == .usage)
        #expect(bench.run("grants", "remove", "--all") == .success)
        #expect(bench.run("grants", "remove", "--all") == .success)
        #expect(try bench.session.grants().grants.isEmpty)
    }

    // Promise: 20.13
    @Test func `Grants are no items for lists, counts, history and backups`() throws {
        try keep("/usr/bin/geary", "login")
        bench.run("list", "--all", "--json")
        #expect(bench.items.count == 2 && !bench.console.outputText.contains("geary"))
        bench.run("status", "--json")
        #expect(bench.console.outputText.contains(#""items":2"#))
        bench.run("search", "geary")
        #expect(bench.console.outputText.split(separator: "\n").count < 2)
        bench.run("settings")
        #expect(bench.console.outputText.contains("3"))
    }

    @Test func `doctor says how many grants there are, and whether one is damaged`() throws {
        #expect(bench.run("doctor") == .success && !bench.console.outputText.contains("grant"))
        try keep("/usr/bin/geary", "login")
        #expect(bench.run("doctor") == .success)
        #expect(bench.console.outputText.contains("fine:    1 grant lets a program use"))
        try bench.tamper("UPDATE item SET names = zeroblob(72) WHERE protection = 5")
        #expect(bench.run("doctor") == .damaged)
        #expect(bench.console.outputText.contains("a grant is damaged"))
        #expect(bench.run("grants") == .damaged)
        try keep("/usr/bin/other", "login")
        #expect(bench.run("grants", "remove", "--all") == .success)
        #expect(bench.console.notes.joined().contains("took back 2 grants"))
        #expect(bench.run("grants") == .success)
        #expect(bench.run("doctor") == .success)
        #expect(!bench.console.outputText.contains("grant"))
    }

    /// A row whose columns are damaged may belong to any application.
    @Test func `A grant that cannot be taken back is said, and the others are taken back`() throws {
        try keep("/usr/bin/a", "login")
        try keep("/usr/bin/b", "login")
        try bench.tamper(
            "UPDATE item SET nonce = x'00' WHERE number = (SELECT max(number) FROM item)")
        #expect(bench.run("grants", "remove", "/usr/bin/b") == .damaged)
        #expect(bench.run("grants", "remove", "--all") == .damaged)
        #expect(bench.console.notes.joined().contains("that can be read are taken back"))
        #expect(try bench.session.grants().grants.isEmpty)
    }

    @Test func `Before the first unlock it fails in words`() throws {
        let bench = try Bench.withPasscode()
        try bench.session.keep([AccessGrant(.sandbox("snap:a"), collection: "login", since: 1)])
        try bench.store.keychain.lock(all: true)
        bench.person = ScriptedAnswers(isInteractive: false)
        for words in [["grants"], ["grants", "remove", "--all"]] {
            #expect(bench.run(words) == .locked)
            #expect(bench.console.notes.joined().contains("locked"))
        }
    }
}
