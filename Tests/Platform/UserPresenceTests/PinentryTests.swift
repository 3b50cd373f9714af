// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSealing
import ValetSystem
import ValetTestValues

@testable import ValetUserPresence

@Suite(.serialized) struct `A pinentry program` {
    @Test(
        arguments: [
            ("PIN 1234", "1234"), ("PIN 100%25%20%c3%A9%0A", "100% é\n"), ("PIN a%00b", "a\0b"),
            ("PIECES ab %63 d", "abcd"), ("SLOW ab %63 d", "abcd"),
            ("RAW S ignored\\n# ignored\\nD x\\r\\nOK done\\r\\n", "x"),
        ])
    func `A pinentry returns what was typed`(_ answer: String, _ expected: String) throws {
        let pinentry = try FakePinentry(answer)
        #expect(Outcome { () throws(SystemError) in try pinentry.ask() } == .answer(expected))
        #expect(pinentry.isGone)
    }

    // Promise: 18.3
    @Test(
        arguments: [
            ("CANCEL", .cancelled), ("CLOSED", .cancelled), ("EOF", .cancelled),
            ("HALF", .cancelled), ("TIMEOUT", .timedOut),
            ("FAILURE", .pinentryUnusable), ("BROKEN", .pinentryUnusable),
            ("LONG 1100", .malformed), ("CHATTER", .malformed), ("RAW D %2\\nOK\\n", .malformed),
            ("RAW D %zz\\nOK\\n", .malformed), ("RAW OKAY\\n", .malformed),
            ("RAW ERR what\\n", .malformed), ("RAW ERR 4294967296\\n", .malformed),
            ("RAW INQUIRE QUALITY\\n", .malformed), ("RAW \\n", .malformed),
        ] as [(String, SystemError.Code)])
    func `A pinentry without an answer gives the reason`(
        _ answer: String, _ code: SystemError.Code
    ) throws {
        let pinentry = try FakePinentry(answer)
        #expect(Outcome { () throws(SystemError) in try pinentry.ask() } == .failure(code))
        #expect(pinentry.isGone)
    }

    // Promise: 18.3
    @Test(arguments: ["HANG", "MUTE", "DEAF"])
    func `A pinentry is ended at the deadline`(_ answer: String) throws {
        let pinentry = try FakePinentry(answer)
        var prompt = PasscodePrompt(description: "asks")
        prompt.timeout = .milliseconds(600)
        let outcome = Outcome { () throws(SystemError) in try pinentry.ask(prompt) }
        #expect(outcome == .failure(.timedOut))
        #expect(pinentry.isGone)
    }

