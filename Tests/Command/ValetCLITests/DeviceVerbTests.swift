// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore

@testable import ValetCLI

@Suite struct `valet device` {
    private let bench: Bench
    private let keyPath: String

    init() throws {
        bench = Bench()
        bench.add("secret")
        keyPath = bench.folder.path + "/given.key"
        try makeKey()
    }

    private func makeKey() throws {
        let bytes = (0..<32).map { _ in UInt8.random(in: 0...255) }
        #expect(
            FileManager.default.createFile(
                atPath: keyPath, contents: Data(bytes), attributes: [.posixPermissions: 0o600]))
    }

    private var ownKey: String { bench.store.location.deviceFolder + "/device.key" }

    @Test func `valet device status shows where the key comes from`() {
        #expect(bench.run("device", "status", "--json") == .success)
        #expect(
            bench.console.outputText == """
                {"source":"own-file","path":"\(ownKey)","isAvailable":true,"level":"file",\
                "needsRecovery":false,"pcrs":null,"storageRootKey":null,"triesLeft":null,\
                "forgivesIn":null,"lockoutAuthorization":null}

                """)
    }

    @Test func `valet device status needs a keychain`() throws {
        #expect(Bench().run("device", "status") == .notFound)
    }

    @Test func `valet device bind uses a key from a file, and says what programs need`() throws {
        #expect(bench.run("device", "bind", "--key-file", keyPath) == .success)
        #expect(
            bench.console.notes == [
                "valet: the device key now comes from key-file",
                "valet: hint: every program that uses the keychain needs "
                    + "VALET_DEVICE_KEY_FILE=\(keyPath) in its environment",
            ])
        #expect(!FileManager.default.fileExists(atPath: ownKey))
        bench.reopen(deviceKeyPath: keyPath)
        #expect(bench.canRead("secret"))
        #expect(bench.run("device", "status", "--json") == .success)
        #expect(bench.console.outputText.contains(#""level":"credential""#))
        bench.reopen(deviceKeyPath: nil)
        #expect(bench.run("get", "secret") == .failure)
        #expect(bench.console.notes.last?.contains("VALET_DEVICE_KEY_FILE") == true)
    }

    @Test func `valet device bind keeps the passcode, and asks for it`() throws {
        try bench.store.keychain.setPasscode(Bench.passcode(Bench.passcode))
        bench.person.answers = ["wrong", Bench.passcode]
        #expect(bench.run("device", "bind", "--key-file", keyPath) == .success)
        bench.reopen(deviceKeyPath: keyPath)
        #expect(try bench.opens(with: Bench.passcode))
        #expect(try bench.store.keychain.status().level == .passcode)
    }

    // Promise: 14.8
    @Test func `valet device bind refuses the keychain's own key under any name`() throws {
        let link = bench.folder.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: ownKey)
        for path in [ownKey, link] {
            bench.reopen(deviceKeyPath: nil)
            #expect(bench.run("device", "bind", "--key-file", path) == .failure)
            #expect(bench.console.notes.first?.contains("own device key") == true)
        }
        bench.reopen(deviceKeyPath: nil)
        #expect(bench.canRead("secret"))
    }

    @Test func `valet device bind refuses a path other than that of the variable`() throws {
        bench.reopen(deviceKeyPath: "/elsewhere")
        #expect(bench.run("device", "bind", "--key-file", keyPath) == .usage)
        #expect(
            bench.console.notes.first
                == "valet: error: VALET_DEVICE_KEY_FILE names '/elsewhere', not '\(keyPath)'")
        #expect(bench.canRead("secret"))
    }

    @Test func `valet device bind accepts the path that the variable names`() throws {
        bench.reopen(deviceKeyPath: keyPath)
        #expect(bench.run("device", "bind", "--key-file", keyPath) == .success)
        #expect(bench.canRead("secret"))
    }

    @Test func `valet recovery use replaces a lost device key from elsewhere only with --lower`()
        throws
    {
        #expect(bench.run("recovery", "create") == .success)
        let key = String(bench.console.outputText.dropLast())
        bench.run("device", "bind", "--key-file", keyPath)
        try FileManager.default.removeItem(atPath: keyPath)
        bench.reopen(deviceKeyPath: keyPath)
        #expect(
            bench.run("recovery", "use", "-y", "--recovery-key-fd", "3", lines: [key]) == .failure)
        #expect(bench.console.notes.last?.contains("'--device-key=own-file --lower'") == true)
        #expect(
            bench.run(
                "recovery", "use", "-y", "--recovery-key-fd", "3", "--device-key", "own-file",
                lines: [key]) == .usage)
        #expect(
            bench.run(
                "recovery", "use", "-y", "--recovery-key-fd=3", "--device-key=own-file",
                "--lower", lines: [key]) == .success)
        bench.reopen(deviceKeyPath: nil)
        #expect(bench.canRead("secret"))
    }

    @Test func `valet recovery use takes no key for lost whose file is only not named`() throws {
        bench.add("local", as: .whenUnlockedThisDeviceOnly)
        #expect(bench.run("recovery", "create") == .success)
        let key = String(bench.console.outputText.dropLast())
        bench.run("device", "bind", "--key-file", keyPath)
        bench.reopen(deviceKeyPath: nil)
        let words = ["recovery", "use", "-y", "--recovery-key-fd=3", "--device-key=own-file"]
        #expect(bench.run(words + ["--lower"], lines: [key]) == .failure)
        #expect(bench.console.notes.first?.contains("in a file that is not named now") == true)
        #expect(bench.console.notes.last?.contains("set VALET_DEVICE_KEY_FILE") == true)
        bench.reopen(deviceKeyPath: keyPath)
        #expect(bench.canRead("local", as: .whenUnlockedThisDeviceOnly))
        #expect(bench.canRead("secret"))
    }

    @Test func `valet device bind refuses a file that is not a key, and changes nothing`() throws {
        try Data(repeating: 1, count: 31).write(to: URL(fileURLWithPath: keyPath))
        #expect(bench.run("device", "bind", "--key-file", keyPath) == .failure)
        bench.reopen(deviceKeyPath: nil)
        #expect(bench.run("device", "bind", "--key-file", keyPath + "2") == .failure)
        bench.reopen(deviceKeyPath: nil)
        #expect(bench.canRead("secret"))
        #expect(try bench.store.keychain.status().level == .file)
    }

    @Test func `valet device bind finds no credential outside of a service`() {
        #expect(bench.run("device", "bind", "--credential") == .failure)
        #expect(bench.canRead("secret"))
    }

    // Promise: 8.13
    @Test func `valet device bind goes back to a file of its own only with --lower`() throws {
        bench.run("device", "bind", "--key-file", keyPath)
        bench.reopen(deviceKeyPath: keyPath)
        #expect(bench.run("device", "bind", "--own-file") == .usage)
        #expect(bench.console.notes.last == "valet: hint: '--lower' accepts this")
        #expect(!FileManager.default.fileExists(atPath: ownKey))
        #expect(bench.run("device", "bind", "--own-file", "--lower") == .success)
        bench.reopen(deviceKeyPath: nil)
        #expect(bench.canRead("secret"))
        #expect(FileManager.default.fileExists(atPath: keyPath))
    }

    @Test(
        arguments: [
            ([], "expected one of '--credential', '--key-file', '--tpm' and '--own-file'"),
            (
                ["--credential", "--own-file"],
                "expected one of '--credential', '--key-file', '--tpm' and '--own-file'"
            ),
            (["--key-file=a/b"], "'--key-file' does not take 'a/b'"),
            (["--tpm", "--pcrs=24"], "'--pcrs' does not take '24'"),
            (["--tpm", "--pcrs=7,"], "'--pcrs' does not take '7,'"),
            (["--own-file", "--pcrs=7"], "'--pcrs' needs '--tpm'"),
        ] as [([String], String)])
    func `valet device bind refuses contradictory options`(_ words: [String], _ message: String) {
        let bench = Bench()
        #expect(bench.run(["device", "bind"] + words) == .usage)
        #expect(bench.console.notes.first == "valet: error: \(message)")
    }

    @Test func `valet rotate makes new keys, and keeps every item`() throws {
        let before = try Data(contentsOf: URL(fileURLWithPath: ownKey))
        #expect(bench.run("rotate") == .success)
        #expect(bench.console.notes == ["valet: the keychain has new keys"])
        #expect(try Data(contentsOf: URL(fileURLWithPath: ownKey)) != before)
        #expect(bench.canRead("secret"))
        #expect(try bench.store.keychain.status().epoch == 2)
    }

    @Test func `valet rotate needs the passcode`() throws {
        try bench.store.keychain.setPasscode(Bench.passcode(Bench.passcode))
        #expect(bench.run("rotate", "--passcode-fd", "3", lines: ["wrong"]) == .denied)
        #expect(
            bench.run("rotate", "--passcode-fd", "3", lines: [Bench.passcode]) == .success)
        #expect(try bench.store.keychain.status().epoch == 3)
    }

    @Test func `valet rotate succeeds and names the files that it left beside the device key`()
        throws
    {
        let stray = ownKey + "." + String(repeating: "a", count: 32)
        try FileManager.default.createSymbolicLink(
            atPath: stray, withDestinationPath: "/dev/null")
        #expect(bench.run("rotate") == .success)
        #expect(bench.console.notes.count == 3)
        #expect(bench.console.notes[0].hasPrefix("valet: warning: it has the name of a device key"))
        #expect(bench.console.notes[0].hasSuffix("(\(stray))"))
        #expect(bench.console.notes[1].hasPrefix("valet: hint: move it away"))
        #expect(bench.console.notes[2] == "valet: the keychain has new keys")
        #expect(try !bench.store.keychain.status().isErasePending)
        #expect(bench.run("doctor") == .success)
        #expect(bench.console.outputText.contains(stray))
        #expect(bench.console.outputText.contains("move it away"))
    }

    @Test func `valet doctor finds a key that a key change left behind`() throws {
        let stray = ownKey + "." + String(repeating: "a", count: 32)
        #expect(
            FileManager.default.createFile(
                atPath: stray, contents: Data(), attributes: [.posixPermissions: 0o600]))
        #expect(bench.run("doctor") == .success)
        #expect(
            bench.console.outputText.contains(
                "warning: an unused device key of an interrupted key change "
                    + "(\(stray))"))
        #expect(bench.run("rotate") == .success)
        #expect(!FileManager.default.fileExists(atPath: stray))
    }
}
