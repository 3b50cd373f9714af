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
            "Copies of the keychain's files that were made before stay readable with the keys "
                + "of that time.",
            KeyOptions.lockDiscussion, KeyOptions.damageDiscussion, KeyOptions.askingDiscussion,
        ],
        options: [KeyOptions.passcodeDescriptor, KeyOptions.skipDamaged],
        exitCodes: [KeyOptions.noKeychain, KeyOptions.damagedItems, KeyOptions.wrongPasscode],
        examples: [("valet rotate", "After a copy of the device key was lost.")])

    private let descriptor: PasscodeDescriptor?
    private let skipsDamaged: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        skipsDamaged = values.has(KeyOptions.skipDamaged)
        descriptor = try KeyOptions.descriptor(KeyOptions.passcodeDescriptor, values)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let (store, _) = try context.usableStore()
        let passcode = try context.dialogue(descriptor, new: nil).passcode(
            of: store, for: "The keychain's passcode, to give it new keys.")
        try context.changingKeys(of: store, skippingDamaged: skipsDamaged) {
            (options) throws(KeychainFailure) in
            try store.rotateKeys(passcode, options)
        }
        context.console.note("valet: the keychain has new keys")
        return .success
    }
}
