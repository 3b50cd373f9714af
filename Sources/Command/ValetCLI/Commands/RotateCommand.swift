// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore

/// `valet rotate`.
enum RotateCommand {
    static let declaration = CommandDeclaration(
        name: "rotate", abstract: "give the keychain new keys",
        discussion: [
            "Makes new keys, and a new device key if that is a file of the keychain's own. Seals "
                + "all items again, and erases the old keys. Passcode and recovery key stay. Other "
                + "programs can use the keychain while it changes. An interrupted change continues "
                + "with the next unlock or, without a passcode, with the next change of an item.",
            "Copies of the files that were made before open only with the old keys. If a copy in "
                + "use shares the folder of the device key with this keychain, it loses its "
                + "device key, because the old one is erased: first give it a folder of its own "
                + "with VALET_HOME.",
            KeyOptions.lockDiscussion,
            KeyOptions.damageDiscussion,
            KeyOptions.askingDiscussion,
        ],
        options: [KeyOptions.passcodeDescriptor, KeyOptions.skipDamaged],
        exitCodes: [KeyOptions.noKeychain, KeyOptions.damagedItems, KeyOptions.wrongPasscode],
        examples: [("valet rotate", "After a copy of the device key was lost.")])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let options = try KeyOptions(values)
        let (store, _) = try context.usableStore()
        let passcode = try context.dialogue(options.passcode).passcode(
            of: store, for: "The keychain's passcode, to give it new keys.")
        try context.changingKeys(of: store, skippingDamaged: options.skipsDamaged) {
            (epoch) throws(KeychainFailure) in
            try store.keychain.rotateKeys(passcode, epoch)
        }
        context.console.note("valet: the keychain has new keys")
        return .success
    }
}
