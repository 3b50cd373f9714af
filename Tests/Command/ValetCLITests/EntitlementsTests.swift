// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ValetCLI

@Suite final class `valet entitlements add, show and check` {
    private let bench = Bench()
    private let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("valet-entitlements-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data().write(to: folder.appendingPathComponent("mail"))
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private var program: String { folder.appendingPathComponent("mail").path }
    private var list: URL { folder.appendingPathComponent("mail.entitlements") }

    private func add(_ words: String...) -> ExitCode {
        bench.run(["entitlements", "add", program, "--for", "program"] + words)
    }

    private func write(_ text: String, mode: Int = 0o644) throws {
        try Data(text.utf8).write(to: list)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: list.path)
    }

    private func text() throws -> String { try String(contentsOf: list, encoding: .utf8) }

    private static let head = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
        "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """

    @Test func `add makes a file with the groups and the identifier`() throws {
        let words = ["--group", "team.shared", "--group", "team.a&b"]
        #expect(add(words[0], words[1], words[2], words[3], "--identifier", "x.mail") == .success)
        #expect(
            try text() == Self.head + """
                <dict>
                \t<key>application-identifier</key>
                \t<string>x.mail</string>
                \t<key>keychain-access-groups</key>
                \t<array>
                \t\t<string>team.shared</string>
                \t\t<string>team.a&amp;b</string>
                \t</array>
                </dict>
                </plist>

                """)
        let facts = try FileManager.default.attributesOfItem(atPath: list.path)
        #expect(facts[.posixPermissions] as? Int == 0o644)
        #expect(bench.run("entitlements", "show", program, "--json") == .success)
        #expect(
            bench.console.outputText.hasSuffix(
                "\"source\":\"entitlements\",\"path\":\"\(list.path)\","
                    + "\"groups\":[\"team.shared\",\"team.a&b\",\"x.mail\"]}\n"))
    }

    /// What stands before and after the group that is added.
    @Test(arguments: [
        ("<dict>\n<!-- <dict> --><key>a</key><integer>1</integer>", "</dict>"),
        (
            "<dict>\n\t<key>keychain-access-groups</key>\n\t<array>\n\t\t<string>x.y</string>\n",
            "\t</array>\n</dict>"
        ),
        ("<dict><key>keychain-access-groups</key>", "<array/></dict>"),
        ("<dict><key>keychain-access-groups</key><array>", "</array><key>z</key><true/></dict>"),
    ])
    func `add leaves the rest of a file as it is`(_ start: String, _ rest: String) throws {
        let old = Self.head + start + rest + "\n</plist>\n<!-- end -->\n"
        try write(old)
        #expect(add("--group", "team.shared") == .success)
        let new = try text()
        #expect(new.contains("<string>team.shared</string>"))
        #expect(new.hasPrefix(Self.head + start))
        #expect(new.hasSuffix("\n</plist>\n<!-- end -->\n"))
        let removed = new.replacingOccurrences(of: "\t\t<string>team.shared</string>\n", with: "")
        #expect(removed.count - old.count < 70)
        #expect(add("--group", "team.shared") == .success)
        #expect(try text() == new)
        #expect(bench.console.notes.last?.hasSuffix("has all of it already") == true)
    }

    @Test(arguments: [
        "no list", "<plist version=\"1.0\"><dict/></plist>", "bplist00",
        "<plist version=\"1.0\"><dict><key>keychain-access-groups</key><true/></dict></plist>",
        "<plist version=\"1.0\"><dict><key>application-identifier</key>"
            + "<string>other</string></dict></plist>",
    ])
    func `add refuses a file that it cannot complete, and keeps it`(_ text: String) throws {
        try write(text)
        #expect(add("--group", "team.shared", "--identifier", "x.mail") == .failure)
        #expect(try self.text() == text)
    }

    @Test(arguments: [
        [], ["--group", "nodot"], ["--group", "team.a\nb"], ["--identifier", ""],
        ["--group", "team.a", "--for", "everybody"],
    ])
    func `add refuses names that are none`(_ words: [String]) {
        #expect(bench.run(["entitlements", "add", program] + words) == .usage)
        #expect(bench.run("entitlements", "add", program + "-", "--group", "a.b") == .notFound)
        #expect(!FileManager.default.fileExists(atPath: list.path))
    }

    @Test func `A file that others may write is refused`() throws {
        try write(Self.head + "<dict></dict>\n</plist>\n", mode: 0o666)
        #expect(add("--group", "team.shared") == .denied)
        #expect(bench.run("entitlements", "show", program) == .denied)
        #expect(bench.run("entitlements", "check", program) == .failure)
        #expect(bench.console.outputText.contains("others may write the file"))
    }

    @Test func `check finds stars, groups of the keychain and files of other programs`() throws {
        try write(
            Self.head + "<dict><key>keychain-access-groups</key><array><string>team.*</string>"
                + "</array></dict>\n</plist>\n")
        #expect(bench.run("entitlements", "check", program) == .success)
        #expect(bench.console.outputText.contains("warning: the group team.* has a star"))
        try write(
            Self.head + "<dict><key>keychain-access-groups</key>"
                + "<array><string>valet.settings</string></array></dict>\n</plist>\n")
        #expect(bench.run("entitlements", "check", program) == .failure)
        try FileManager.default.removeItem(at: list)
        bench.run("entitlements", "init", program, "com.example.mail")
        #expect(bench.run("entitlements", "check", program) == .success)
        #expect(bench.console.outputText.hasPrefix("fine:    the program is com.example.mail"))
    }

    @Test func `check finds items that the program stored before it had an identifier`() throws {
        bench.run("set", "a", "--app", "mail", input: [1])
        #expect(add("--identifier", "com.example.mail") == .success)
        #expect(bench.run("entitlements", "check", program) == .success)
        #expect(
            bench.console.outputText.contains(
                "-> 'valet migrate --app mail --to-app com.example.mail' gives them to it"))
        bench.run("migrate", "--app", "mail", "--to-app", "com.example.mail")
        bench.run("entitlements", "check", program)
        #expect(!bench.console.outputText.contains("migrate"))
    }
}
