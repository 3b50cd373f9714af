// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel

@testable import ValetCLI

@Suite struct `A keychain that a verb meets locked` {
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
    func `stays locked where its state is shared, and nobody is asked`(_ words: [String]) {
        lock(byProcess: false)
        person.answers = ["correct horse"]
        #expect(run(words, answeredBy: person) == .locked)
        #expect(person.prompts.isEmpty)
        #expect(bench.console.notes.last == "valet: hint: run `valet unlock`")
    }

    @Test(arguments: verbs)
    func `is unlocked for the verb where each process has its own`(_ words: [String]) {
        lock(byProcess: true)
        person.answers = ["correct horse"]
        #expect(run(words, answeredBy: person) == .success)
        #expect(person.prompts.count == 1)
    }

    @Test func `is denied after three wrong answers of a person`() {
        lock(byProcess: true)
        person.answers = ["1", "2", "3", "correct horse"]
        #expect(run(["get", "a"], answeredBy: person) == .denied)
        #expect(person.problems == ["wrong passcode", "wrong passcode"])
    }

    @Test func `is denied after one wrong answer of a descriptor`() {
        lock(byProcess: true)
        let lines = ScriptedAnswers(["1", "correct horse"], isInteractive: false)
        #expect(run(["get", "a"], answeredBy: lines) == .denied)
        #expect(lines.answers == ["correct horse"])
    }

    @Test func `stays locked when nobody answers, with what helps`() {
        lock(byProcess: true)
        #expect(run(["get", "a"], answeredBy: person) == .locked)
        #expect(bench.console.notes.last?.contains("$VALET_PASSCODE_FD") == true)
        #expect(bench.keychain.unlockCount == 0)
    }

    @Test(arguments: [["status"], ["doctor"]])
    func `is looked at without asking`(_ words: [String]) {
        bench.keychain.passcode = "correct horse"
        #expect(run(words, answeredBy: person) == .success)
        #expect(person.prompts.isEmpty)
    }
}

@Suite struct `The progress of a long change` {
    private let console = FakeConsole()

    private func show(_ counts: [Int]) {
        let line = ProgressLine("sealing items anew", on: console)
        for count in counts { line.show(count, of: 200) }
        line.end()
    }

    @Test func `is shown on a terminal, each percent once`() {
        console.isErrorTerminal = true
        show([0, 1, 2, 3, 200])
        let lines = ["0", "1", "100"].map { "\rvalet: sealing items anew: \($0) %" }
        #expect(console.shown == lines.joined() + "\n")
    }

    @Test func `is not shown for what is done at once`() {
        console.isErrorTerminal = true
        show([200])
        #expect(console.shown.isEmpty)
    }

    @Test func `is not shown where nobody looks`() {
        show([0, 100, 200])
        #expect(console.shown.isEmpty)
    }
}
