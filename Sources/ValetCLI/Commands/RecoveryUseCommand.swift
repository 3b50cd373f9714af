// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetUserPresence

/// `valet recovery use`.
struct RecoveryUseCommand: Command {
    private static let keyDescriptor = OptionDeclaration(
        name: "recovery-key-fd", valueName: "N",
        help: "read the recovery key from descriptor N: a line of it")
    private static let setsPasscode = OptionDeclaration(
        name: "set-passcode", help: "protect the keychain with a new passcode")
    private static let deviceKey = OptionDeclaration(
        name: "device-key", valueName: "PLACE",
        help: "where the device key comes from afterwards (default: where it came from, but "
            + "own-file after a TPM)",
        choices: DeviceKeySource.allCases.map(\.name))

    static let declaration = CommandDeclaration(
        name: "recovery use", abstract: "restore access to the keychain with the recovery key",
        discussion: [
            "For a keychain whose passcode or device key is lost. Says first how many "
                + "items cannot come back, and asks. If the device key is lost, these are items "
                + "for this device only and items that need a person for each use. Otherwise "
                + "they are items that need the passcode; without a new passcode, all items "
                + "that need a person. They stay in quarantine, where nothing opens them. "
                + "Damaged items go there, too; their number follows afterwards. Everything "
                + "else comes back, under new keys and with a new device key. The recovery key "
                + "stays valid.",
            "The key is asked for on the terminal, or through pinentry where there is "
                + "none, or read with --recovery-key-fd; never from the command line or the "
                + "environment. Lower case is fine; spaces and hyphens do not matter; O, I and "
                + "L count as the digits that they resemble. Check characters reveal a mistyped "
                + "key.",
            "A keychain that had a passcode needs a new one, with --set-passcode: typed "
                + "twice, or read with --new-passcode-fd, or from the second line of the other "
                + "descriptor. --lower goes on without a passcode.",
            "--device-key=own-file makes a file of the keychain's own. For credential and "
                + "key-file ($VALET_DEVICE_KEY_FILE) the key must exist already. tpm binds the "
                + "keychain to this machine's TPM. 'valet device bind' explains these places.",
        ],
        options: [
            keyDescriptor, setsPasscode, KeyOptions.newPasscodeDescriptor, KeyOptions.weak,
            deviceKey, KeyOptions.lower, KeyOptions.yes,
        ],
        exitCodes: [
            (.failure, "there is no recovery key, or no device key at its place"),
            KeyOptions.noKeychain,
            KeyOptions.noConsent,
            (.denied, "the recovery key is mistyped or another one's, or a person declined"),
        ],
        examples: [
            ("valet recovery use --set-passcode", "After the passcode was forgotten."),
            ("valet recovery use --device-key own-file --lower", "After a credential was lost."),
            ("valet recovery use --device-key tpm --set-passcode", "On another machine."),
        ])

