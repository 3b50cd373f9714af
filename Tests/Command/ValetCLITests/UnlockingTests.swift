// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel

@testable import ValetCLI

@Suite struct `A verb that finds the keychain locked` {
    private static let verbs = [
        ["get", "a"], ["contains", "a"], ["remove", "a", "--yes"], ["list"],
        ["remove", "--all", "--yes"], ["set", "a"], ["set", "new", "--if-absent"],
    ]

    private let bench = Bench.withTwoSecrets
    private let person = ScriptedAnswers()

    private func run(_ words: [String], answeredBy source: ScriptedAnswers) -> ExitCode {
        bench.console.notes = []
        bench.console.input = [1]
        let keychain = bench.keychain
        var context = Context(console: bench.console) { (requester) throws(KeychainFailure) in
            try keychain.open(requester)
        }
        context.passcodes = { _ in source }
        return ValetTool.run(words, in: context)
    }

    private func lock(byProcess: Bool) {
        bench.keychain.failure = KeychainFailure(
            KeychainFailure(.locked, during: "read items"), hint: "run `valet unlock`")
        bench.keychain.passcode = byProcess ? "correct horse" : nil
    }

    @Test(arguments: verbs)
    func `A verb does not ask for the passcode where programs share opened keys`(_ words: [String])
    {
        lock(byProcess: false)
        person.answers = ["correct horse"]
        #expect(run(words, answeredBy: person) == .locked)
        #expect(person.prompts.isEmpty)
        #expect(bench.console.notes.last == "valet: hint: run `valet unlock`")
    }

    @Test(arguments: verbs)
    func `A verb unlocks a locked keychain where each process has its own keys`(_ words: [String]) {
        lock(byProcess: true)
        person.answers = ["correct horse"]
        #expect(run(words, answeredBy: person) == .success)
        #expect(person.prompts.count == 1)
    }

    @Test func `A verb that finds the keychain locked fails after three wrong answers of a person`()
    {
        lock(byProcess: true)
        person.answers = ["1", "2", "3", "correct horse"]
        #expect(run(["get", "a"], answeredBy: person) == .denied)
        #expect(person.problems == ["wrong passcode", "wrong passcode"])
    }

    @Test
    func `A verb that finds the keychain locked fails after one wrong answer of a descriptor`() {
        lock(byProcess: true)
        let lines = ScriptedAnswers(["1", "correct horse"], isInteractive: false)
        #expect(run(["get", "a"], answeredBy: lines) == .denied)
        #expect(lines.answers == ["correct horse"])
    }

    @Test func `A verb that finds the keychain locked says what helps if it gets no answer`() {
        lock(byProcess: true)
        #expect(run(["get", "a"], answeredBy: person) == .locked)
        #expect(bench.console.notes.last?.contains("$VALET_PASSCODE_FD") == true)
        #expect(bench.keychain.unlockCount == 0)
    }

    @Test(arguments: [["status"], ["doctor"]])
    func `status and doctor do not ask for the passcode of a locked keychain`(_ words: [String]) {
        bench.keychain.passcode = "correct horse"
        #expect(run(words, answeredBy: person) == .success)
        #expect(person.prompts.isEmpty)
    }
}

@Suite struct `A verb that finds the keychain locked at a terminal` {
    private let bench = Bench.withTwoSecrets
    private let person = ScriptedAnswers(["correct horse"])

    private func run(typing lines: [String], _ words: [String] = ["get", "a"]) -> ExitCode {
        bench.keychain.failure = KeychainFailure(.locked, during: "read items")
        bench.keychain.passcode = "correct horse"
        bench.keychain.sharesKeys = true
        bench.console.canOffer = true
        bench.console.lines = lines
        bench.console.notes = []
        bench.console.output = []
        let keychain = bench.keychain
        var context = Context(console: bench.console) { (requester) throws(KeychainFailure) in
            try keychain.open(requester)
        }
        context.passcodes = { [person] _ in person }
        return ValetTool.run(words, in: context)
    }

    @Test(
        arguments: [
            ("", .process), ("n", .process), ("u", .session(nil)),
            ("8h", .session(.seconds(28_800))),
        ] as [(String, UnlockReach)])
    func `A verb at a terminal unlocks for as long as the user says`(
        _ line: String, _ reach: UnlockReach
    ) {
        #expect(run(typing: [line]) == .success)
        #expect(bench.console.outputText == "one")
        #expect(bench.keychain.reaches == [reach])
        #expect(bench.console.notes.isEmpty)
    }

    @Test func `A verb at a terminal asks for the passcode before it shows what is typed`() {
        person.answers = []
        #expect(run(typing: ["correct horse"]) == .locked)
        #expect(bench.console.questions.isEmpty && person.prompts.count == 1)
        #expect(bench.keychain.unlockCount == 0)
    }

    @Test func `A verb at a terminal asks again after an answer that it does not understand`() {
        #expect(run(typing: ["what", "15m"]) == .success)
        #expect(bench.keychain.reaches == [.session(.seconds(900))])
    }

    @Test(arguments: [[], ["x", "x", "x", "u"]] as [[String]])
    func `A verb at a terminal unlocks for itself alone if nobody says for how long`(
        _ lines: [String]
    ) {
        #expect(run(typing: lines) == .success)
        #expect(bench.keychain.reaches == [.process])
    }
}

@Suite struct `The progress of a long change` {
    private let console = FakeConsole()

    private func show(_ counts: [Int]) {
        let line = ProgressLine("sealing items again", on: console)
        for count in counts { line.show(count, of: 200) }
        line.end()
    }

    @Test func `The progress of a long change is shown on a terminal, each percent once`() {
        console.isErrorTerminal = true
        show([0, 1, 2, 3, 200])
        let lines = ["0", "1", "100"].map { "\rvalet: sealing items again: \($0) %" }
        #expect(console.shown == lines.joined() + "\n")
    }

    @Test func `The progress of a change is shown whatever its total`() {
        console.isErrorTerminal = true
        let line = ProgressLine("reading", on: console)
        for count in [-1, .max / 2 + 1, .max] { line.show(count, of: .max) }
        #expect(console.shown.hasSuffix(" 0 %\rvalet: reading: 50 %\rvalet: reading: 100 %"))
    }

    @Test func `The progress of a change that is done at once is not shown`() {
        console.isErrorTerminal = true
        show([200])
        #expect(console.shown.isEmpty)
    }

    @Test func `The progress of a change is not shown without a terminal`() {
        show([0, 100, 200])
        #expect(console.shown.isEmpty)
    }
}
