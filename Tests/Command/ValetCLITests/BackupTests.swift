// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetUserPresence

@testable import ValetCLI

@Suite struct `valet backup create` {
    private let passphrase = "open sesame"

    @Test func `valet backup create asks twice for the passphrase, and names the file`() throws {
        let bench = try BackupBench.withItem()
        #expect(bench.run("create", bench.file, answering: passphrase) == .success)
        #expect(bench.prompts.map(\.asksTwice) == [true])
        #expect(bench.prompts[0].description.contains("'\(bench.file)'"))
        #expect(bench.console.notes == ["valet: wrote 1 item to '\(bench.file)'"])
        #expect(bench.console.output.isEmpty)
    }

    @Test func `valet backup create does not ask if the backup cannot be written`() throws {
        let bench = try BackupBench()
        #expect(bench.run("create", bench.file, answering: passphrase) == .notFound)
        #expect(bench.prompts.isEmpty)
        let other = try BackupBench.withItem()
        try Data().write(to: URL(fileURLWithPath: other.file))
        #expect(other.run("create", other.file, answering: passphrase) == .failure)
        #expect(other.run("create", other.folder + "/no/file", answering: passphrase) == .failure)
        #expect(other.prompts.isEmpty)
    }

    // Promise: 10.3
    @Test func `valet backup create refuses a short passphrase without --weak`() throws {
        let bench = try BackupBench.withItem()
        let words = [bench.file, "--passphrase-fd", "3"]
        #expect(bench.run(["create"] + words, answering: ["öffnen!", "x"]) == .usage)
        #expect(bench.prompts.count == 1)
        #expect(!FileManager.default.fileExists(atPath: bench.file))
        #expect(bench.run("create", bench.file, "--weak", answering: "öffnen!") == .success)
        #expect(bench.run("verify", bench.file, answering: "öffnen!") == .success)
    }

    @Test func `valet backup create asks a person again after a short passphrase`() throws {
        let bench = try BackupBench.withItem()
        #expect(bench.run("create", bench.file, answering: "öffnen!", passphrase) == .success)
        #expect(
            bench.prompts.map(\.previousError) == [
                nil, "the passphrase has fewer than 8 characters",
            ])
        #expect(bench.run("verify", bench.file, answering: passphrase) == .success)
    }

    @Test func `valet backup create says how to pass the passphrase if nobody can be asked`() throws
    {
        let bench = try BackupBench.withItem()
        #expect(bench.run("create", bench.file) == .usage)
        #expect(
            bench.console.notes == [
                "valet: error: could not ask for the passphrase: questions are turned off",
                "valet: hint: pass the passphrase with '--passphrase-fd'",
            ])
    }

    @Test func `valet backup create escapes the file name in its question`() throws {
        let bench = try BackupBench.withItem()
        let path = bench.folder + "/a\u{1B}[2Jb"
        #expect(bench.run("create", path, answering: passphrase) == .success)
        #expect(bench.prompts[0].description.contains("a\\u{1b}[2Jb"))
        #expect(bench.run("create", path, answering: passphrase) == .failure)
        for line in bench.console.notes { #expect(!line.contains("\u{1B}")) }
    }
}

@Suite struct `The verbs that read a backup` {
    private static let verbs = [["list"], ["verify"], ["restore", "--replace"]]
    private let bench: BackupBench

    init() throws {
        bench = try BackupBench.withItem()
        #expect(bench.run("create", bench.file, answering: "open sesame") == .success)
    }

    private func run(_ verb: [String], _ answers: String...) -> ExitCode {
        bench.run(verb + [bench.file], answering: answers)
    }

    @Test(arguments: verbs)
    func `The verbs that read a backup ask once, and name the file`(_ verb: [String]) {
        #expect(run(verb, "open sesame") == .success)
        #expect(bench.prompts.map(\.asksTwice) == [false])
        #expect(bench.prompts[0].description.contains("'\(bench.file)'"))
        #expect(bench.prompts[0].previousError == nil)
    }

    @Test(arguments: verbs)
    func `The verbs that read a backup ask a person again after a wrong passphrase`(
        _ verb: [String]
    ) {
        #expect(run(verb, "Open sesame", "open sesame") == .success)
        #expect(bench.prompts.map(\.previousError) == [nil, "wrong passphrase"])
    }

    @Test(arguments: verbs)
    func `The verbs that read a backup give up after three wrong passphrases`(_ verb: [String]) {
        #expect(run(verb, "1", "2", "3", "open sesame") == .denied)
        #expect(bench.prompts.count == 3)
        #expect(
            bench.console.notes.first
                == "valet: error: could not open the backup: wrong passphrase (\(bench.file))")
        #expect(bench.console.output.isEmpty)
    }

    @Test(arguments: verbs)
    func `The verbs that read a backup do not ask a descriptor again`(_ verb: [String]) {
        #expect(run(verb + ["--passphrase-fd", "3"], "wrong", "open sesame") == .denied)
        #expect(bench.prompts.count == 1)
    }

    @Test(arguments: verbs)
    func `The verbs that read a backup refuse a damaged file and write nothing`(_ verb: [String])
        throws
    {
        let url = URL(fileURLWithPath: bench.file)
        var bytes = Array(try Data(contentsOf: url))
        bytes[bytes.count - 1] ^= 1
        try Data(bytes).write(to: url)
        #expect(run(verb, "open sesame") == .damaged)
        #expect(bench.console.output.isEmpty)
        #expect(bench.console.notes.first?.contains("it is damaged, in chunk 0") == true)
    }

    @Test(arguments: verbs)
    func `The verbs that read a backup refuse a truncated file and write nothing`(_ verb: [String])
        throws
    {
        let url = URL(fileURLWithPath: bench.file)
        try Data(contentsOf: url).dropLast().write(to: url)
        #expect(run(verb, "open sesame") == .damaged)
        #expect(bench.console.output.isEmpty)
        #expect(bench.console.notes.first?.contains("its end is missing") == true)
    }
}
