// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore

@testable import ValetCLI

@Suite struct `valet status` {
    private let bench = Bench(home: "a\nb")

    @Test func `valet status shows a line for every known fact`() {
        bench.add("k")
        #expect(bench.run("status") == .success)
        let text = bench.console.outputText
        #expect(
            text.hasPrefix(
                "State:         noPasscode\nFolder:        \(bench.folder.path)/a\\nb\n"))
        #expect(text.contains("\nProtection:    file (protects against other users"))
        #expect(text.contains("\nRead-only:     no\n"))
        #expect(!text.contains("Locks in:"))
    }

    @Test func `valet status writes a JSON object if asked to`() {
        bench.run("status", "--json")
        let text = bench.console.outputText
        #expect(text.hasPrefix("{\"state\":\"absent\",\"folder\":\"\(bench.folder.path)/a\\nb\","))
        #expect(text.contains(#""epoch":null,"items":null,"#))
        #expect(text.contains(#""isReadOnly":false,"#) && text.hasSuffix("}\n"))
    }
}

@Suite struct `valet status and the passcode` {
    private func add(
        _ account: String, _ constraints: AccessControl.Constraints, to bench: Bench
    ) throws {
        var item = NewItem(.genericPassword, attributes: [.account: .text(account)])
        item.accessControl = try AccessControl(.whenUnlocked, constraints)
        try bench.add(item)
    }

    @Test func `valet status shows nothing about passcodes without one`() throws {
        let bench = Bench()
        bench.add("a")
        bench.run("status")
        #expect(!bench.console.outputText.contains("People"))
        bench.run("status", "--json")
        #expect(
            bench.console.outputText.contains(
                #""people":null,"passcodeBound":null,"fingerprintGated":null"#))
    }

    // Promise: 11.2
    @Test func `valet status shows who counts passcodes, and which items are bound or gated`()
        throws
    {
        let bench = try Bench.withPasscode()
        for account in ["a", "b"] { try add(account, .devicePasscode, to: bench) }
        try add("c", [.biometryAny, .devicePasscode], to: bench)
        try add("d", .userPresence, to: bench)
        try add("e", .biometryAny, to: bench)
        #expect(bench.run("status", "--json") == .success)
        #expect(
            bench.console.outputText.contains(
                #""people":"software","passcodeBound":3,"fingerprintGated":2"#))
        #expect(bench.run("status") == .success)
        #expect(
            bench.console.outputText.contains(
                """
                Tries counted: software (no TPM counts wrong passcodes)
                By passcode:   3 (only the passcode opens these items)
                By finger:     2 (programs check a finger for these items; no key comes from it)

                """))
    }
}

@Suite struct `valet doctor` {
    private let bench = Bench(home: "a\"b")

    /// Something beside the device key that a key change cannot erase.
    private func makeStray() throws -> String {
        let stray =
            bench.store.location.deviceFolder + "/device.key." + String(repeating: "a", count: 32)
        try FileManager.default.createSymbolicLink(
            atPath: stray, withDestinationPath: "/dev/null")
        return stray
    }

    private var severities: Set<Substring> {
        Set(bench.console.outputText.split(separator: "\n").map { $0.prefix { $0 != ":" } })
    }

    @Test func `valet doctor's exit code is that of the worst finding`() throws {
        bench.add("k")
        #expect(bench.run("doctor") == .success && severities == ["fine"])
        _ = try makeStray()
        #expect(bench.run("doctor") == .success && severities.contains("warning"))
        try bench.damageItems()
        #expect(bench.run("doctor") == .damaged && severities.contains("damage"))
        #expect(severities.contains("warning") && severities.contains("fine"))
        bench.store.close()
        try FileManager.default.removeItem(
            atPath: bench.store.location.deviceFolder + "/device.key")
        #expect(bench.run("doctor") == .failure && severities.contains("broken"))
    }

