// SPDX-License-Identifier: Apache-2.0

// The verbs of `recovery`: create, use and revoke.

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetUserPresence

enum RecoveryGroup {
    static let declaration = GroupDeclaration(
        name: "recovery", abstract: "keep a key on paper for a lost passcode or device key",
        discussion: [
            "A recovery key is 40 characters to write down. It opens the keychain without the "
                + "passcode and without the device key. If the device key is lost, all items "
                + "come back except those for this device only and those that require the user "
                + "at each read. If only the passcode is lost, only the items that need it are "
                + "lost.",
            "The paper and the disk together open all secrets: keep the paper somewhere else.",
        ],
        examples: [
            ("valet recovery create", "Shows a new recovery key, once."),
            ("valet recovery use", "Asks for it, and restores access to the keychain."),
        ])
}

/// `valet recovery create`.
enum RecoveryCreateCommand {
    static let declaration = CommandDeclaration(
        name: "recovery create", abstract: "make a recovery key, and show it once",
        discussion: [
            "Writes the key to standard output: 40 characters in groups of four, with check "
                + "characters at the end. It is stored nowhere: write it down, and keep the paper "
                + "apart from the machine. Creates the keychain if necessary.",
            "The key stays valid when the passcode or the keys change. An earlier recovery key no "
                + "longer opens the keychain, which cannot be undone: if there is one, the command "
                + "asks first, or needs --yes. The earlier key still opens copies of the files "
                + "that were made before; 'valet rotate' does not change that.",
            KeyOptions.askingDiscussion,
        ],
        options: [KeyOptions.passcodeDescriptor, KeyOptions.yes],
        exitCodes: [
            (
                .failure,
                "the new key could not be written: it is lost, and an earlier one is no longer "
                    + "valid; or another failure"
            ),
            (.alreadyThere, "another program has made a recovery key first"),
            KeyOptions.noConsent, KeyOptions.wrongPasscode,
        ],
        examples: [
            ("valet recovery create", "Shows a recovery key."),
            ("valet recovery create | lpr", "Prints it."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let options = try KeyOptions(values)
        let (store, status) = try context.usableStore(creating: true)
        if status.hasRecoveryKey {
            try context.console.requireConsent(
                to: "The keychain has a recovery key, which will no longer open it. Make a new "
                    + "one?",
                isGiven: options.isAgreed)
        }
        let passcode = try context.dialogue(options.passcode).passcode(
            of: store, for: "The keychain's passcode, to make a recovery key.")
        // The consent covers the recovery key in `status`, not one that was made since.
        try create(in: store, passcode, context) { (known) in
            known == nil || known == status.recoveryPublicKey || options.isAgreed
        }
        return .success
    }

    /// - Parameter isAgreed: Whether the recovery key with this public half may be replaced.
    private static func create(
        in store: ItemStore, _ passcode: Passcode?, _ context: Context,
        replacing isAgreed: (_ known: [UInt8]?) -> Bool
    ) throws(CLIError) {
        var isReplacing = false
        var pendingErasure: KeychainFailure?
        var loss: CLIError?
        do {
            _ = try store.keychain.createRecoveryKey(passcode) {
                (known) throws(KeychainFailure) in
                guard isAgreed(known) else { throw otherKey }
                isReplacing = known != nil
            } showing: { (text) in
                do throws(CLIError) {
                    try show(text, on: context.console)
                } catch {
                    loss = error
                }
            } pendingErasure: {
                pendingErasure = $0
            }
        } catch {
            throw CLIError(error)
        }
        context.warnOfLockedPrograms(store)
        if let pendingErasure {
            context.warnOfOldKeys(pendingErasure)
        } else if isReplacing {
            context.console.note("valet: the earlier recovery key no longer opens the keychain")
        }
        if let loss { throw loss }
    }

    private static func show(
        _ text: borrowing SecretBytes, on console: any Console
    ) throws(CLIError) {
        try write(text, to: console)
        guard console.isOutputTerminal else { return }
        console.note(
            "valet: write this down and keep it apart from the machine: it is shown once, and "
                + "opens the keychain without the passcode")
        console.hint("clear the screen afterwards; 'valet recovery use' asks for the key")
    }

    private static let otherKey = KeychainFailure(
        .duplicateItem, during: "create a recovery key",
        message: "another program has just made one, which stays valid",
        hint: "run 'valet recovery create' again to replace that one")

    private static func write(
        _ text: borrowing SecretBytes, to console: any Console
    ) throws(CLIError) {
        do {
            try text.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
                try console.write(bytes)
            }
            try console.write("\n")
        } catch {
            // Reported even if the reader has closed the pipe: the earlier key is invalid already.
            throw CLIError(
                .failure, error.message,
                hint: "nobody has seen the new recovery key, and an earlier one is no longer "
                    + "valid: run 'valet recovery create' again")
        }
    }
}

/// `valet recovery use`.
struct RecoveryUseCommand {
    private static let keyDescriptor = OptionDeclaration(
        name: "recovery-key-fd", valueName: "N",
        help: "read the recovery key from file descriptor N: one line")
    private static let setsPasscode = OptionDeclaration(
        name: "set-passcode", help: "protect the keychain with a new passcode")
    private static let deviceKey = OptionDeclaration(
        name: "device-key", valueName: "PLACE",
        help: "where to keep the device key (default: where it was, but own-file after a TPM)",
        choices: DeviceKeySource.allCases.map(\.name))

