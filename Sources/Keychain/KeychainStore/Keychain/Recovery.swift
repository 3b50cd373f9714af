// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
internal import ValetSystem

/// Making a recovery key, and recovering a keychain with it: docs/FORMAT.md §4.6.
extension Keychain {
    private static let adding = "create a recovery key"
    private static let recovering = "recover the keychain"

    /// Makes a recovery key for the keychain. A previous one no longer opens it. A locked keychain
    /// stays locked.
    ///
    /// - Parameters:
    ///   - passcode: The current passcode; nil if none is set.
    ///   - check: Called with the public half of the recovery key to be replaced, nil for none. If
    ///     it throws, nothing is changed. It is called again if that key changes before this call
    ///     holds the lock.
    ///   - show: Called with the text directly after the change, and before a previous key is
    ///     erased, which may take long: the text is lost if the program ends before it is shown.
    ///   - note: Called, at the end, with the reason why the previous key may still open what is on
    ///     the disk.
    /// - Returns: The text to write down: 49 bytes of ASCII. No other copy exists.
    /// - Throws: ``KeychainFailure``: `interactionNotAllowed` if a passcode is needed,
    ///   `authenticationFailed` for a wrong one, `timedOut`.
    package func createRecoveryKey(
        _ passcode: Passcode?,
        replacing check: (_ known: [UInt8]?) throws(KeychainFailure) -> Void = { _ in },
        showing show: (borrowing SecretBytes) -> Void = { _ in },
        pendingErasure note: (KeychainFailure) -> Void = { _ in }
    ) throws(KeychainFailure) -> SecretBytes {
        let key = RecoveryKey.random()
        let outcome = try store.changeKeys(Self.adding, creating: true) {
            (keys, header) throws(KeychainFailure) -> Protector in
            try check(header.keybag.recoveryPublicKey?.bytes)
            return try keys.protector(of: header, passcode)
        } _: { (keys, header, opener) throws(KeychainFailure) in
            try keys.countingWrongPasscodes { () throws(KeychainFailure) in
                try keys.replaceKeybag(
                    of: header, openedBy: opener, committed: { show(key.text) }
                ) {
                    (keybag, settings) throws(KeychainFailure) in
                    try keybag.addingRecoveryKey(key.publicKey, with: opener, settings: settings)
                }
            }
        }
        if let cause = outcome.pendingErasure { note(cause) }
        return key.text
    }

    /// The numbers of items and former values that a recovery cannot bring back. Without the device
    /// key, these are all this-device-only items and all that require the user's presence. With it,
    /// they are only the items that need the passcode. If the recovery sets no new passcode, all
    /// items that require the user's presence are lost in any case.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain.
    package func itemsLostByRecovery(
        settingPasscode setsPasscode: Bool = true
    ) throws(KeychainFailure) -> LostItems {
        try store.workOnKeys(Self.recovering) { (keys) throws(KeychainFailure) in
            let header = try keys.header()
            let hasDeviceKey = try keys.deviceSecretAtHand(header) != nil
            let lost = RowKinds.lostByRecovery(
                hasDeviceKey: hasDeviceKey, settingPasscode: setsPasscode)
            return LostItems(
                hasDeviceKey: hasDeviceKey, loss: try keys.loss(of: [lost]),
                needingPasscodeCount: try keys.loss(of: [lost, .needingPasscode]).itemCount,
                areSyncSecretsLost: header.keybag.hasSyncSecrets && !hasDeviceKey)
        }
    }

