// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing
import ValetTPM
import ValetUserPresence

@testable import ValetCLI

/// A command that runs against a real keychain in a temporary folder. No key of it stays in the
/// kernel.
final class KeychainBench {
    static let passcode = "correct horse"

    let console = FakeConsole()
    let person = ScriptedAnswers()
    /// The lines of descriptors, by their numbers.
    var descriptors: [Int32: ScriptedAnswers] = [:]
    let folder: URL
    private(set) var store: ItemStore
    private let tpm: TPMDevice

    /// - Parameter tpm: The path of the TPM; nil for a machine without one.
    init(
        deviceKeyPath: String? = nil, tpm: TPMDevice = TPMDevice(.device(path: "/dev/no-such-tpm"))
    ) throws {
        self.tpm = tpm
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("valet-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        store = Self.store(in: folder, tpm, deviceKeyPath: deviceKeyPath)
    }

    deinit {
        try? store.keychain.lock(all: true)
        store.close()
        try? FileManager.default.removeItem(at: folder)
    }

    private static func store(
        in folder: URL, _ tpm: TPMDevice, deviceKeyPath: String?
    ) -> ItemStore {
        var location = KeychainLocation(folder: folder.path + "/home", tpm: tpm)
        if let deviceKeyPath {
            location = KeychainLocation(location, deviceKeyPath: deviceKeyPath)
        }
        return ItemStore(location, stretching: .lowest)
    }

    /// Goes on as a process whose `VALET_DEVICE_KEY_FILE` is that path.
    func reopen(deviceKeyPath: String?) {
        store.close()
        store = Self.store(in: folder, tpm, deviceKeyPath: deviceKeyPath)
    }

    /// A bench whose keychain has a passcode, and is unlocked.
    static func withPasscode() throws -> KeychainBench {
        let bench = try KeychainBench()
        bench.add("secret")
        try bench.store.keychain.setPasscode(passcode(Self.passcode))
        return bench
    }

    static func passcode(_ text: String) throws -> KeychainPasscode {
        try KeychainPasscode(SecretBytes(copying: Array(text.utf8).span))
    }

    /// Runs a command line; descriptor 3 has `lines`.
    @discardableResult
    func run(_ words: String..., input: String = "", lines: [String] = []) -> ExitCode {
        run(words, input: input, lines: lines)
    }

    /// As the other, with words that a test has put together.
    @discardableResult
    func run(_ words: [String], input: String = "", lines: [String] = []) -> ExitCode {
        descriptors[3] = ScriptedAnswers(lines, isInteractive: false)
        console.input = Array(input.utf8)
        console.output = []
        console.notes = []
        console.questions = []
        return ValetTool.run(words, in: context)
    }

    private var context: Context {
        let (store, person, descriptors) = (store, person, descriptors)
        var context = Context(console: console) { _ throws(KeychainFailure) in
            KeychainSession(store, Caller(applicationIdentifier: "valet", accessGroups: []))
        }
        context.store = { () throws(KeychainFailure) in store }
        let answers = { (number: Int32?) -> any SecretSource in
            number.map { descriptors[$0] ?? ScriptedAnswers(isInteractive: false) } ?? person
        }
        context.passcodes = { answers($0?.number) }
        context.otherSecrets = { answers($0?.number) }
        return context
    }

    /// Stores an item whose value is "value".
    func add(_ key: String, as accessibility: ProtectionClass = .whenUnlocked) {
        #expect(
            run("set", key, "--accessibility", accessibility.word, input: "value") == .success)
    }

    /// Whether an item can be read.
    func canRead(_ key: String, as accessibility: ProtectionClass = .whenUnlocked) -> Bool {
        run("get", key, "--accessibility", accessibility.word) == .success
            && console.outputText == "value"
    }

    func opens(with passcode: String) throws -> Bool {
        let passcode = try Self.passcode(passcode)
        do throws(KeychainFailure) {
            try store.keychain.check(passcode)
            return true
        } catch {
            guard error.code == .authenticationFailed else { throw error }
            return false
        }
    }

    /// All that was written and said.
    var everything: String {
        console.outputText + console.notes.joined() + console.questions.joined() + console.shown
    }
}
