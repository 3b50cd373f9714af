// SPDX-License-Identifier: Apache-2.0

import Foundation
import KeychainModel
import KeychainStore
import Testing

@testable import ValetCLI

@Suite struct `valet status` {
    private let bench = Bench()

    @Test func `shows a line for everything that is known`() {
        #expect(bench.run("status") == .success)
        #expect(
            bench.console.outputText == """
                State:         noPasscode
                Folder:        /tmp/a\\nb (far)
                Read-only:     no

                """)
    }

    @Test func `writes an object when asked to`() {
        bench.run("status", "--json")
        #expect(
            bench.console.outputText == """
                {"state":"noPasscode","folder":"/tmp/a\\nb","epoch":null,"isReadOnly":false}

                """)
    }
}

@Suite struct `valet doctor` {
    private let bench = Bench()

    @Test(
        arguments: [
            ([], ExitCode.success), ([.fine, .warning], .success), ([.fine, .broken], .failure),
            ([.broken, .damage, .fine], .damaged),
        ] as [([Finding.Severity], ExitCode)])
    func `exits by the worst finding`(_ severities: [Finding.Severity], _ code: ExitCode) {
        bench.keychain.findings = severities.map { Finding($0, "something") }
        #expect(bench.run("doctor") == code)
    }

    @Test func `writes its findings with what helps`() {
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

    @Test func `writes an object when asked to`() {
        bench.keychain.findings = [Finding(.damage, "a \"row\"", path: "/x")]
        bench.run("doctor", "--json")
        #expect(
            bench.console.outputText == #"""
                {"findings":[{"severity":"damage","message":"a \"row\"","path":"/x","hint":null}]}

                """#)
    }

    @Test(
        arguments: [
            (["--clear-quarantine"], false, nil, ExitCode.usage, 2),
            (["--clear-quarantine"], true, false, .denied, 2),
            (["--clear-quarantine"], true, true, .success, 0),
            (["--clear-quarantine", "--yes"], false, nil, .success, 0),
            (["--yes"], false, nil, .usage, 2), ([], false, nil, .success, 2),
        ] as [([String], Bool, Bool?, ExitCode, Int)])
    func `removes what was set aside when somebody agrees`(
        _ options: [String], _ isTerminal: Bool, _ answer: Bool?, _ code: ExitCode, _ left: Int
    ) {
        bench.keychain.quarantinedRowCount = 2
        bench.console.isInputTerminal = isTerminal
        bench.console.answer = answer ?? false
        #expect(bench.run(words: ["doctor"] + options) == code)
        #expect(bench.keychain.quarantinedRowCount == left)
        let note = "valet: removed 2 damaged items that had been set aside"
        #expect(bench.console.notes.contains(note) == (left == 0))
    }

    @Test(arguments: [
        (KeychainFailure.Code.noHome, ExitCode.failure), (.keychainDamaged, .damaged),
    ])
    func `takes a keychain that does not open as a finding`(
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
    func `becomes an exit code`(_ code: KeychainFailure.Code) {
        let bench = Bench()
        bench.keychain.failure = KeychainFailure(code, during: "read an item")
        #expect(bench.run("get", "k") == Self.codes[code] ?? .failure)
    }

    @Test(arguments: [
        ["set", "k"], ["get", "k"], ["contains", "k"], ["remove", "k"], ["list"],
        ["remove", "--all"], ["status"],
    ])
    func `is told by every verb, and nothing is written`(_ words: [String]) {
        let bench = Bench()
        bench.console.input = [1]
        bench.keychain.failure = KeychainFailure(
            KeychainFailure(.diskFull, during: "write", path: "/a\nb", hint: "make room"),
            systemError: ENOSPC)
        let code = words.count == 1 ? bench.run(words[0]) : bench.run(words[0], words[1])
        #expect(code == .failure)
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
    func `counts days as the calendar does`(_ seconds: Double, _ text: String) {
        #expect(Timestamp.text(secondsSince2001: seconds) == text)
    }

    @Test func `agrees with Foundation`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let seconds = Double.random(in: -12e9...250e9, using: &generator).rounded()
            let date = Date(timeIntervalSinceReferenceDate: seconds)
            #expect(Timestamp.text(secondsSince2001: seconds) == date.formatted(.iso8601))
        }
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, 252_423_993_600])
    func `has no text for times beyond four digits`(_ seconds: Double) {
        #expect(Timestamp.text(secondsSince2001: seconds) == nil)
    }
}
