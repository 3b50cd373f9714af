// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetUserPresence

/// `valet passcode remove`.
struct PasscodeRemoveCommand: Command {
    static let declaration = CommandDeclaration(
        name: "passcode remove", abstract: "remove the passcode, and the items that need it",
        discussion: [
            "Says how many items need the passcode, and asks first. These items are "
                + "destroyed: those with the accessibility when-passcode-set-this-device-only, "
                + "and those that an access control binds to the passcode. All other items "
                + "stay. The keychain gets new keys and is always open afterwards: its files "
                + "and the device key open everything.",
            KeyOptions.damageDiscussion,
            KeyOptions.askingDiscussion,
        ],
        options: [KeyOptions.passcodeDescriptor, KeyOptions.yes, KeyOptions.skipDamaged],
        exitCodes: [
            KeyOptions.noKeychain,
            (.failure, "there is no passcode to remove, or something failed"),
            KeyOptions.noConsent,
            KeyOptions.damagedItems, KeyOptions.wrongPasscode,
        ],
        examples: [
            ("valet passcode remove", "Asks first, then asks for the passcode."),
            ("valet passcode remove --yes --passcode-fd 3", "For scripts."),
        ])

    private let descriptor: PasscodeDescriptor?
    private let skipsDamaged: Bool
    private let isAgreed: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        skipsDamaged = values.has(KeyOptions.skipDamaged)
        descriptor = try KeyOptions.descriptor(KeyOptions.passcodeDescriptor, values)
        isAgreed = values.has(KeyOptions.yes)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let store = try context.storeWithPasscode()
        let count = try asking { () throws(KeychainFailure) in try store.itemsThatNeedPasscode() }
        context.console.note(
            "valet: without a passcode, \(Self.loss(count)); the keychain is always open")
        try context.console.requireConsent(to: "Remove the passcode?", isGiven: isAgreed)
        let dialogue = context.dialogue(descriptor, new: nil)
        let passcode = try dialogue.currentPasscode(
            of: store, for: "The keychain's passcode, to remove it.")
        try context.changingKeys(of: store, skippingDamaged: skipsDamaged) {
            (options) throws(KeychainFailure) in
            try store.removePasscode(passcode, options)
        }
        context.console.note("valet: the passcode is removed")
        return .success
    }

    private static func loss(_ count: Int) -> String {
        switch count {
        case 0: "no item is destroyed"
        case 1: "1 item that needs one is destroyed"
        default: "\(count) items that need one are destroyed"
        }
    }
}