    private let keyDescriptor: PasscodeDescriptor?
    private let newDescriptor: PasscodeDescriptor?
    private let setsPasscode: Bool
    private let allowsWeak: Bool
    private let place: DeviceKeySource?
    private let isLoweringAllowed: Bool
    private let isAgreed: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        keyDescriptor = try KeyOptions.descriptor(Self.keyDescriptor, values)
        newDescriptor = try KeyOptions.descriptor(KeyOptions.newPasscodeDescriptor, values)
        setsPasscode = values.has(Self.setsPasscode) || newDescriptor != nil
        allowsWeak = values.has(KeyOptions.weak)
        place = values[Self.deviceKey].flatMap(DeviceKeySource.init(name:))
        isLoweringAllowed = values.has(KeyOptions.lower)
        isAgreed = values.has(KeyOptions.yes)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let store = try asking { () throws(KeychainFailure) in try context.store() }
        let status = try asking { () throws(KeychainFailure) in try store.status() }
        try check(status)
        let lost = try asking { () throws(KeychainFailure) in
            try store.itemsLostByRecovery(settingPasscode: setsPasscode)
        }
        context.console.note("valet: with the right key, \(Self.text(lost))")
        if status.deviceKeySource == .tpm { noteLostTPM(of: store, context.console) }
        try context.console.requireConsent(to: "Recover the keychain?", isGiven: isAgreed)
        try recover(store, context)
        try context.noteLockState("the keychain is recovered", of: store)
        let place = try asking { () throws(KeychainFailure) in
            try store.status().deviceKeySource
        }
        let path = store.location.deviceKeyPath
        if self.place != nil, let requirement = place?.requirement(path: path) {
            context.console.hint(requirement)
        }
        return .success
    }

    private func check(_ status: KeychainStatus) throws(CLIError) {
        guard status.state != .absent else {
            throw CLIError(.notFound, "there is no keychain to recover")
        }
        guard status.hasRecoveryKey else {
            throw CLIError(.failure, "the keychain has no recovery key")
        }
        let protection = Protection(status)
        // A TPM that is lost takes no new key.
        let next = place ?? (protection.place == .tpm ? .ownFile : protection.place)
        try protection.check(
            lowering: isLoweringAllowed,
            to: Protection(hasPasscode: setsPasscode, place: next))
    }

    private func recover(_ store: ItemStore, _ context: Context) throws(CLIError) {
        let key = try recoveryKey(of: store, context.otherSecrets(keyDescriptor))
        var passcode: KeychainPasscode?
        if setsPasscode {
            let dialogue = context.dialogue(newDescriptor ?? keyDescriptor, new: nil)
            passcode = try dialogue.choose(
                allowingWeak: allowsWeak, for: "Choose a passcode for the keychain.")
        }
        try context.changingKeys(of: store) { (options) throws(KeychainFailure) in
            do throws(KeychainFailure) {
                return try store.recover(
                    with: key, settingPasscode: passcode, deviceKeyFrom: place, options)
            } catch {
                // A device key that is nowhere is what recoveries are for.
                guard error.code == .keyUnavailable, place == nil else { throw error }
                throw KeychainFailure(
                    error,
                    hint: "put a device key there, or make one of the keychain's own: "
                        + "'--device-key=own-file --lower'")
            }
        }
    }

    /// The recovery key, which was tried; a person who mistypes it is asked again.
    private func recoveryKey(
        of store: ItemStore, _ source: any SecretSource
    ) throws(CLIError) -> SecretBytes {
        try source.answer(
            naming: SecretName(text: "recovery key", option: Self.keyDescriptor)
        ) { problem in
            var prompt = PasscodePrompt(
                description: "The recovery key: 40 characters; hyphens do not matter.",
                label: "Recovery key", previousError: problem)
            prompt.timeout = .seconds(300)
            return prompt
        } _: { (answer) throws(CLIError) in
            do throws(KeychainFailure) {
                try store.checkRecoveryKey(answer)
            } catch {
                guard error.code == .authenticationFailed else { throw CLIError(error) }
                return .refused(CLIError(.denied, error.message))
            }
            return .accepted(answer)
        }
    }

    /// Says why the TPM is given up, so that nobody does so by mistake.
    private func noteLostTPM(of store: ItemStore, _ console: any Console) {
        do throws(KeychainFailure) {
            try store.checkDeviceKey()
        } catch {
            console.note("valet: warning: the TPM is given up for lost: \(error.message)")
            console.hint(
                "a container or another boot may hide a TPM that is not lost: where it can be "
                    + "used, everything comes back")
        }
    }

    private static func text(_ lost: LostItems) -> String {
        guard lost.count > 0 else { return "every item comes back" }
        let items = lost.count == 1 ? "1 item" : "\(lost.count) items"
        let (deviceOnly, needing) = (lost.deviceOnlyCount, lost.needingPasscodeCount)
        let kinds = [
            deviceOnly == 0 ? nil : "\(deviceOnly) of this device only",
            needing == 0 ? nil : "\(needing) that \(needing == 1 ? "needs" : "need") a passcode",
        ].compactMap(\.self)
        return "\(items) cannot come back: " + kinds.joined(separator: ", ")
    }
}