    @Test func `valet doctor writes its findings with their hints`() throws {
        bench.add("k")
        let stray = try makeStray()
        bench.run("doctor")
        let lines = bench.console.outputText.split(separator: "\n")
        let place = try #require(lines.firstIndex { $0.hasPrefix("warning: it has the name of") })
        #expect(lines[place].hasSuffix(" (\(stray))"))
        #expect(lines[place + 1].hasPrefix("         -> move it away"))
        #expect(lines[0].hasPrefix("fine:    "))
    }

    @Test func `valet doctor writes a JSON object if asked to`() throws {
        bench.add("k")
        let stray = try makeStray()
        bench.run("doctor", "--json")
        #expect(bench.console.outputText.contains(#"a\"b/device"#))
        let object = try JSONSerialization.jsonObject(with: Data(bench.console.output))
        let findings = try #require((object as? [String: [[String: Any]]])?["findings"])
        #expect(
            findings.allSatisfy { $0.keys.sorted() == ["hint", "message", "path", "severity"] })
        let finding = try #require(findings.first { $0["severity"] as? String == "warning" })
        #expect(finding["path"] as? String == stray)
        #expect((finding["hint"] as? String)?.hasPrefix("move it away") == true)
    }

    @Test(
        arguments: [
            (false, nil, ExitCode.usage, false), (true, false, .denied, false),
            (true, true, .success, true),
        ] as [(Bool, Bool?, ExitCode, Bool)])
    func `valet doctor discards a damaged log only with consent`(
        _ isTerminal: Bool, _ answer: Bool?, _ code: ExitCode, _ isDone: Bool
    ) throws {
        try bench.crash()
        let log = bench.store.location.folder + "/keychain.db-wal.damaged"
        bench.console.isInputTerminal = isTerminal
        bench.console.answer = answer ?? false
        #expect(bench.run("doctor", "--discard-log") == code)
        #expect(FileManager.default.fileExists(atPath: log) == isDone)
        let note = "valet: the damaged log is kept as \(log)"
        #expect(bench.console.notes.contains(note) == isDone)
        guard isDone else { return }
        #expect(bench.run("doctor", "--discard-log", "--yes") == .success)
        let nothing = "valet: the log is not damaged, and nothing was discarded"
        #expect(bench.console.notes == [nothing])
    }

    @Test(
        arguments: [
            (["--purge-damaged"], false, nil, ExitCode.usage, 2),
            (["--purge-damaged"], true, false, .denied, 2),
            (["--purge-damaged"], true, true, .success, 0),
            (["--purge-damaged", "--yes"], false, nil, .success, 0),
            (["--yes"], false, nil, .usage, 2), ([], false, nil, .success, 2),
        ] as [([String], Bool, Bool?, ExitCode, Int)])
    func `valet doctor deletes damaged former values only with consent`(
        _ options: [String], _ isTerminal: Bool, _ answer: Bool?, _ code: ExitCode, _ left: Int
    ) throws {
        try bench.setItemAside()
        try bench.setItemAside()
        bench.console.isInputTerminal = isTerminal
        bench.console.answer = answer ?? false
        #expect(bench.run(["doctor"] + options) == code)
        #expect(try bench.store.keychain.status().quarantinedRowCount == left)
        let note = "valet: deleted 2 former values that were damaged"
        #expect(bench.console.notes.contains(note) == (left == 0))
    }

    @Test(arguments: [
        (KeychainFailure.Code.noHome, ExitCode.failure), (.keychainDamaged, .damaged),
    ])
    func `valet doctor reports a keychain that cannot be opened as a finding`(
        _ failure: KeychainFailure.Code, _ code: ExitCode
    ) {
        var context = Context(console: bench.console)
        context.own = { () throws(KeychainFailure) in
            throw KeychainFailure(failure, during: "open the keychain")
        }
        #expect(ValetTool.run(["doctor"], in: context) == code)
        #expect(bench.console.outputText.contains("could not open the keychain: "))
    }
}

