// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetUserPresence

/// `valet recovery revoke`.
struct RecoveryRevokeCommand: Command {
    static let declaration = CommandDeclaration(
        name: "recovery revoke", abstract: "make the recovery key invalid",
        discussion: [
            "Gives the keychain new keys, as 'valet rotate' does, which the recovery key "
                + "does not open. Asks first: this cannot be undone. The key still opens copies "
                + "of the files that were made before.",
            KeyOptions.lockDiscussion,
            KeyOptions.damageDiscussion,
            KeyOptions.askingDiscussion,
        ],
        options: [KeyOptions.passcodeDescriptor, KeyOptions.yes, KeyOptions.skipDamaged],
        exitCodes: [
            (.failure, "there is no recovery key, or something failed"), KeyOptions.noKeychain,
            KeyOptions.noConsent, KeyOptions.damagedItems, KeyOptions.wrongPasscode,
        ],
        examples: [("valet recovery revoke", "When the paper was lost.")])

    private let descriptor: PasscodeDescriptor?
    private let skipsDamaged: Bool
    private let isAgreed: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        isAgreed = values.has(KeyOptions.yes)
        skipsDamaged = values.has(KeyOptions.skipDamaged)
        descriptor = try KeyOptions.descriptor(KeyOptions.passcodeDescriptor, values)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let (store, status) = try context.usableStore()
        guard status.hasRecoveryKey else {
            throw CLIError(.failure, "the keychain has no recovery key")
        }
        try context.console.requireConsent(
            to: "Have the recovery key open the keychain no longer?", isGiven: isAgreed)
        let passcode = try context.dialogue(descriptor, new: nil).passcode(
            of: store, for: "The keychain's passcode, to revoke the recovery key.")
        try context.changingKeys(of: store, skippingDamaged: skipsDamaged) {
            (options) throws(KeychainFailure) in
            try store.rotateKeys(passcode, revokingRecoveryKey: true, options)
        }
        context.console.note("valet: no recovery key opens the keychain any more")
        return .success
    }
}