    @Test func `A pinentry may return no more bytes than allowed`() throws {
        let limit = PasscodePrompt.maximumByteCount
        let pieces = [
            String(repeating: "a", count: limit - 600), String(repeating: "b", count: 600),
        ]
        let fitting = try FakePinentry("PIECES " + pieces.joined(separator: " "))
        let excessive = try FakePinentry("PIECES c " + pieces.joined(separator: " "))
        #expect(
            Outcome { () throws(SystemError) in try fitting.ask() }
                == .answer(pieces.joined()))
        #expect(
            Outcome { () throws(SystemError) in try excessive.ask() } == .failure(.tooLong))
        #expect(excessive.isGone)
    }

    @Test func `A pinentry is asked three times for an entry that is not empty`() throws {
        let pinentry = try FakePinentry("EMPTY", "EMPTY", "PIN x")
        let stubborn = try FakePinentry("EMPTY", "EMPTY", "EMPTY", "PIN x")
        #expect(Outcome { () throws(SystemError) in try pinentry.ask() } == .answer("x"))
        #expect(
            Outcome { () throws(SystemError) in try stubborn.ask() } == .failure(.empty))
        #expect(pinentry.lines("log").contains("SETERROR the answer is empty"))
    }

    @Test func `A pinentry may return nothing where that is allowed`() throws {
        let pinentry = try FakePinentry("EMPTY")
        var prompt = PasscodePrompt(description: "asks")
        prompt.allowsEmpty = true
        let outcome = Outcome { () throws(SystemError) in try pinentry.ask(prompt) }
        #expect(outcome == .answer(""))
    }

    @Test(
        arguments: [
            (["PIN a", "PIN a"], .answer("a"), 2), (["TWICE a"], .answer("a"), 1),
            (["PIN a", "PIN b", "PIN c", "PIN c"], .answer("c"), 4),
            (["PIN a", "CANCEL"], .failure(.cancelled), 2),
            (["PIN 1", "PIN 2", "PIN 1", "PIN 2", "PIN 1", "PIN 2"], .failure(.mismatch), 6),
        ] as [([String], Outcome, Int)])
    func `A pinentry asks twice for a new passcode`(
        _ answers: [String], _ expected: Outcome, _ questionCount: Int
    ) throws {
        let pinentry = try FakePinentry(answers.joined(separator: "\n"))
        var prompt = PasscodePrompt(description: "asks")
        prompt.asksTwice = true
        let outcome = Outcome { () throws(SystemError) in try pinentry.ask(prompt) }
        #expect(outcome == expected)
        #expect(pinentry.lines("log").count { $0 == "GETPIN" } == questionCount)
    }

    @Test func `A missing pinentry is reported with the system's error`() {
        let program = PinentryProgram(
            path: "/nonexistent/pinentry", environment: Environment([:]), usesTerminal: false)
        let error = #expect(throws: SystemError.self) {
            _ = try program.ask(
                PasscodePrompt(description: ""), until: Deadline(after: .seconds(5)))
        }
        #expect(error?.code == .pinentryUnusable)
        #expect(error?.systemError == ENOENT && error?.hint?.contains("VALET_PINENTRY") == true)
    }

    // Promise: 5.8
    @Test func `A pinentry shows who asks for what, and nothing that could act`() throws {
        let pinentry = try FakePinentry("PIN x")
        let prompt = PasscodePrompt(
            title: "100%", description: "Mail wants\nyour é\u{1B}[2J\u{202E}", label: "PIN",
            previousError: "wrong\nGETPIN")
        _ = try pinentry.ask(prompt, ["LANG": "de_DE.UTF-8"])
        let log = pinentry.lines("log")
        #expect(
            log.starts(with: [
                "OPTION lc-ctype=de_DE.UTF-8", "SETTITLE 100%25",
                "SETDESC Mail wants%0Ayour é\u{FFFD}[2J\u{FFFD}", "SETPROMPT PIN:",
                "SETERROR wrong\u{FFFD}GETPIN",
            ]))
        #expect(log.contains { $0.hasPrefix("SETTIMEOUT 5") })
        #expect(log.last == "BYE")
    }

    // Promise: 5.8
    /// Windows that take text with tags for more than text.
    @Test func `A pinentry shows no text as markup`() throws {
        let pinentry = try FakePinentry("PIN x")
        var prompt = PasscodePrompt(
            title: "<b>", description: "<h1>Mail</h1> & co\n&lt;", label: "<i>",
            previousError: "<u>")
        prompt.cancelTitle = "<s>&"
        _ = try pinentry.ask(prompt)
        let log = pinentry.lines("log")
        #expect(!log.isEmpty && log.allSatisfy { !$0.contains { "<>&".contains($0) } })
        let mail = "\u{2039}h1\u{203A}Mail\u{2039}/h1\u{203A}"
        #expect(log.contains("SETDESC \(mail) \u{FF06} co%0A\u{FF06}lt;"))
    }

    @Test func `A pinentry gets long texts cut to the lines of its protocol`() throws {
        let pinentry = try FakePinentry("PIN x")
        _ = try pinentry.ask(
            PasscodePrompt(description: String(repeating: "%é\n", count: 1000)))
        let lines = pinentry.lines("log")
        #expect(lines.allSatisfy { $0.utf8.count <= AssuanLine.maximumByteCount })
        #expect(lines.contains { $0.hasPrefix("SETDESC %25é%0A%25é%0A") && $0.utf8.count > 900 })
    }

    // Promise: 5.5
    @Test func `A pinentry learns nothing of the process except where to show itself`() throws {
        let inheritable = dup(0)
        defer { close(inheritable) }
        let pinentry = try FakePinentry("PIN x")
        _ = try pinentry.ask(
            PasscodePrompt(description: "asks"),
            [
                "DISPLAY": ":7", "TERM": "xterm", "VALET_PASSCODE": "secret", "HOME": "/secret",
                "LD_PRELOAD": "secret", "PATH": "/secret", "LC_ALL": "C.UTF-8",
            ])
        #expect(
            Set(pinentry.lines("environment")) == [
                "PATH=/usr/local/bin:/usr/bin:/bin", "DISPLAY=:7", "TERM=xterm", "LC_ALL=C.UTF-8",
            ])
        #expect(pinentry.lines("arguments") == ["/bin/sh \(pinentry.path) "])
        #expect(pinentry.lines("descriptors") == [])
        let signals = pinentry.lines("signals").compactMap { line in
            line.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) }
        }
        // Signals 32 and 33 are the C library's own, and nobody may change them.
        #expect(signals.map { $0 & ~(0b11 << 31) } == [0, 0])
    }
}