    /// Recovers a keychain whose device key or passcode is lost: the items that may leave the
    /// device and, if the device key still exists, this-device-only items. Sets a new device key.
    ///
    /// Lost and damaged rows become damaged rows of table `former`.
    /// - Parameters:
    ///   - text: The recovery key as the user typed it.
    ///   - new: The new passcode; nil for none.
    ///   - place: The source of the new device secret; nil for the source of the old secret, or for
    ///     `device.key` if that source is a TPM.
    ///   - agreed: What ``itemsLostByRecovery(settingPasscode:)`` has said; nil if nobody was
    ///     asked.
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain; `timedOut`, with
    ///   nothing changed, if more than `agreed` would be lost, or the device key came or went;
    ///   `authenticationFailed` for a mistyped text, or the key of another keychain;
    ///   `keyUnavailable` if the source has no device secret; `diskFull`, `timedOut`.
    /// - Returns: What the recovery has done besides. Lost rows do not count as damaged:
    ///   ``itemsLostByRecovery(settingPasscode:)`` counts the lost ones.
    @discardableResult
    package func recover(
        with text: borrowing SecretBytes, settingPasscode new: Passcode?,
        deviceKeyFrom place: DeviceKeySource? = nil, agreeingTo agreed: LostItems? = nil,
        _ options: KeyChangeOptions = KeyChangeOptions()
    ) throws(KeychainFailure) -> KeyChangeOutcome {
        let setsPasscode = new != nil
        let lost =
            if let agreed { agreed } else {
                try itemsLostByRecovery(settingPasscode: setsPasscode)
            }
        let expected = RowKinds.lostByRecovery(
            hasDeviceKey: lost.hasDeviceKey, settingPasscode: setsPasscode)
        var change = KeyChange(
            store: store, operation: Self.recovering, options: options, expectedLoss: expected)
        change.agreedLoss = AgreedLoss(of: expected, lost.loss)
        let registers = try KeyChangeRequest.registers(nil, at: place)
        return try change.run { header in
            var next = KeyChangeRequest(
                passcode: new, stretching: store.stretching, patience: store.timeLimit)
            // The TPM may be lost, so the new key goes to a file.
            next.source = place ?? (header.isBoundToTPM ? .ownFile : nil)
            next.registers = registers
            return next
        } openedBy: { (keys, header) throws(KeychainFailure) in
            if place == .keyFile { try keys.source.checkGivenFileIsElsewhere() }
            let secret = try keys.deviceSecretAtHand(header)
            guard (secret != nil) == lost.hasDeviceKey else {
                let change = lost.hasDeviceKey ? "cannot be found any more" : "was found"
                throw .changedSinceQuestion(
                    "since the question, the device key \(change)", during: Self.recovering)
            }
            let key = try text.withBytes { bytes throws(KeychainFailure) in
                try RecoveryKey(parsing: bytes)
            }
            return .recovery(RecoveryProtector(key, deviceSecret: secret))
        }
    }
}

extension KeychainPasscodes {
    /// The device secret of the keychain; nil if it is lost.
    ///
    /// - Throws: ``KeychainFailure`` if it exists but cannot be read: continuing without it would
    ///   lose the items that only it opens.
    fileprivate func deviceSecretAtHand(
        _ header: KeychainHeader
    ) throws(KeychainFailure) -> DeviceSecret? {
        if let remedy = header.keybag.deviceSource.remedyIfUnnamed,
            source.path(of: header.keybag.deviceSource) == nil
        {
            throw KeychainFailure(
                .keyUnavailable, during: "find the device key",
                message: "it is in a file that is not named now", hint: remedy)
        }
        do {
            let secret = try source.secret(of: header, until: deadline)
            guard secret.id == header.keybag.deviceKeyID else { return nil }
            return secret
        } catch {
            switch error.code {
            case .keyUnavailable where header.isBoundToTPM && !source.canUseTPM(deadline):
                throw error
            case .incomplete, .keyUnavailable, .keychainDamaged: return nil
            default: throw error
            }
        }
    }
}

extension DeviceKeySource {
    /// The hint if no variable names the file of this source, so that it must not count as lost.
    fileprivate var remedyIfUnnamed: String? {
        switch self {
        case .ownFile, .tpm: nil
        case .keyFile: "set VALET_DEVICE_KEY_FILE to that file; to its old path if it is lost"
        case .credential:
            "run this as the service that has the credential valet.device-key; "
                + "if it is lost, set CREDENTIALS_DIRECTORY to an empty folder"
        }
    }
}

extension RowKinds {
    /// The kinds of rows that a recovery cannot bring back.
    fileprivate static func lostByRecovery(
        hasDeviceKey: Bool, settingPasscode setsPasscode: Bool
    ) -> RowKinds {
        let lost = ProtectionClass.allCases.filter { protectionClass in
            hasDeviceKey
                ? protectionClass == .whenPasscodeSetThisDeviceOnly
                : protectionClass.isThisDeviceOnly
        }
        let pairs: [PresencePair] =
            hasDeviceKey && setsPasscode ? [.passcode] : PresencePair.allCases
        return RowKinds(lost, needing: pairs)
    }
}

/// The numbers of items that a recovery cannot bring back, and whether sync has to begin anew.
package struct LostItems: Hashable, Sendable {
    /// Whether the device key was found.
    package let hasDeviceKey: Bool
    package let loss: ItemLoss
    /// Those that only the passcode opens, or that require the user's presence.
    package let needingPasscodeCount: Int
    /// Whether the sync secrets are lost, so that this device has to join its circle anew.
    package let areSyncSecretsLost: Bool

    /// All lost items.
    package var count: Int { loss.itemCount }
    /// All lost former values.
    package var formerCount: Int { loss.formerCount }
    /// The others: this-device-only items, which are lost with the device key.
    package var deviceOnlyCount: Int { count - needingPasscodeCount }
}
