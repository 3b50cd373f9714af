// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore

@testable import ValetCLI

/// Another program, which changes the accessibility of secret "a" before one of the command's
/// requests.
final class MovingProgram: CallScript {
    private let store: ItemStore
    private let moment: Int
    private let state = Mutex((calls: 0, isMoved: false))

    /// - Parameter moment: The number of the request; the first one has number 1.
    init(_ store: ItemStore, at moment: Int) {
        (self.store, self.moment) = (store, moment)
    }

    var hasMoved: Bool { state.withLock { $0.isMoved } }

    func perform<R>(
        _ call: SessionCall, in session: KeychainSession, _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        let isNow = state.withLock { state in
            state.calls += 1
            return state.calls == moment
        }
        if isNow { move() }
        return try body()
    }

    private func move() {
        let session = KeychainSession(
            store, Caller(applicationIdentifier: "valet", accessGroups: []))
        var context = Context(console: FakeConsole())
        context.own = { () throws(KeychainFailure) in session }
        context.store = { () throws(KeychainFailure) in session.store }
        let words = ["move", "a", "--to-accessibility", "after-first-unlock"]
        let isMoved = ValetTool.run(words, in: context) == .success
        state.withLock { $0.isMoved = isMoved }
    }

    func look(in session: KeychainSession) throws(KeychainFailure) -> KeychainAvailability {
        try session.store.keychain.availability()
    }

    func changed(
        _ found: Result<KeychainAvailability, KeychainFailure>, in session: KeychainSession
    ) -> Result<KeychainAvailability, KeychainFailure> { found }

    var ofThisTask: any CallScript { self }
}

@Suite struct `A secret that another program moves while a verb works` {
    private let bench = Bench()

    /// A secret "a" with two former values, and a secret "b". A program moves "a" to another
    /// accessibility before request `moment` of `words`.
    private func run(_ words: [String], movingAt moment: Int) -> ExitCode {
        let counter = "otpauth://hotp/a?secret=GEZDGNBVGY3TQOJQ&counter="
        for number in 1...3 {
            bench.run("set", "a", input: Array("\(counter)\(number)".utf8))
        }
        bench.run("set", "b", input: Array("two".utf8))
        bench.script = MovingProgram(bench.store, at: moment)
        let code = bench.run(words)
        bench.script = nil
        return code
    }

    private func count(_ text: String) -> Int {
        bench.console.outputText.split(separator: text, omittingEmptySubsequences: false).count - 1
    }

    private func value(_ key: String, _ options: String...) -> String? {
        bench.run(["get", key] + options) == .success ? bench.console.outputText : nil
    }

    @Test(
        arguments: [
            ["contains", "a"], ["show", "a"], ["get", "a"], ["otp", "a"], ["history", "a"],
            ["get", "a", "--version", "2"], ["undo", "a"], ["undo", "a", "--version", "2"],
            ["copy-to", "a", "--to-id", "new"], ["move", "a", "--to-id", "new"],
            ["rename", "a", "c"], ["move", "--all", "--to-id", "new"],
            ["migrate", "--to-id", "new"], ["remove", "a", "--yes"],
            ["remove", "a", "b", "--yes"], ["remove", "a", "b", "--yes", "--purge"],
            ["remove", "--matching", "a*", "--yes"], ["remove", "a", "--dry-run"],
            ["generate", "a", "--force"],
        ], 1...8)
    func `is found by every verb`(_ words: [String], _ moment: Int) {
        #expect(run(words, movingAt: moment) == .success)
    }

    @Test(arguments: 1...8)
    func `is listed once`(_ moment: Int) {
        #expect(run(["list", "--id", "default", "--json"], movingAt: moment) == .success)
        #expect(count(#""name":"a""#) == 1)
    }

    @Test(arguments: 1...8)
    func `is chosen by patterns once`(_ moment: Int) {
        let words = ["remove", "--id", "default", "--matching", "*", "--dry-run", "--json"]
        #expect(run(words, movingAt: moment) == .success)
        #expect(bench.console.outputText.hasPrefix(#"{"removed":2,"#))
        #expect(count(#""a""#) == 1 && count(#""b""#) == 1)
    }

    @Test(arguments: 1...8)
    func `moves with all others of its valet`(_ moment: Int) {
        #expect(run(["move", "--all", "--to-id", "new"], movingAt: moment) == .success)
        for name in ["a", "b"] {
            #expect(value(name, "--id", "new") != nil && value(name) == nil)
        }
    }

    @Test(arguments: 1...8)
    func `keeps all its former values in the list`(_ moment: Int) {
        #expect(run(["history", "a", "--json"], movingAt: moment) == .success)
        #expect(count(#""version":"#) == 2)
    }

    // Promise: 16.2
    @Test(arguments: [["a"], ["a", "b"], ["--matching", "a"], ["--all"]], 1...8)
    func `is removed by --purge with its former values`(_ chosen: [String], _ moment: Int) {
        #expect(run(["remove", "--purge", "--yes"] + chosen, movingAt: moment) == .success)
        #expect(value("a") == nil)
        #expect(bench.run("history", "a") == .notFound)
    }
}
