// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetUserPresence

/// `valet passcode change`.
struct PasscodeChangeCommand: Command {
    static let declaration = CommandDeclaration(
        name: "passcode change", abstract: "change the passcode",
        discussion: [
            "Takes the old passcode, then the new one. The keychain gets new keys. Where "
                + "keys are shared it is unlocked afterwards. An unlocked keychain keeps its "
                + "times; a locked one is unlocked as by 'valet unlock' without times.",
            "The old passcode opens nothing of the keychain any more. It still opens "
                + "copies of the files that were made before. Backups have passphrases of their "
                + "own. A recovery key stays valid.",
            KeyOptions.damageDiscussion,
            KeyOptions.askingDiscussion
                + " With --passcode-fd alone the old passcode is its first line, the new one its "
                + "second.",
        ],
        options: [
            KeyOptions.passcodeDescriptor, KeyOptions.newPasscodeDescriptor, KeyOptions.weak,
            KeyOptions.skipDamaged,
        ],
        exitCodes: [
            KeyOptions.noKeychain,
            (.failure, "there is no passcode to change, or something failed"),
            (
                .usage,
                "the command line is wrong, the new passcode is short or empty, or nobody can be "
                    + "asked"
            ),
            KeyOptions.damagedItems, KeyOptions.wrongPasscode,
        ],
        examples: [
            ("valet passcode change", "Asks for the old one, then twice for the new one."),
            (
                "valet passcode change --passcode-fd 3 --new-passcode-fd 4",
                "For scripts, with two descriptors."
            ),
        ])

    private let descriptor: PasscodeDescriptor?
    private let skipsDamaged: Bool
    private let newDescriptor: PasscodeDescriptor?
    private let allowsWeak: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        skipsDamaged = values.has(KeyOptions.skipDamaged)
        descriptor = try KeyOptions.descriptor(KeyOptions.passcodeDescriptor, values)
        newDescriptor = try KeyOptions.descriptor(KeyOptions.newPasscodeDescriptor, values)
        allowsWeak = values.has(KeyOptions.weak)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let store = try context.storeWithPasscode()
        let dialogue = context.dialogue(descriptor, new: newDescriptor)
        let old = try dialogue.currentPasscode(
            of: store, for: "The keychain's passcode, to change it.")
        let new = try dialogue.choose(
            allowingWeak: allowsWeak, for: "Choose a new passcode for the keychain.")
        try context.changingKeys(of: store, skippingDamaged: skipsDamaged) {
            (options) throws(KeychainFailure) in
            try store.changePasscode(old, to: new, options)
        }
        try context.noteLockState("the passcode is changed", of: store)
        return .success
    }
}

extension Context {
    /// The keychain as a whole, for verbs that need one with a passcode.
    ///
    /// - Throws: ``ExitCode/notFound`` if there is no keychain, ``ExitCode/failure`` if it has no
    ///   passcode, or no device key.
    func storeWithPasscode() throws(CLIError) -> ItemStore {
        let (store, status) = try usableStore()
        guard status.lockStateProvider != nil else {
            throw CLIError(
                .failure, "the keychain has no passcode", hint: "'valet passcode set' sets one")
        }
        return store
    }
}
