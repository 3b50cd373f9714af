// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainStore

@testable import ValetCLI

@Suite struct `valet passcode set` {
    private let bench: Bench

    init() throws { bench = Bench() }

    @Test func `valet passcode set asks a person twice`() throws {
        bench.add("secret")
        bench.person.answers = ["correct horse", "correct horse"]
        #expect(bench.run("passcode", "set") == .success)
        #expect(bench.person.labels == ["New passcode", "New passcode, again"])
        #expect(try bench.opens(with: "correct horse"))
        #expect(bench.canRead("secret"))
    }

    @Test func `valet passcode set reads one line of a descriptor, once`() throws {
        #expect(
            bench.run("passcode", "set", "--passcode-fd", "3", lines: ["correct horse", "second"])
                == .success)
        #expect(bench.descriptors[3]?.answers == ["second"])
        #expect(try bench.opens(with: "correct horse"))
    }

    // Promise: 8.7
    @Test func `valet passcode set reports the keychain's state, and not the passcode`() throws {
        bench.run("passcode", "set", "--passcode-fd", "3", lines: ["correct horse"])
        let note = try #require(bench.console.notes.first)
        #expect(note.hasPrefix("valet: the passcode is set; "))
        #expect(bench.console.notes.dropFirst().allSatisfy { $0.contains("recovery create") })
        #expect(bench.console.output.isEmpty && bench.console.notes.count == 2)
        #expect(!bench.everything.contains("horse"))
    }

    // Promise: 8.7
    @Test func `valet passcode set refuses a short passcode before it asks again`() throws {
        bench.person.answers = ["short", "1234567", "äöüäöüä", "never asked"]
        #expect(bench.run("passcode", "set") == .usage)
        #expect(bench.person.labels == ["New passcode", "New passcode", "New passcode"])
        #expect(
            bench.person.problems == [
                "the passcode has fewer than 8 characters",
                "the passcode has fewer than 8 characters",
            ])
        #expect(bench.console.notes.last?.contains("'--weak'") == true)
        #expect(try bench.store.keychain.status().state == .absent)
    }

    // Promise: 8.7
    @Test func `valet passcode set refuses a short passcode of a descriptor at once`() throws {
        #expect(
            bench.run("passcode", "set", "--passcode-fd", "3", lines: ["short", "long enough"])
                == .usage)
        #expect(bench.descriptors[3]?.answers == ["long enough"])
        #expect(try bench.store.keychain.status().state == .absent)
    }

    @Test func `valet passcode set accepts a short passcode with --weak`() throws {
        #expect(
            bench.run("passcode", "set", "--weak", "--passcode-fd", "3", lines: ["1"]) == .success)
        #expect(try bench.opens(with: "1"))
    }

    @Test func `valet passcode set asks again if the two passcodes differ`() throws {
        bench.person.answers = [
            "correct horse", "correct hose", "battery staple", "battery staple",
        ]
        #expect(bench.run("passcode", "set") == .success)
        #expect(bench.person.problems == ["the two passcodes differ"])
        #expect(try bench.opens(with: "battery staple"))
    }

    @Test func `valet passcode set gives up after three tries`() throws {
        bench.person.answers = ["aaaaaaaa", "b", "aaaaaaaa", "b", "aaaaaaaa", "b", "no more"]
        #expect(bench.run("passcode", "set") == .failure)
        #expect(bench.person.answers == ["no more"])
        #expect(bench.console.notes == ["valet: error: the two passcodes differ"])
        #expect(try bench.store.keychain.status().state == .absent)
    }

    @Test func `valet passcode set changes nothing without an answer`() throws {
        bench.add("secret")
        #expect(bench.run("passcode", "set") == .failure)
        #expect(try bench.store.keychain.status().state == .noPasscode)
    }

    @Test func `valet passcode set does not ask if a passcode is set already`() throws {
        let bench = try Bench.withPasscode()
        #expect(bench.run("passcode", "set") == .failure)
        #expect(bench.person.prompts.isEmpty)
        #expect(
            bench.console.notes == [
                "valet: error: a passcode is set already",
                "valet: hint: 'valet passcode change' changes it",
            ])
    }

    @Test(arguments: ["1", "2", "x", "-3", "03", "1e3"])
    func `valet passcode set refuses a wrong descriptor number before anything else`(
        _ number: String
    ) throws {
        #expect(bench.run("passcode", "set", "--passcode-fd=\(number)") == .usage)
        #expect(bench.console.notes.first?.contains("'--passcode-fd' does not take") == true)
    }
}

@Suite struct `valet passcode change` {
    private let bench: Bench

    init() throws { bench = try Bench.withPasscode() }

    // Promise: 8.6
    @Test func `valet passcode change asks for the old passcode, then twice for the new one`()
        throws
    {
        bench.person.answers = [Bench.passcode, "battery staple", "battery staple"]
        #expect(bench.run("passcode", "change") == .success)
        #expect(bench.person.labels == ["Passcode", "New passcode", "New passcode, again"])
        #expect(try bench.opens(with: "battery staple"))
        #expect(try !bench.opens(with: Bench.passcode))
        #expect(bench.canRead("secret"))
    }

