// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetUserPresence

/// `valet device unbind`.
struct DeviceUnbindCommand: Command {
    static let declaration = CommandDeclaration(
        name: "device unbind", abstract: "take the device key out of the TPM",
        discussion: [
            "Gives the keychain new keys and a device key in a file of its own, "
                + "device.key, which opens it on any machine. A passcode stays, but the TPM "
                + "does not count wrong ones any more. This protects less, and needs --lower. "
                + "It needs the TPM that the keychain is bound to; without that TPM, use 'valet "
                + "recovery use'.",
            KeyOptions.lockDiscussion,
            KeyOptions.damageDiscussion,
            KeyOptions.askingDiscussion,
        ],
        options: [
            KeyOptions.lower, KeyOptions.passcodeDescriptor, KeyOptions.skipDamaged,
        ],
        exitCodes: [
            (.failure, "the keychain is not bound to a TPM, or the TPM does not release the key"),
            (.usage, "'--lower' is missing, or the command line is wrong"),
            KeyOptions.noKeychain, KeyOptions.damagedItems, KeyOptions.wrongPasscode,
        ],
        examples: [("valet device unbind --lower", "Before the machine is given away.")])

    private let isLoweringAllowed: Bool
    private let descriptor: PasscodeDescriptor?
    private let skipsDamaged: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        skipsDamaged = values.has(KeyOptions.skipDamaged)
        isLoweringAllowed = values.has(KeyOptions.lower)
        descriptor = try KeyOptions.descriptor(KeyOptions.passcodeDescriptor, values)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let (store, status) = try context.usableStore()
        guard status.deviceKeySource == .tpm else {
            throw CLIError(
                .failure, "the keychain is not bound to a TPM",
                hint: "'valet device status' shows where its key comes from")
        }
        let protection = Protection(status)
        try protection.check(
            lowering: isLoweringAllowed,
            to: Protection(hasPasscode: protection.hasPasscode, place: .ownFile))
        let passcode = try context.dialogue(descriptor, new: nil).passcode(
            of: store, for: "The keychain's passcode, to take it out of the TPM.")
        try context.changingKeys(of: store, skippingDamaged: skipsDamaged) {
            (options) throws(KeychainFailure) in
            try store.rotateKeys(passcode, movingDeviceKeyTo: .ownFile, options)
        }
        context.console.note("valet: the device key comes from \(DeviceKeySource.ownFile.name) now")
        return .success
    }
}