    static let declaration = CommandDeclaration(
        name: "recovery use", abstract: "restore access to the keychain with the recovery key",
        discussion: [
            "For a keychain whose passcode or device key is lost. Shows first how many items and "
                + "former values cannot come back, and asks. If the device key is lost, these are "
                + "items for this device only and items that require the user at each read. If "
                + "only the passcode is lost, they are the items that need it and, if no new "
                + "passcode is set, all items that require the user. They stay set aside and can "
                + "no longer "
                + "be opened. Damaged items go there too, and are counted afterwards. All other "
                + "items come back, under new keys and with a new device key. The recovery key "
                + "stays valid.",
            "Type the recovery key at the terminal, or into pinentry if there is no terminal. "
                + "Scripts pass it through --recovery-key-fd. It is never read from the command "
                + "line or the environment. Case, spaces and hyphens do not matter; O, I and L "
                + "count as the digits that they resemble. Check characters detect a mistyped key.",
            "A keychain that had a passcode needs a new one, with --set-passcode: type it twice, "
                + "or pass it through --new-passcode-fd or as the second line of the recovery "
                + "key's descriptor. --lower continues without a passcode.",
            "--device-key=own-file makes a file of the keychain's own. For credential and "
                + "key-file ($VALET_DEVICE_KEY_FILE) the key must exist already. tpm binds the "
                + "keychain to this machine's TPM. 'valet device bind' explains these places.",
            "A credential, or a file that $VALET_DEVICE_KEY_FILE named, does not count as lost "
                + "only because the variable is not set: set CREDENTIALS_DIRECTORY to the folder, "
                + "or to an empty one if the credential is lost.",
        ],
        options: [
            keyDescriptor, setsPasscode, KeyOptions.newPasscodeDescriptor, KeyOptions.weak,
            deviceKey, KeyOptions.lower, KeyOptions.yes,
        ],
        exitCodes: [
            (.failure, "there is no recovery key, or no device key at its place"),
            KeyOptions.noKeychain,
            KeyOptions.noConsent, KeyOptions.changed,
            (.denied, "the recovery key is wrong or mistyped, or you declined"),
        ],
        examples: [
            ("valet recovery use --set-passcode", "After the passcode was forgotten."),
            ("valet recovery use --device-key own-file --lower", "After a credential was lost."),
            ("valet recovery use --device-key tpm --set-passcode", "On another machine."),
        ])

    private let options: KeyOptions
    private let keyDescriptor: PasscodeDescriptor?
    private let setsPasscode: Bool
    private let place: DeviceKeySource?

    private init(_ values: ParsedValues) throws(CLIError) {
        options = try KeyOptions(values)
        keyDescriptor = try KeyOptions.descriptor(Self.keyDescriptor, values)
        setsPasscode = values.has(Self.setsPasscode) || options.newPasscode != nil
        place = values[Self.deviceKey].flatMap(DeviceKeySource.init(name:))
    }

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        try RecoveryUseCommand(values).use(context)
    }

    private func use(_ context: Context) throws(CLIError) -> ExitCode {
        let store = try requesting(context.store())
        let status = try requesting(store.keychain.status())
        try check(status)
        let lost = try requesting(store.keychain.itemsLostByRecovery(settingPasscode: setsPasscode))
        context.console.note("valet: with the right key, \(Self.text(lost))")
        if lost.areSyncSecretsLost {
            context.console.note(
                "valet: without its device key, this device is no longer in its circle: use "
                    + "'valet sync leave --here', then 'valet sync join'")
        }
        if status.deviceKeySource == .tpm { noteLostTPM(of: store, context.console) }
        try context.console.requireConsent(
            to: "Recover the keychain?", isGiven: options.isAgreed)
        try recover(store, agreeingTo: lost, context)
        context.noteLockState("the keychain is recovered", of: store)
        guard place != nil else { return .success }
        context.console.afterEffect { () throws(CLIError) in
            let place = try requesting(store.keychain.status().deviceKeySource)
            place?.requirement(path: store.deviceKeyPath).map(context.console.hint)
        }
        return .success
    }

    private func check(_ status: KeychainStatus) throws(CLIError) {
        guard status.state != .absent else {
            throw CLIError(
                .notFound, "there is no keychain to recover",
                hint: "'valet status' shows the folder; VALET_HOME selects another")
        }
        guard status.hasRecoveryKey else {
            throw CLIError(
                .failure, "the keychain has no recovery key", hint: Self.restoring(status))
        }
        let protection = Protection(status)
        // A lost TPM cannot take the new key.
        let next = place ?? (protection.place == .tpm ? .ownFile : protection.place)
        try protection.check(
            lowering: options.allowsLowering,
            to: Protection(hasPasscode: setsPasscode, place: next))
    }

