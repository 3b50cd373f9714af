// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore

@testable import ValetCLI

@Suite struct `valet recovery` {
    private let bench: Bench

    init() throws {
        bench = try Bench.withPasscode()
        bench.add("bound", as: .whenPasscodeSetThisDeviceOnly)
        bench.add("local", as: .whenUnlockedThisDeviceOnly)
    }

    /// A new recovery key.
    private func create(_ options: String...) throws -> String {
        #expect(
            bench.run(
                ["recovery", "create", "--passcode-fd", "3"] + options,
                lines: [Bench.passcode]) == .success)
        return String(bench.console.outputText.dropLast())
    }

    private func loseDeviceKey() throws {
        bench.store.close()
        try FileManager.default.removeItem(
            atPath: bench.store.location.deviceFolder + "/device.key")
    }

    @Test func `valet recovery create writes the key once, and nothing else without a terminal`()
        throws
    {
        let key = try create()
        #expect(key.wholeMatch(of: /V1[0-9A-Z]{2}(-[0-9A-Z]{4}){9}/) != nil)
        #expect(bench.console.notes.isEmpty)
        #expect(try bench.store.keychain.status().hasRecoveryKey)
    }

    @Test func `valet recovery create tells a person what to do with the key`() throws {
        bench.console.isOutputTerminal = true
        let key = try create()
        #expect(bench.console.notes.first?.contains("write this down") == true)
        #expect(!bench.console.notes.joined().contains(key))
    }

    // Promise: 8.12
    @Test func `valet recovery create replaces the earlier key`() throws {
        let first = try create()
        let second = try create("--yes")
        #expect(bench.console.notes.first?.contains("no longer opens the keychain") == true)
        let words = ["--yes", "--set-passcode", "--recovery-key-fd", "3"]
        #expect(use(words, [first, "battery staple"]) == .denied)
        #expect(use(words, [second, "battery staple"]) == .success)
    }

    // Promise: 16.1
    @Test func `valet recovery create keeps the earlier key without consent`() throws {
        let first = try create()
        let lines = [Bench.passcode]
        #expect(bench.run("recovery", "create", "--passcode-fd", "3", lines: lines) == .usage)
        #expect(bench.console.notes.last == "valet: hint: '--yes' gives consent in advance")
        bench.console.isInputTerminal = true
        #expect(bench.run("recovery", "create", "--passcode-fd", "3", lines: lines) == .denied)
        #expect(bench.console.questions.first?.hasPrefix("The keychain has a recovery key") == true)
        #expect(bench.console.output.isEmpty && bench.person.prompts.isEmpty)
        let words = ["--yes", "--set-passcode", "--recovery-key-fd", "3"]
        #expect(use(words, [first, "battery staple"]) == .success)
    }

    // Promise: 16.1
    @Test func `valet recovery revoke keeps the key without consent`() throws {
        _ = try create()
        let lines = [Bench.passcode]
        #expect(bench.run("recovery", "revoke", "--passcode-fd", "3", lines: lines) == .usage)
        bench.console.isInputTerminal = true
        #expect(bench.run("recovery", "revoke", "--passcode-fd", "3", lines: lines) == .denied)
        #expect(try bench.store.keychain.status().hasRecoveryKey)
    }

    @Test func `valet recovery create is denied with a wrong passcode`() throws {
        #expect(
            bench.run("recovery", "create", "--passcode-fd", "3", lines: ["wrong"]) == .denied)
        #expect(bench.console.output.isEmpty)
        #expect(try !bench.store.keychain.status().hasRecoveryKey)
    }

    private func use(_ words: [String], _ lines: [String]) -> ExitCode {
        switch words.count {
        case 3: bench.run("recovery", "use", words[0], words[1], words[2], lines: lines)
        default:
            bench.run("recovery", "use", words[0], words[1], words[2], words[3], lines: lines)
        }
    }

    // Promise: 14.12
    @Test
    func `valet recovery use after a forgotten passcode keeps all items but those that need it`()
        throws
    {
        let key = try create()
        #expect(
            use(["--yes", "--set-passcode", "--recovery-key-fd", "3"], [key, "battery staple"])
                == .success)
        let loss = "valet: with the right key, 1 item cannot come back: 1 that needs a passcode"
        #expect(bench.console.notes.first == loss)
        #expect(try bench.opens(with: "battery staple"))
        #expect(bench.canRead("secret") && bench.canRead("local", as: .whenUnlockedThisDeviceOnly))
        #expect(!bench.canRead("bound", as: .whenPasscodeSetThisDeviceOnly))
    }

    // Promise: 14.12
    @Test func `valet recovery use after a lost device key keeps the items that may migrate`()
        throws
    {
        let key = try create().lowercased().replacingOccurrences(of: "-", with: " ")
        try loseDeviceKey()
        try bench.store.keychain.lock(all: true)
        #expect(bench.run("unlock") == .failure)
        #expect(bench.console.notes.last?.contains("valet recovery use") == true)
        bench.console.isInputTerminal = true
        bench.console.answer = true
        bench.person.answers = ["V1", key, "battery staple", "battery staple"]
        #expect(bench.run("recovery", "use", "--set-passcode") == .success)
        let loss = "valet: with the right key, 2 items cannot come back: 1 for this device only, "
        #expect(bench.console.notes.first == loss + "1 that needs a passcode")
        #expect(bench.console.questions == ["Recover the keychain?"])
        #expect(
            bench.person.labels == [
                "Recovery key", "Recovery key", "New passcode", "New passcode, again",
            ])
        #expect(
            bench.person.problems == ["wrong length: 2 characters instead of 40"])
        #expect(bench.canRead("secret"))
        #expect(!bench.canRead("local", as: .whenUnlockedThisDeviceOnly))
        #expect(try bench.store.keychain.status().hasRecoveryKey)
    }

    // Promise: 8.7
    @Test func `valet recovery use reports a mistyped key`() throws {
        var key = try create()
        key.append(key.removeLast() == "0" ? "1" : "0")
        #expect(
            use(["--yes", "--set-passcode", "--recovery-key-fd", "3"], [key, "battery staple"])
                == .denied)
        #expect(
            bench.console.notes.last
                == "valet: error: mistyped: the check characters are wrong")
        #expect(try bench.opens(with: Bench.passcode))
        #expect(!bench.everything.contains(key))
    }

    // Promise: 8.13
    @Test func `valet recovery use continues without a passcode only with --lower`() throws {
        let key = try create()
        #expect(use(["--yes", "--recovery-key-fd", "3"], [key]) == .usage)
        #expect(bench.console.notes.first?.contains("would have no passcode") == true)
        #expect(use(["--yes", "--lower", "--recovery-key-fd", "3"], [key]) == .success)
        #expect(try bench.store.keychain.status().state == .noPasscode)
    }

    @Test func `valet recovery use is refused where nobody can be asked`() throws {
        let key = try create()
        #expect(
            use(["--set-passcode", "--recovery-key-fd", "3"], [key, "battery staple"]) == .usage)
        #expect(bench.console.notes.last == "valet: hint: '--yes' gives consent in advance")
        #expect(try bench.opens(with: Bench.passcode))
    }

    @Test func `valet recovery use and revoke need a recovery key`() throws {
        #expect(use(["--yes", "--lower", "--recovery-key-fd", "3"], ["V1"]) == .failure)
        #expect(bench.console.notes.first == "valet: error: the keychain has no recovery key")
        #expect(bench.run("recovery", "revoke") == .failure)
        #expect(bench.console.notes == ["valet: error: the keychain has no recovery key"])
        #expect(bench.person.prompts.isEmpty)
    }

    @Test func `All verbs of valet recovery except create need a keychain`() throws {
        let bench = Bench()
        #expect(bench.run("recovery", "use", "--yes") == .notFound)
        #expect(bench.run("recovery", "revoke") == .notFound)
    }

    // Promise: 8.12
    @Test func `valet recovery revoke makes the key invalid`() throws {
        let key = try create()
        #expect(
            bench.run(
                "recovery", "revoke", "-y", "--passcode-fd", "3", lines: [Bench.passcode])
                == .success)
        #expect(try !bench.store.keychain.status().hasRecoveryKey)
        #expect(use(["--yes", "--lower", "--recovery-key-fd", "3"], [key]) == .failure)
        #expect(bench.canRead("bound", as: .whenPasscodeSetThisDeviceOnly))
    }

    @Test func `status and doctor report that a keychain needs recovery`() throws {
        _ = try create()
        try loseDeviceKey()
        bench.run("status", "--json")
        #expect(bench.console.outputText.contains(#""needsRecovery":true"#))
        bench.run("status")
        #expect(bench.console.outputText.contains("needs recovery"))
        #expect(bench.run("doctor") == .failure)
        #expect(bench.console.outputText.contains("`valet recovery use`"))
    }
}
