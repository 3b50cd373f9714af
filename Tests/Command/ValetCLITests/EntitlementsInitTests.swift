// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ValetCLI

@Suite final class `valet entitlements init` {
    private let bench = Bench()
    private let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("valet-init-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("Mail.app/Contents/Linux"),
            withIntermediateDirectories: true)
        for program in ["mail", "other", "Mail.app/Contents/Linux/mail"] {
            try Data().write(to: url(program))
        }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func url(_ path: String) -> URL { folder.appendingPathComponent(path) }

    private func initialise(_ program: String, _ words: String...) -> ExitCode {
        bench.run(["entitlements", "init", url(program).path] + words)
    }

    private func list(_ path: String) throws -> [String: String] {
        try PropertyListDecoder().decode([String: String].self, from: Data(contentsOf: url(path)))
    }

    @Test func `entitlements init writes the file that Foundation reads beside a program`() throws {
        #expect(initialise("mail", "com.example.mail") == .success)
        let path = url("Contents/Info.plist").resolvingSymlinksInPath().path
        #expect(bench.console.notes == ["valet: wrote '\(path)'"])
        #expect(bench.console.output.isEmpty)
        #expect(
            try list("Contents/Info.plist") == [
                "CFBundleIdentifier": "com.example.mail", "CFBundleExecutable": "mail",
                "CFBundleName": "mail", "CFBundleVersion": "1.0",
                "CFBundleShortVersionString": "1.0", "CFBundlePackageType": "APPL",
                "CFBundleInfoDictionaryVersion": "6.0",
            ])
    }

    @Test func `entitlements init writes the given name and version`() throws {
        let code = initialise(
            "mail", "com.example.mail", "--name", "Mail <&>", "--bundle-version", "2.1")
        #expect(code == .success)
        let list = try list("Contents/Info.plist")
        #expect(list["CFBundleName"] == "Mail <&>")
        #expect(list["CFBundleVersion"] == "2.1")
        #expect(list["CFBundleShortVersionString"] == "2.1")
    }

    @Test func `entitlements init writes a file that other users cannot write`() throws {
        #expect(initialise("mail", "a") == .success)
        let facts = try FileManager.default.attributesOfItem(
            atPath: url("Contents/Info.plist").path)
        #expect(facts[.posixPermissions] as? Int == 0o644)
    }

    @Test func `entitlements init writes into the bundle of the program`() throws {
        #expect(initialise("Mail.app/Contents/Linux/mail", "a") == .success)
        #expect(try list("Mail.app/Contents/Info.plist")["CFBundleIdentifier"] == "a")
        #expect(!FileManager.default.fileExists(atPath: url("Contents").path))
    }

    @Test func `entitlements init writes beside the target of a link`() throws {
        let elsewhere = url("bin")
        try FileManager.default.createDirectory(at: elsewhere, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            at: url("bin/mail"), withDestinationURL: url("mail"))
        #expect(initialise("bin/mail", "a") == .success)
        #expect(try list("Contents/Info.plist")["CFBundleIdentifier"] == "a")
    }

    @Test(arguments: [
        "Contents/Info.plist", "Resources/Info.plist", "Support Files/Info.plist", "Info.plist",
    ])
    func `entitlements init keeps a file that Foundation already reads`(_ path: String) throws {
        try FileManager.default.createDirectory(
            at: url(path).deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("kept".utf8).write(to: url(path))
        #expect(initialise("mail", "a") == .alreadyThere)
        #expect(try Data(contentsOf: url(path)) == Data("kept".utf8))
        #expect(bench.console.notes.last == "valet: hint: '--force' replaces it")
    }

    @Test func `entitlements init replaces a file with --force`() throws {
        #expect(initialise("mail", "a") == .success)
        #expect(initialise("mail", "b") == .alreadyThere)
        #expect(try list("Contents/Info.plist")["CFBundleIdentifier"] == "a")
        #expect(initialise("other", "b", "--force") == .success)
        #expect(try list("Contents/Info.plist")["CFBundleIdentifier"] == "b")
        #expect(try list("Contents/Info.plist")["CFBundleExecutable"] == "other")
    }

    @Test(arguments: ["missing", "Mail.app"])
    func `entitlements init needs an existing program`(_ path: String) {
        #expect(initialise(path, "a") == .notFound)
        #expect(!FileManager.default.fileExists(atPath: url("Contents").path))
    }

    @Test(arguments: ["", "a b", "a/b", "$(PRODUCT_BUNDLE_IDENTIFIER)", "com.exämple"])
    func `entitlements init refuses a text that is not an identifier`(_ identifier: String) {
        #expect(initialise("mail", identifier) == .usage)
        #expect(!FileManager.default.fileExists(atPath: url("Contents").path))
    }
}