    /// What helps without a recovery key. A restore needs a place without a keychain.
    private static func restoring(_ status: KeychainStatus) -> String {
        var parts = [status.folder]
        // Left in place, the device key would be one without a keychain.
        if let key = status.deviceKeyPath, !key.hasPrefix(status.folder + "/") {
            parts.append(key)
        }
        let files = parts.map(quoted).joined(separator: " and ")
        return
            "with a backup, set \(files) aside, as with 'mv', and run 'valet backup restore FILE'"
    }

    private func recover(
        _ store: ItemStore, agreeingTo lost: LostItems, _ context: Context
    ) throws(CLIError) {
        let key = try recoveryKey(of: store, context.otherSecrets(keyDescriptor))
        var passcode: Passcode?
        if setsPasscode {
            passcode = try context.dialogue(options.newPasscode ?? keyDescriptor).choose(
                allowingWeak: options.allowsWeak, for: "Choose a passcode for the keychain.")
        }
        try context.changingKeys(of: store) { (epoch) throws(KeychainFailure) in
            do throws(KeychainFailure) {
                return try store.keychain.recover(
                    with: key, settingPasscode: passcode, deviceKeyFrom: place,
                    agreeingTo: lost, epoch)
            } catch {
                // The old place has no device key any more: say how to choose another.
                guard error.code == .keyUnavailable, place == nil else { throw error }
                throw KeychainFailure(
                    error,
                    hint: "put a device key there, or make one of the keychain's own with "
                        + "'--device-key=own-file --lower'")
            }
        }
    }

    /// The recovery key, which has been checked. A person has three tries.
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
                try store.keychain.checkRecoveryKey(answer)
            } catch {
                guard error.code == .authenticationFailed else { throw CLIError(error) }
                return .refused(CLIError(.denied, error.message))
            }
            return .accepted(answer)
        }
    }

    /// Warns that the recovery gives up the TPM, and why the TPM is taken for lost.
    private func noteLostTPM(of store: ItemStore, _ console: any Console) {
        do {
            try store.keychain.checkDeviceKey()
        } catch {
            console.note("valet: warning: the TPM cannot be used and is given up: \(error.message)")
            console.hint(
                "a container or another boot may hide a working TPM: where it can be used, no "
                    + "item is lost")
        }
    }

    private static func text(_ lost: LostItems) -> String {
        let former = lost.formerCount == 0 ? nil : FormerValue.counted(lost.formerCount)
        guard lost.count > 0 else {
            return "every item comes back" + (former.map { ", but \($0) cannot" } ?? "")
        }
        let items = lost.count == 1 ? "1 item" : "\(lost.count) items"
        let (deviceOnly, needing) = (lost.deviceOnlyCount, lost.needingPasscodeCount)
        let kinds = [
            deviceOnly == 0 ? nil : "\(deviceOnly) for this device only",
            needing == 0 ? nil : "\(needing) that \(needing == 1 ? "needs" : "need") a passcode",
        ].compactMap(\.self)
        return "\(items) cannot come back: " + kinds.joined(separator: ", ")
            + (former.map { "; nor can \($0)" } ?? "")
    }
}

/// `valet recovery revoke`.
enum RecoveryRevokeCommand {
    static let declaration = CommandDeclaration(
        name: "recovery revoke", abstract: "make the recovery key invalid",
        discussion: [
            "Gives the keychain new keys, as 'valet rotate' does, which the recovery key does not "
                + "open. Asks first: this cannot be undone. The recovery key still opens copies "
                + "of the files that were made before.",
            KeyOptions.lockDiscussion,
            KeyOptions.damageDiscussion,
            KeyOptions.askingDiscussion,
        ],
        options: [KeyOptions.passcodeDescriptor, KeyOptions.yes, KeyOptions.skipDamaged],
        exitCodes: [
            (.failure, "there is no recovery key, or another failure"), KeyOptions.noKeychain,
            KeyOptions.noConsent, KeyOptions.damagedItems, KeyOptions.wrongPasscode,
            (.locked, "there is another recovery key by now; or the keychain is busy"),
        ],
        examples: [("valet recovery revoke", "When the paper was lost.")])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let options = try KeyOptions(values)
        let (store, status) = try context.usableStore()
        guard status.hasRecoveryKey else {
            throw CLIError(.failure, "the keychain has no recovery key")
        }
        try context.console.requireConsent(
            to: "Make the recovery key invalid?", isGiven: options.isAgreed)
        let passcode = try context.dialogue(options.passcode).passcode(
            of: store, for: "The keychain's passcode, to revoke the recovery key.")
        try context.changingKeys(of: store, skippingDamaged: options.skipsDamaged) {
            (epoch) throws(KeychainFailure) in
            try store.keychain.rotateKeys(
                passcode, revokingRecoveryKey: .only(status.recoveryPublicKey), epoch)
        }
        context.console.note("valet: the recovery key no longer opens the keychain")
        return .success
    }
}
