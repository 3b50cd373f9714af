// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import KeychainStore
internal import UserPresence

/// `valet rotate`.
struct RotateCommand: Command {
    static let declaration = CommandDeclaration(
        name: "rotate", abstract: "give the keychain new keys",
        discussion: [
            "Makes new keys, and a new device key where that is a file of the keychain's own; "
                + "seals all items anew, and erases what the old keys opened. Passcode and "
                + "recovery key stay as they are. Other programs go on meanwhile. What was "
                + "interrupted goes on with the next unlock, or, without a passcode, the next "
                + "change of an item.",
            "Copies of the keychain's files that were made before open with the keys of that time "
                + "alone. A copy in use that shares the folder of the device key with this "
                + "keychain loses it, since what was in use is erased: give it a folder of its "
                + "own with VALET_HOME first.",
            "Where a TPM keeps an erasure secret for the keychain, a new one takes its place and "
                + "the last is destroyed, so that nothing opens with the old keys any more; "
                + "without the owner's authorization, where there is one, it stays.",
            KeyOptions.ownerDiscussion, KeyOptions.lockDiscussion, KeyOptions.damageDiscussion,
            KeyOptions.askingDiscussion,
        ],
        options: [
            KeyOptions.passcodeDescriptor, KeyOptions.ownerDescriptor, KeyOptions.skipDamaged,
        ],
        exitCodes: [KeyOptions.noKeychain, KeyOptions.damagedItems, KeyOptions.wrongPasscode],
        examples: [("valet rotate", "After a copy of the device key was lost.")])

    private let descriptor: PasscodeDescriptor?
    private let ownerDescriptor: PasscodeDescriptor?
    private let skipsDamaged: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        skipsDamaged = values.has(KeyOptions.skipDamaged)
        descriptor = try KeyOptions.descriptor(KeyOptions.passcodeDescriptor, values)
        ownerDescriptor = try KeyOptions.descriptor(KeyOptions.ownerDescriptor, values)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let (store, _) = try context.usableStore()
        let passcode = try context.dialogue(descriptor, new: nil).passcode(
            of: store, for: "The keychain's passcode, to give it new keys.")
        let terms = TPMTerms(owner: try context.ownerAuthorization(ownerDescriptor))
        try context.changingKeys(of: store, skippingDamaged: skipsDamaged) {
            (options) throws(KeychainFailure) in
            try store.rotateKeys(passcode, on: terms, options)
        }
        context.console.note("valet: the keychain has new keys")
        return .success
    }
}
