// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetUserPresence

/// `valet recovery create`.
struct RecoveryCreateCommand: Command {
    static let declaration = CommandDeclaration(
        name: "recovery create", abstract: "make a recovery key, and show it once",
        discussion: [
            "Writes the key to standard output: 40 characters in groups of four, with "
                + "check characters at the end. It is stored nowhere: write it down, and keep "
                + "the paper apart from the machine. Creates the keychain if there is none.",
            "The key stays valid when the passcode or the keys change. An earlier "
                + "recovery key opens the keychain no longer, which cannot be undone. If there "
                + "is one, the command asks first, or needs --yes where nobody can be asked. "
                + "The earlier key still opens copies of the files that were made before; "
                + "'valet rotate' does not change that.",
            KeyOptions.askingDiscussion,
        ],
        options: [KeyOptions.passcodeDescriptor, KeyOptions.yes],
        exitCodes: [
            (.failure, "another program made a recovery key meanwhile, or something failed"),
            KeyOptions.noConsent, KeyOptions.wrongPasscode,
        ],
        examples: [
            ("valet recovery create", "Shows a recovery key."),
            ("valet recovery create | lpr", "Prints it."),
        ])

    private let descriptor: PasscodeDescriptor?
    private let isAgreed: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        descriptor = try KeyOptions.descriptor(KeyOptions.passcodeDescriptor, values)
        isAgreed = values.has(KeyOptions.yes)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let (store, status) = try context.usableStore(creating: true)
        if status.hasRecoveryKey {
            try context.console.requireConsent(
                to: "A recovery key was made before, and would open the keychain no longer. "
                    + "Make another one?",
                isGiven: isAgreed)
        }
        let passcode = try context.dialogue(descriptor, new: nil).passcode(
            of: store, for: "The keychain's passcode, to make a recovery key.")
        let text: SecretBytes
        var isReplacing = false
        do throws(KeychainFailure) {
            text = try store.createRecoveryKey(passcode) { (known) throws(KeychainFailure) in
                // A person agreed to lose the key of then, and not one that was made since.
                if known != nil, known != status.recoveryPublicKey, !isAgreed {
                    throw Self.otherKey
                }
                isReplacing = known != nil
            }
        } catch {
            throw CLIError(error)
        }
        if isReplacing {
            context.console.note(
                "valet: the recovery key that was made before opens the keychain no longer")
        }
        try Self.write(text, to: context.console)
        guard context.console.isOutputTerminal else { return .success }
        context.console.note(
            "valet: write this down and keep it apart from the machine: it is shown once, and "
                + "opens the keychain without the passcode")
        context.console.hint("'valet recovery use' takes it; clear the screen afterwards")
        return .success
    }

    private static let otherKey = KeychainFailure(
        .duplicateItem, during: "create a recovery key",
        message: "another program has just made one, and it stays valid",
        hint: "run 'valet recovery create' again to replace that one")

    private static func write(
        _ text: borrowing SecretBytes, to console: any Console
    ) throws(CLIError) {
        do throws(CLIError) {
            try text.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
                try console.write(bytes)
            }
            try console.write("\n")
        } catch {
            // Also where nobody reads any more: the key before this one is gone.
            throw CLIError(
                .failure, error.message,
                hint: "this recovery key is lost: run 'valet recovery create' again")
        }
    }
}
