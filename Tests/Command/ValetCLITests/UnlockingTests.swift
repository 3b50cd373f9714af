// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore

@testable import ValetCLI

@Suite struct `A verb that finds the keychain locked` {
    /// A bench whose keychain is locked.
    private static func bench() throws -> Bench {
        let bench = try Bench.withPasscode()
        bench.run("set", "a", input: Array("one".utf8))
        try bench.store.keychain.lock()
        return bench
    }

    /// A bench in a process that shares no opened keys, which is this one from now on.
    private static func aloneBench() throws -> Bench {
        LockStates.keepInThisProcess()
        return try bench()
    }

    // Promise: 18.4
    @Test func `A verb does not ask for the passcode where programs share opened keys`() throws {
        let script = """
            export VALET_LOCK_STATE=kernel
            printf v | "$0" set a; echo 'correct horse' >passcode
            "$0" passcode set --passcode-fd 3 3<passcode 2>/dev/null
            "$0" lock 2>/dev/null; exec 2>&1
            for verb in 'get a' 'contains a' list 'set a' 'set new --if-absent'
            do printf v | "$0" $verb; echo "code $?"; done
            "$0" remove a --yes && "$0" remove --all --yes 2>/dev/null
            echo "code $?"; "$0" lock --all 2>/dev/null
            """
        let outcome = try TestedCommand.withFolder { folder in
            try TestedCommand.run("/bin/sh", ["-c", script, TestedCommand.path], in: folder)
        }
        let lines = String(decoding: outcome.output, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 5 * 3 + 1, "\(lines)")
        for place in stride(from: 0, to: lines.count - 1, by: 3) {
            #expect(lines[place].hasPrefix("valet: error: could not "))
            #expect(lines[place + 1].contains("run `valet unlock`"))
            #expect(lines[place + 2] == "code 75")
        }
        #expect(lines.last == "code 0")
    }

    @Test func `A call that has changed something before a lock is not made again`() async {
        await #expect(processExitsWith: .success) {
            let bench = try Self.aloneBench()
            bench.person = ScriptedAnswers([Bench.passcode])
            let unlocking = try bench.context.keychain(for: Requester()).unlocking
            let locked = KeychainFailure(.locked, during: "delete items")
            var callCount = 0
            #expect(throws: KeychainFailure.self) {
                try unlocking.run { () throws(KeychainFailure) in
                    callCount += 1
                    throw KeychainFailure(locked, after: "1500 items were deleted before")
                }
            }
            #expect(callCount == 1)
            #expect(bench.person.prompts.isEmpty)
            try unlocking.run { () throws(KeychainFailure) in
                callCount += 1
                if callCount == 2 { throw locked }
            }
            #expect(callCount == 3)
        }
    }

    @Test
    func `A verb unlocks a locked keychain where each process has its own keys, if it has to`()
        async
    {
        await #expect(processExitsWith: .success) {
            let verbs: [([String], Int)] = [
                (["get", "a"], 1), (["list"], 1), (["set", "a"], 1),
                (["set", "new", "--if-absent"], 1), (["contains", "a"], 1),
                (["remove", "a", "--yes"], 0), (["remove", "--all", "--yes"], 0),
                (["status"], 0), (["doctor"], 0),
            ]
            for (words, count) in verbs {
                let bench = try Self.aloneBench()
                bench.person.answers = [Bench.passcode]
                #expect(bench.run(words, input: [1]) == .success, "\(words)")
                #expect(bench.person.prompts.count == count, "\(words)")
            }
        }
    }

    @Test func `A verb that finds the keychain locked fails after three wrong answers of a person`()
        async
    {
        await #expect(processExitsWith: .success) {
            let bench = try Self.aloneBench()
            bench.person.answers = ["1", "2", "3", Bench.passcode]
            #expect(bench.run("get", "a") == .denied)
            #expect(bench.person.problems == ["wrong passcode", "wrong passcode"])
        }
    }

    @Test
    func `A verb that finds the keychain locked fails after one wrong answer of a descriptor`()
        async
    {
        await #expect(processExitsWith: .success) {
            let bench = try Self.aloneBench()
            let lines = ScriptedAnswers(["1", Bench.passcode], isInteractive: false)
            bench.person = lines
            #expect(bench.run("get", "a") == .denied)
            #expect(lines.answers == [Bench.passcode])
        }
    }

    @Test func `A verb that finds the keychain locked says what helps if it gets no answer`() async
    {
        await #expect(processExitsWith: .success) {
            let bench = try Self.aloneBench()
            #expect(bench.run("get", "a") == .locked)
            #expect(bench.console.notes.last?.contains("$VALET_PASSCODE_FD") == true)
            #expect(try bench.store.keychain.status().state == .locked)
        }
    }

    @Test(arguments: [["status"], ["doctor"]])
    func `status and doctor do not ask for the passcode of a locked keychain`(
        _ words: [String]
    ) throws {
        let bench = try Self.bench()
        bench.person.answers = [Bench.passcode]
        #expect(bench.run(words) == .success)
        #expect(bench.person.prompts.isEmpty)
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
