// SPDX-License-Identifier: Apache-2.0

// The verbs of `passcode`: set, change and remove.

internal import ValetKeychainModel
internal import ValetKeychainStore

enum PasscodeGroup {
    static let declaration = GroupDeclaration(
        name: "passcode", abstract: "protect the keychain with a passcode",
        discussion: [
            "With a passcode the keychain can be locked, and a thief of the disk has to guess the "
                + "passcode at the cost of Argon2id. The keychain is locked after each restart: "
                + "'valet unlock' unlocks it for all programs of the user.",
            "Nothing can recover a forgotten passcode. 'valet recovery create' makes a recovery "
                + "key for paper, which replaces the passcode.",
        ],
        examples: [
            ("valet passcode set", "Asks for a passcode, twice."),
            ("valet passcode change", "Asks for the old one, then twice for the new one."),
        ])
}

/// `valet passcode set`.
enum PasscodeSetCommand {
    static let declaration = CommandDeclaration(
        name: "passcode set", abstract: "set the first passcode",
        discussion: [
            "Sets a passcode, and creates the keychain if necessary. The keychain can then be "
                + "locked, and store items with the accessibility "
                + "when-passcode-set-this-device-only. It gets new keys, and the old ones are "
                + "erased from the disk. Where programs share opened keys, it is unlocked "
                + "afterwards. Other programs can use the keychain while it changes.",
            "The passcode is stretched with Argon2id, for about a quarter of a second on this "
                + "machine. A passcode of fewer than 8 characters is refused, because a thief of "
                + "the disk can guess it.",
            KeyOptions.damageDiscussion,
            KeyOptions.askingDiscussion,
        ],
        options: [KeyOptions.passcodeDescriptor, KeyOptions.weak, KeyOptions.skipDamaged],
        exitCodes: [
            (.failure, "a passcode is set already, or another failure"),
            (.usage, "wrong usage, a short or empty passcode, or nobody can be asked"),
            KeyOptions.damagedItems,
            (.denied, "you declined"),
        ],
        examples: [
            ("valet passcode set", "Asks for a passcode, twice."),
            (
                "valet passcode set --passcode-fd 3 3<passcode.txt",
                "For scripts: the shell opens the file."
            ),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let options = try KeyOptions(values)
        let (store, status) = try context.usableStore(creating: true)
        guard status.lockStateProvider == nil else {
            throw CLIError(
                .failure, "a passcode is set already",
                hint: "'valet passcode change' changes it")
        }
        if status.tpm?.isLockoutResettable == true { context.console.warnOfResettableLockout() }
        let passcode = try context.dialogue(options.passcode).choose(
            allowingWeak: options.allowsWeak, for: "Choose a passcode for the keychain.")
        try context.changingKeys(of: store, skippingDamaged: options.skipsDamaged) {
            (epoch) throws(KeychainFailure) in
            try store.keychain.setPasscode(passcode, epoch)
        }
        context.noteLockState("the passcode is set", of: store)
        if !status.hasRecoveryKey {
            context.console.hint(
                "'valet recovery create' makes a key that replaces a forgotten passcode")
        }
        return .success
    }
}

/// `valet passcode change`.
enum PasscodeChangeCommand {
    static let declaration = CommandDeclaration(
        name: "passcode change", abstract: "change the passcode",
        discussion: [
            "Asks for the old passcode, then for the new one. The keychain gets new keys. Where "
                + "programs share opened keys, it is unlocked afterwards: an unlocked keychain "
                + "keeps its time limits, a locked one is unlocked without a limit.",
            "The old passcode no longer opens the keychain. It still opens copies of the files "
                + "that were made before. Backups have passphrases of their own. A recovery key "
                + "stays valid.",
            KeyOptions.damageDiscussion,
            KeyOptions.askingDiscussion
                + " With --passcode-fd alone, the first line is the old passcode and the second "
                + "the new one.",
        ],
        options: [
            KeyOptions.passcodeDescriptor, KeyOptions.newPasscodeDescriptor, KeyOptions.weak,
            KeyOptions.skipDamaged,
        ],
        exitCodes: [
            KeyOptions.noKeychain,
            (.failure, "there is no passcode to change, or another failure"),
            (.usage, "wrong usage, a short or empty new passcode, or nobody can be asked"),
            KeyOptions.damagedItems, KeyOptions.wrongPasscode,
        ],
        examples: [
            ("valet passcode change", "Asks for the old one, then twice for the new one."),
            (
                "valet passcode change --passcode-fd 3 --new-passcode-fd 4",
                "For scripts, with two descriptors."
            ),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let options = try KeyOptions(values)
        let store = try context.storeWithPasscode()
        let dialogue = context.dialogue(options.passcode, new: options.newPasscode)
        let old = try dialogue.currentPasscode(
            of: store, for: "The keychain's passcode, to change it.")
        let new = try dialogue.choose(
            allowingWeak: options.allowsWeak, for: "Choose a new passcode for the keychain.")
        try context.changingKeys(of: store, skippingDamaged: options.skipsDamaged) {
            (epoch) throws(KeychainFailure) in
            try store.keychain.changePasscode(old, to: new, epoch)
        }
        context.noteLockState("the passcode is changed", of: store)
        return .success
    }
}

/// `valet passcode remove`.
enum PasscodeRemoveCommand {
    static let declaration = CommandDeclaration(
        name: "passcode remove", abstract: "remove the passcode, and the items that need it",
        discussion: [
            "Shows how many items and former values need the passcode, and asks first. These are "
                + "destroyed: those with the accessibility when-passcode-set-this-device-only, and "
                + "those that an access control binds to the passcode. All others stay. The "
                + "keychain gets new keys and can no longer be locked: its files and the device "
                + "key open everything.",
            KeyOptions.damageDiscussion,
            KeyOptions.askingDiscussion,
        ],
        options: [KeyOptions.passcodeDescriptor, KeyOptions.yes, KeyOptions.skipDamaged],
        exitCodes: [
            KeyOptions.noKeychain,
            (.failure, "there is no passcode to remove, or another failure"),
            KeyOptions.noConsent, KeyOptions.changed,
            KeyOptions.damagedItems, KeyOptions.wrongPasscode,
        ],
        examples: [
            ("valet passcode remove", "Asks first, then asks for the passcode."),
            ("valet passcode remove --yes --passcode-fd 3", "For scripts."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let options = try KeyOptions(values)
        let store = try context.storeWithPasscode()
        let loss = try requesting(store.keychain.lossWithoutPasscode())
        context.console.note(
            "valet: without a passcode, \(text(loss)), and the keychain cannot be locked")
        try context.console.requireConsent(
            to: "Remove the passcode?", isGiven: options.isAgreed)
        let passcode = try context.dialogue(options.passcode).currentPasscode(
            of: store, for: "The keychain's passcode, to remove it.")
        try context.changingKeys(of: store, skippingDamaged: options.skipsDamaged) {
            (epoch) throws(KeychainFailure) in
            try store.keychain.removePasscode(passcode, agreeingTo: loss, epoch)
        }
        context.console.note("valet: the passcode is removed")
        return .success
    }

    private static func text(_ loss: ItemLoss) -> String {
        let items = loss.itemCount == 1 ? "1 item" : "\(loss.itemCount) items"
        let parts = [
            loss.itemCount == 0 ? nil : items,
            loss.formerCount == 0 ? nil : FormerValue.counted(loss.formerCount),
        ].compactMap(\.self)
        guard !parts.isEmpty else { return "no item is destroyed" }
        let need = loss.itemCount + loss.formerCount == 1 ? "needs it is" : "need it are"
        return parts.joined(separator: " and ") + " that \(need) destroyed"
    }
}
