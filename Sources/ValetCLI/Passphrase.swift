// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetUserPresence

/// Where the passphrase of a backup comes from.
struct Passphrase {
    let path: String
    /// nil to ask a person.
    private let descriptor: PasscodeDescriptor?

    private static let name = SecretName(
        text: "passphrase", option: BackupOptions.passphraseDescriptor)
    private static let weakness = CLIError.usage(
        "the passphrase has fewer than 8 characters",
        hint: "who has the file can guess it: choose a longer one, or use --weak")

    init(_ values: ParsedValues) throws(CLIError) {
        path = try BackupOptions.path(values)
        descriptor = try KeyOptions.descriptor(BackupOptions.passphraseDescriptor, values)
    }

    /// A new passphrase, which a person types twice.
    ///
    /// - Throws: ``ExitCode/usage`` for a short one, unless `allowingWeak`.
    func choose(allowingWeak: Bool, _ context: Context) throws(CLIError) -> SecretBytes {
        try context.otherSecrets(descriptor).answer(naming: Self.name) { problem in
            var prompt = PasscodePrompt(
                title: "New backup",
                description: "Choose a passphrase for the backup \(quoted(path)).\n"
                    + "Without it the backup cannot be opened.",
                label: "Passphrase", previousError: problem)
            prompt.asksTwice = true
            prompt.timeout = .seconds(180)
            return prompt
        } _: { (answer) throws(CLIError) in
            guard allowingWeak || !ItemStore.isShort(passphrase: answer) else {
                return .refused(Self.weakness)
            }
            return .accepted(answer)
        }
    }

    /// Opens the backup. A person who mistypes is asked again.
    func open(_ context: Context) throws(CLIError) -> OpenedBackup {
        let store = try asking(context.store)
        let file = try asking { () throws(KeychainFailure) in
            try BackupFile(at: path, besides: store)
        }
        return try context.otherSecrets(descriptor).answer(naming: Self.name) { problem in
            PasscodePrompt(
                title: "Backup", description: "The passphrase of the backup \(quoted(path)).",
                label: "Passphrase", previousError: problem)
        } _: { (answer) throws(CLIError) in
            do throws(KeychainFailure) {
                return .accepted(try file.open(with: answer))
            } catch {
                let refusal = CLIError(error)
                guard error.code == .authenticationFailed else { throw refusal }
                return .refused(refusal, problem: error.message)
            }
        }
    }
}