@Suite struct `A failure of the keychain` {
    private static let codes: [KeychainFailure.Code: ExitCode] = [
        .itemNotFound: .notFound, .duplicateItem: .alreadyThere, .valueTooLarge: .usage,
        .damaged: .damaged, .keychainDamaged: .damaged, .locked: .locked, .timedOut: .locked,
        .missingEntitlement: .denied, .insecureFiles: .denied, .authenticationFailed: .denied,
        .userCancelled: .denied, .interactionNotAllowed: .denied,
    ]

    @Test(arguments: KeychainFailure.Code.allCases)
    func `A failure of the keychain becomes an exit code`(_ code: KeychainFailure.Code) {
        let failure = KeychainFailure(code, during: "read an item")
        #expect(CLIError(failure).code == Self.codes[code] ?? .failure)
    }

    @Test func `A failure of the keychain becomes a line that no terminal acts on, and a hint`() {
        let error = CLIError(
            KeychainFailure(
                KeychainFailure(.diskFull, during: "write", path: "/a\nb", hint: "make\u{7} room"),
                systemError: ENOSPC))
        #expect(
            error.message
                == "could not write: the disk is full (/a\\nb): No space left on device")
        #expect(error.hint == "make\\u{7} room")
    }

    @Test(arguments: [
        ["set", "k"], ["get", "k"], ["contains", "k"], ["remove", "k", "--yes"],
        ["list"], ["remove", "--all"], ["set", "k", "--if-absent"], ["status"],
    ])
    func `Every verb reports a failure of the keychain and writes nothing`(_ words: [String]) throws
    {
        let bench = Bench(home: "a\nb")
        bench.add("k")
        bench.store.close()
        let folder = bench.store.location.folder
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
        #expect(bench.run(words) == .denied)
        #expect(bench.console.output.isEmpty)
        let notes = bench.console.notes
        #expect(notes.count == 2)
        #expect(notes[0].hasPrefix("valet: error: could not "))
        #expect(notes[0].contains("/a\\nb)") && notes[1].hasPrefix("valet: hint: "))
    }
}

@Suite struct `Writing a point in time` {
    @Test(
        arguments: [
            (0, "2001-01-01T00:00:00Z"), (-0.5, "2000-12-31T23:59:59Z"),
            (-26_524_800, "2000-02-29T00:00:00Z"), (220_838_399.9, "2007-12-31T23:59:59Z"),
            (-978_307_200, "1970-01-01T00:00:00Z"), (252_423_993_599, "9999-12-31T23:59:59Z"),
            (-63_113_904_000, "0001-01-01T00:00:00Z"),
        ] as [(Double, String)])
    func `A point in time counts days as the calendar does`(_ seconds: Double, _ text: String) {
        #expect(Timestamp.text(secondsSince2001: seconds) == text)
    }

    @Test func `A point in time is written as Foundation writes it`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let seconds = Double.random(in: -12e9...250e9, using: &generator).rounded()
            let date = Date(timeIntervalSinceReferenceDate: seconds)
            #expect(Timestamp.text(secondsSince2001: seconds) == date.formatted(.iso8601))
        }
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, 252_423_993_600])
    func `A point in time has no text if its year does not have four digits`(_ seconds: Double) {
        #expect(Timestamp.text(secondsSince2001: seconds) == nil)
    }
}

@Suite struct `The exit code of a failure` {
    private func code(_ code: KeychainFailure.Code, _ systemError: Int32 = 0) -> ExitCode {
        let failure = KeychainFailure(code, during: "open the keychain", path: "/k")
        return CLIError(KeychainFailure(failure, systemError: systemError)).code
    }

    @Test(arguments: [EACCES, EPERM])
    func `The exit code is 77 if the system denied access`(_ systemError: Int32) {
        #expect(code(.inputOutput, systemError) == .denied)
        // The system's word is no reason to forget another.
        #expect(code(.keychainDamaged, systemError) == .damaged)
        #expect(code(.timedOut, systemError) == .locked)
    }

    @Test(arguments: [0, EIO, ENOENT, EMFILE, EROFS, ENOSPC] as [Int32])
    func `The exit code is 1 for system errors that are no denial`(_ systemError: Int32) {
        #expect(code(.inputOutput, systemError) == .failure)
    }
}
