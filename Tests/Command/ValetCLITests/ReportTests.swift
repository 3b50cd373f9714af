// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing

@testable import ValetCLI

@Suite struct `valet status` {
    private let bench = Bench()

    @Test func `valet status shows a line for every known fact`() {
        #expect(bench.run("status") == .success)
        #expect(
            bench.console.outputText == """
                State:         noPasscode
                Folder:        /tmp/a\\nb (far)
                Read-only:     no

                """)
    }

    @Test func `valet status writes a JSON object if asked to`() {
        bench.run("status", "--json")
        #expect(
            bench.console.outputText == """
                {"state":"noPasscode","folder":"/tmp/a\\nb","epoch":null,"isReadOnly":false}

                """)
    }
}

@Suite struct `valet status and the passcode` {
    private func add(
        _ account: String, _ constraints: AccessControl.Constraints, to bench: KeychainBench
    ) throws {
        var item = NewItem(.genericPassword, attributes: [.account: .text(account)])
        item.accessControl = try AccessControl(.whenUnlocked, constraints)
        let session = KeychainSession(
            bench.store, Caller(applicationIdentifier: "valet", accessGroups: []))
        let value: [UInt8] = [1]
        try session.add(item, value: SecretValue(copying: value.span))
    }

    @Test func `valet status shows nothing about passcodes without one`() throws {
        let bench = try KeychainBench()
        bench.add("a")
        bench.run("status")
        #expect(!bench.console.outputText.contains("People"))
        bench.run("status", "--json")
        #expect(
            bench.console.outputText.contains(
                #""people":null,"passcodeBound":null,"fingerprintGated":null"#))
    }

    @Test func `valet status shows who counts passcodes, and which items are bound or gated`()
        throws
    {
        let bench = try KeychainBench.withPasscode()
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
    private let bench = Bench()

    @Test(
        arguments: [
            ([], ExitCode.success), ([.fine, .warning], .success), ([.fine, .broken], .failure),
            ([.broken, .damage, .fine], .damaged),
        ] as [([Finding.Severity], ExitCode)])
    func `valet doctor's exit code is that of the worst finding`(
        _ severities: [Finding.Severity], _ code: ExitCode
    ) {
        bench.keychain.findings = severities.map { Finding($0, "something") }
        #expect(bench.run("doctor") == code)
    }

    @Test func `valet doctor writes its findings with their hints`() {
        bench.keychain.findings = [
            Finding(.fine, "the files are safe", path: "/home/a"),
            Finding(.warning, "another program", hint: "look"),
        ]
        bench.run("doctor")
        #expect(
            bench.console.outputText == """
                fine:    the files are safe (/home/a)
                warning: another program
                         -> look

                """)
    }

    @Test func `valet doctor writes a JSON object if asked to`() {
        bench.keychain.findings = [Finding(.damage, "a \"row\"", path: "/x")]
        bench.run("doctor", "--json")
        #expect(
            bench.console.outputText == #"""
                {"findings":[{"severity":"damage","message":"a \"row\"","path":"/x","hint":null}]}

                """#)
    }

    @Test(
        arguments: [
            (false, nil, ExitCode.usage, false), (true, false, .denied, false),
            (true, true, .success, true),
        ] as [(Bool, Bool?, ExitCode, Bool)])
    func `valet doctor discards a damaged log only with consent`(
        _ isTerminal: Bool, _ answer: Bool?, _ code: ExitCode, _ isDone: Bool
    ) {
        bench.keychain.damagedLogPath = "/k/log"
        bench.console.isInputTerminal = isTerminal
        bench.console.answer = answer ?? false
        #expect(bench.run("doctor", "--discard-log") == code)
        #expect((bench.keychain.damagedLogPath == nil) == isDone)
        #expect(bench.console.notes.contains("valet: the damaged log is kept as /k/log") == isDone)
        guard isDone else { return }
        #expect(bench.run("doctor", "--discard-log", "--yes") == .success)
        let nothing = "valet: the log is not damaged, and nothing was discarded"
        #expect(bench.console.notes == [nothing])
    }

    @Test(
        arguments: [
            (["--clear-quarantine"], false, nil, ExitCode.usage, 2),
            (["--clear-quarantine"], true, false, .denied, 2),
            (["--clear-quarantine"], true, true, .success, 0),
            (["--clear-quarantine", "--yes"], false, nil, .success, 0),
            (["--yes"], false, nil, .usage, 2), ([], false, nil, .success, 2),
        ] as [([String], Bool, Bool?, ExitCode, Int)])
    func `valet doctor deletes quarantined items only with consent`(
        _ options: [String], _ isTerminal: Bool, _ answer: Bool?, _ code: ExitCode, _ left: Int
    ) {
        bench.keychain.quarantinedRowCount = 2
        bench.console.isInputTerminal = isTerminal
        bench.console.answer = answer ?? false
        #expect(bench.run(words: ["doctor"] + options) == code)
        #expect(bench.keychain.quarantinedRowCount == left)
        let note = "valet: deleted 2 damaged items that had been set aside"
        #expect(bench.console.notes.contains(note) == (left == 0))
    }

    @Test(arguments: [
        (KeychainFailure.Code.noHome, ExitCode.failure), (.keychainDamaged, .damaged),
    ])
    func `valet doctor reports a keychain that cannot be opened as a finding`(
        _ failure: KeychainFailure.Code, _ code: ExitCode
    ) {
        let context = Context(console: bench.console) { _ throws(KeychainFailure) in
            throw KeychainFailure(failure, during: "open the keychain")
        }
        #expect(ValetTool.run(["doctor"], in: context) == code)
        #expect(bench.console.outputText.contains("could not open the keychain: "))
    }
}

@Suite struct `A failure of the keychain` {
    private static let codes: [KeychainFailure.Code: ExitCode] = [
        .itemNotFound: .notFound, .valueTooLarge: .usage, .damaged: .damaged,
        .keychainDamaged: .damaged, .locked: .locked, .timedOut: .locked,
        .missingEntitlement: .denied, .insecureFiles: .denied, .authenticationFailed: .denied,
        .userCancelled: .denied, .interactionNotAllowed: .denied,
    ]

    @Test(arguments: KeychainFailure.Code.allCases)
    func `A failure of the keychain becomes an exit code`(_ code: KeychainFailure.Code) {
        let bench = Bench()
        bench.keychain.failure = KeychainFailure(code, during: "read an item")
        #expect(bench.run("get", "k") == Self.codes[code] ?? .failure)
    }

    @Test(arguments: [
        ["set", "k"], ["get", "k"], ["contains", "k"], ["remove", "k", "--yes"],
        ["list"], ["remove", "--all"], ["set", "k", "--if-absent"], ["status"],
    ])
    func `Every verb reports a failure of the keychain and writes nothing`(_ words: [String]) {
        let bench = Bench()
        bench.console.input = [1]
        bench.keychain.failure = KeychainFailure(
            KeychainFailure(.diskFull, during: "write", path: "/a\nb", hint: "make room"),
            systemError: ENOSPC)
        #expect(bench.run(words: words) == .failure)
        #expect(bench.console.output.isEmpty)
        #expect(
            bench.console.notes == [
                "valet: error: could not write: the disk is full (/a\\nb): "
                    + "No space left on device",
                "valet: hint: make room",
            ])
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