    @Test func `valet passcode change reads two lines of one descriptor`() throws {
        #expect(
            bench.run(
                "passcode", "change", "--passcode-fd", "3",
                lines: [Bench.passcode, "battery staple"]) == .success)
        #expect(try bench.opens(with: "battery staple"))
    }

    @Test func `valet passcode change reads a line of each of two descriptors`() throws {
        bench.descriptors[4] = ScriptedAnswers(["battery staple"], isInteractive: false)
        #expect(
            bench.run(
                "passcode", "change", "--passcode-fd", "3", "--new-passcode-fd", "4",
                lines: [Bench.passcode]) == .success)
        #expect(try bench.opens(with: "battery staple"))
    }

    @Test func `valet passcode change lets a person mistype the old passcode twice`() throws {
        bench.person.answers =
            ["wrong", "wrong", Bench.passcode] + ["12345678", "12345678"]
        #expect(bench.run("passcode", "change") == .success)
        #expect(bench.person.problems == ["wrong passcode", "wrong passcode"])
    }

    // Promise: 8.6
    @Test func `valet passcode change with a wrong passcode does not ask for a new one`() throws {
        bench.person.answers = ["wrong", "wrong", "wrong", "new passcode"]
        #expect(bench.run("passcode", "change") == .denied)
        #expect(bench.person.answers == ["new passcode"])
        #expect(bench.console.notes == ["valet: error: wrong passcode"])
        #expect(try bench.opens(with: Bench.passcode))
    }

    @Test func `valet passcode change gives a descriptor one try`() throws {
        #expect(
            bench.run(
                "passcode", "change", "--passcode-fd", "3",
                lines: ["wrong", Bench.passcode, "battery staple"]) == .denied)
        #expect(try bench.opens(with: Bench.passcode))
    }

    @Test func `valet passcode change refuses a short new passcode`() throws {
        #expect(
            bench.run(
                "passcode", "change", "--passcode-fd", "3", lines: [Bench.passcode, "123"])
                == .usage)
        #expect(try bench.opens(with: Bench.passcode))
    }

    @Test(arguments: ["change", "remove"])
    func `valet passcode change and remove need a passcode`(_ verb: String) throws {
        let bench = Bench()
        #expect(bench.run("passcode", verb) == .notFound)
        bench.add("secret")
        #expect(bench.run("passcode", verb) == .failure)
        #expect(bench.console.notes.first == "valet: error: the keychain has no passcode")
        #expect(bench.person.prompts.isEmpty)
    }
}

@Suite struct `valet passcode remove` {
    private let bench: Bench

    init() throws {
        bench = try Bench.withPasscode()
        bench.add("bound", as: .whenPasscodeSetThisDeviceOnly)
    }

    @Test
    func `valet passcode remove shows what is destroyed, asks for consent, then for the passcode`()
        throws
    {
        bench.console.isInputTerminal = true
        bench.console.answer = true
        bench.person.answers = [Bench.passcode]
        #expect(bench.run("passcode", "remove") == .success)
        #expect(
            bench.console.notes == [
                "valet: without a passcode, 1 item that needs it is destroyed, and the "
                    + "keychain cannot be locked", "valet: the passcode is removed",
            ])
        #expect(bench.console.questions == ["Remove the passcode?"])
        #expect(try bench.store.keychain.status().state == .noPasscode)
        #expect(bench.canRead("secret"))
        #expect(!bench.canRead("bound", as: .whenPasscodeSetThisDeviceOnly))
    }

    @Test func `valet passcode remove changes nothing after a no`() throws {
        bench.console.isInputTerminal = true
        #expect(bench.run("passcode", "remove") == .denied)
        #expect(bench.person.prompts.isEmpty)
        #expect(bench.canRead("bound", as: .whenPasscodeSetThisDeviceOnly))
    }

    // Promise: 8.13
    @Test func `valet passcode remove is refused where nobody can be asked`() throws {
        #expect(
            bench.run("passcode", "remove", "--passcode-fd", "3", lines: [Bench.passcode])
                == .usage)
        #expect(bench.console.notes.last == "valet: hint: '--yes' gives consent in advance")
        #expect(try bench.opens(with: Bench.passcode))
    }

    @Test func `valet passcode remove does not ask with --yes`() throws {
        #expect(
            bench.run(
                "passcode", "remove", "--yes", "--passcode-fd", "3",
                lines: [Bench.passcode]) == .success)
        #expect(bench.console.questions.isEmpty)
        #expect(try bench.store.keychain.status().state == .noPasscode)
    }

    @Test func `valet passcode remove is denied with a wrong passcode`() throws {
        #expect(
            bench.run("passcode", "remove", "-y", "--passcode-fd", "3", lines: ["wrong"])
                == .denied)
        #expect(bench.canRead("bound", as: .whenPasscodeSetThisDeviceOnly))
    }
}
