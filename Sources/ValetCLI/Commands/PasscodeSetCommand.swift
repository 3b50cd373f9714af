// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetUserPresence

/// `valet passcode set`.
struct PasscodeSetCommand: Command {
    static let declaration = CommandDeclaration(
        name: "passcode set", abstract: "set the first passcode",
        discussion: [
            "With a passcode the keychain can be locked, and items with the accessibility "
                + "when-passcode-set-this-device-only can be stored. Creates the keychain if "
                + "there is none. The keychain gets new keys, and the old ones are erased from "
                + "the disk. Where keys are shared it is unlocked afterwards. Other programs "
                + "can use it meanwhile.",
            "The passcode is stretched with Argon2id, for about a quarter of a second on "
                + "this machine. A passcode of fewer than 8 characters is refused, because a "
                + "thief of the disk can guess it.",
            KeyOptions.damageDiscussion,
            KeyOptions.askingDiscussion,
        ],
        options: [KeyOptions.passcodeDescriptor, KeyOptions.weak, KeyOptions.skipDamaged],
        exitCodes: [
            (.failure, "a passcode is set already, or something failed"),
            (
                .usage,
                "the command line is wrong, the passcode is short or empty, or nobody can be asked"
            ),
            KeyOptions.damagedItems,
            (.denied, "a person declined"),
        ],
        examples: [
            ("valet passcode set", "Asks for a passcode, twice."),
            (
                "valet passcode set --passcode-fd 3 3<passcode.txt",
                "In a script: the shell opens the file."
            ),
        ])

    private let descriptor: PasscodeDescriptor?
    private let skipsDamaged: Bool
    private let allowsWeak: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        skipsDamaged = values.has(KeyOptions.skipDamaged)
        descriptor = try KeyOptions.descriptor(KeyOptions.passcodeDescriptor, values)
        allowsWeak = values.has(KeyOptions.weak)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let (store, status) = try context.usableStore(creating: true)
        guard status.lockStateProvider == nil else {
            throw CLIError(
                .failure, "a passcode is set already",
                hint: "'valet passcode change' changes it")
        }
        if status.tpm?.isLockoutResettable == true { context.console.warnOfResettableLockout() }
        let passcode = try context.dialogue(descriptor, new: nil).choose(
            allowingWeak: allowsWeak, for: "Choose a passcode for the keychain.")
        try context.changingKeys(of: store, skippingDamaged: skipsDamaged) {
            (options) throws(KeychainFailure) in
            try store.setPasscode(passcode, options)
        }
        try context.noteLockState("the passcode is set", of: store)
        if !status.hasRecoveryKey {
            context.console.hint(
                "'valet recovery create' makes a key for when the passcode is forgotten")
        }
        return .success
    }
}

extension Context {
    /// Asks for passcodes: through the descriptors that options named, else as ``passcodes`` does.
    func dialogue(
        _ descriptor: PasscodeDescriptor?, new: PasscodeDescriptor?
    ) -> PasscodeDialogue {
        PasscodeDialogue(current: passcodes(descriptor), new: passcodes(new ?? descriptor))
    }

    /// Says on standard error what was done, and for whom the keychain is open now.
    func noteLockState(_ what: String, of store: ItemStore) throws(CLIError) {
        let status = try asking { () throws(KeychainFailure) in try store.status() }
        switch (status.state, status.isUnlockedByProcess) {
        case (.unlocked, false): console.note("valet: \(what); the keychain is unlocked")
        case (_, true):
            console.note(
                "valet: \(what); every program asks for it (\(status.lockStateReason ?? ""))")
        default: console.note("valet: \(what)")
        }
    }
}
