// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing
import ValetSystem
import ValetUserPresence

@testable import ValetCLI

/// Commands about a real keychain in a temporary folder, with answers from a list.
final class BackupBench {
    let console = FakeConsole()
    let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("valet-cli-\(UUID().uuidString)").path
    /// What is answered, in turn; nobody is there when it is empty.
    var answers: [String] = []
    private(set) var prompts: [PasscodePrompt] = []
    /// The answers for the keychain's passcode.
    let passcodes = ScriptedAnswers()

    fileprivate static let nobody = Environment(["VALET_INTERACTION": "never"])

    let store: ItemStore
    var file: String { folder + "/keychain.backup" }

    init() throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false)
        store = ItemStore(KeychainLocation(folder: folder + "/home"))
    }

    deinit {
        store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// A bench whose keychain has an item "a".
    static func withItem() throws -> BackupBench {
        let bench = try BackupBench()
        let item = NewItem(
            .genericPassword, attributes: [.account: .text("a"), .service: .text("s")])
        let value = Array("v".utf8)
        _ = try bench.store.add(
            Addition(item, value: SecretValue(copying: value.span)),
            for: Caller(applicationIdentifier: "app"), PresenceAccess(.naming))
        return bench
    }

    /// Runs `valet backup WORDS`.
    @discardableResult
    func run(_ words: String..., answering answers: String...) -> ExitCode {
        run(words, answering: answers)
    }

    @discardableResult
    func run(_ words: [String], answering answers: [String]) -> ExitCode {
        self.answers = answers
        prompts = []
        console.output = []
        console.notes = []
        var context = Context(console: console)
        context.own = { [store] in
            KeychainSession(store, Caller(applicationIdentifier: "valet", accessGroups: []))
        }
        context.store = { [store] in store }
        context.passcodes = { [passcodes] _ in passcodes }
        context.otherSecrets = { [unowned self] in Someone(bench: self, isInteractive: $0 == nil) }
        return ValetTool.run(["backup"] + words, in: context)
    }

    private struct Someone: SecretSource {
        unowned let bench: BackupBench
        let isInteractive: Bool

        func ask(_ prompt: PasscodePrompt) throws(SystemError) -> SecretBytes {
            bench.prompts.append(prompt)
            guard let answer = bench.answers.first else {
                let nobody = PasscodeAsker(environment: BackupBench.nobody, readsVariable: false)
                return try nobody.ask(prompt)
            }
            bench.answers.removeFirst()
            return SecretBytes(copying: Array(answer.utf8).span)
        }
    }
}
