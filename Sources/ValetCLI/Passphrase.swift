// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import KeychainStore
internal import SecretMemory
internal import UserPresence

/// Where the passphrase of a backup comes from.
struct Passphrase {
    let path: String
    /// nil to ask a person.
    let descriptor: PasscodeDescriptor?

    /// How often a person may mistype it.
    private static let tryCount = 3

    init(_ values: ParsedValues) throws(CLIError) {
        path = try BackupOptions.path(values)
        descriptor = try BackupOptions.descriptor(values)
    }

    /// A new passphrase, which a person types twice.
    ///
    /// - Throws: ``ExitCode/usage`` for a short one, unless `allowingWeak`.
    func choose(allowingWeak: Bool, _ context: Context) throws(CLIError) -> SecretBytes {
        var prompt = PasscodePrompt(
            title: "New backup",
            description: "Choose a passphrase for the backup \(quoted(path)).\n"
                + "Without it the backup cannot be opened.",
            label: "Passphrase")
        prompt.asksTwice = true
        prompt.timeout = .seconds(180)
        let passphrase = try ask(prompt, context)
        guard allowingWeak || !ItemStore.isShort(passphrase: passphrase) else {
            throw .usage(
                "the passphrase has fewer than 8 characters",
                hint: "who has the file can guess it: choose a longer one, or use --weak")
        }
        return passphrase
    }

    /// Opens the backup. A person who mistypes is asked again.
    func open(_ context: Context) throws(CLIError) -> OpenedBackup {
        let store = try asking(context.store)
        let file = try asking { () throws(KeychainFailure) in
            try BackupFile(at: path, besides: store)
        }
        var problem: String?
        var triesLeft = Self.tryCount
        while true {
            triesLeft -= 1
            let passphrase = try ask(
                PasscodePrompt(
                    title: "Backup", description: "The passphrase of the backup \(quoted(path)).",
                    label: "Passphrase", previousError: problem), context)
            do throws(KeychainFailure) {
                return try file.open(with: passphrase)
            } catch {
                guard error.code == .authenticationFailed, descriptor == nil,
                    triesLeft > 0
                else { throw CLIError(error) }
                problem = error.message
            }
        }
    }

    private func ask(
        _ prompt: PasscodePrompt, _ context: Context
    ) throws(CLIError) -> SecretBytes {
        do throws(UserPresenceError) {
            return try context.ask(prompt, descriptor)
        } catch {
            throw Self.error(error)
        }
    }

    /// What nobody's answer means; the module speaks of passcodes.
    private static func error(_ error: UserPresenceError) -> CLIError {
        let general = CLIError(error)
        let hint =
            switch error.code {
            case .unavailable(.nobodyThere), .unavailable(.interactionOff):
                "give the passphrase with --passphrase-fd"
            default: general.hint
            }
        return CLIError(
            general.code, general.message.replacing("passcode", with: "passphrase"),
            hint: hint?.replacing("passcode", with: "passphrase"))
    }
}
