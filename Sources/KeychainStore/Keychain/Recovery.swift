// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeybag
package import ValetKeychainKeys
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetLockState
internal import ValetSealing
package import ValetSecretMemory
internal import ValetSystem
internal import ValetTPM

/// The key on paper: docs/FORMAT.md §4.6.
extension ItemStore {
    private static let adding = "create a recovery key"
    private static let recovering = "recover the keychain"

    /// Makes a recovery key for the keychain; one that it had opens it no longer. A locked keychain
    /// stays locked.
    ///
    /// - Parameters:
    ///   - passcode: The one that is set, if one is.
    ///   - check: Gets the public half of the recovery key that would be replaced, nil for none.
    ///     Nothing is changed if it throws, or if another key is there when the lock is held: it
    ///     is called again then.
    /// - Returns: The text for paper: 49 bytes of ASCII. It is nowhere else.
    /// - Throws: ``KeychainFailure``: `interactionNotAllowed` if a passcode is needed,
    ///   `authenticationFailed` for a wrong one, `timedOut`.
    package func createRecoveryKey(
        _ passcode: KeychainPasscode?,
        replacing check: (_ known: [UInt8]?) throws(KeychainFailure) -> Void = { _ in }
    ) throws(KeychainFailure) -> SecretBytes {
        let key = RecoveryKey.random()
        try perform(.createKeys, Self.adding) { keys, facts -> Void? in
            try check(facts.newest.recoveryPublicKey?.bytes)
            let opener = try keys.protector(of: facts, passcode)
            let isAdded = try keys.countingWrongPasscodes {
                try keys.add(key.publicKey, to: facts, openedBy: opener)
            }
            return isAdded ? () : nil
        }
        return key.text
    }

    /// How many items a recovery cannot bring back: all of this device only and all that need a
    /// person, or, with the device key at hand, those that need the passcode. Without a new
    /// passcode, those that need a person are lost in any case.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain.
    package func itemsLostByRecovery(
        settingPasscode setsPasscode: Bool = true
    ) throws(KeychainFailure) -> LostItems {
        try perform(.keys, Self.recovering) { keys in
            let lost = try keys.rowsLostByRecovery(settingPasscode: setsPasscode)
            let needing = RowKinds([.whenPasscodeSetThisDeviceOnly], needing: PresencePair.allCases)
            return LostItems(
                count: try keys.rowCount(of: [lost]),
                needingPasscodeCount: try keys.rowCount(of: [lost, needing]))
        }
    }

    /// Brings back a keychain whose device key or passcode is lost: what of it may migrate, and
    /// with the device key at hand also what may not leave this device. Sets a new device key.
    ///
    /// What cannot be brought back is moved to table `quarantine`, and so is what is damaged.
    /// - Parameters:
    ///   - text: What was typed from the paper.
    ///   - new: The passcode that the keychain is to have; nil for none.
    ///   - place: Where the new device secret comes from; nil for where the old one came from, and
    ///     for a file in the place of a TPM.
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain;
    ///   `authenticationFailed` for a text that is mistyped, or the key of another keychain;
    ///   `keyUnavailable` if nothing is at the place of the device secret; `diskFull`, `timedOut`.
    /// - Returns: How many rows were set aside that ``itemsLostByRecovery(settingPasscode:)`` does
    ///   not count: they are damaged.
    @discardableResult
    package func recover(
        with text: borrowing SecretBytes, settingPasscode new: KeychainPasscode?,
        deviceKeyFrom place: DeviceKeySource? = nil, _ options: EpochOptions = EpochOptions()
    ) throws(KeychainFailure) -> Int {
        let expected = try perform(.keys, Self.recovering) { keys in
            try keys.rowsLostByRecovery(settingPasscode: new != nil)
        }
        return try countingRowsSetAside(Self.recovering, but: expected) {
            () throws(KeychainFailure) in
            try changeKeys(with: text, settingPasscode: new, deviceKeyFrom: place, options)
        }
    }

    private func changeKeys(
        with text: borrowing SecretBytes, settingPasscode new: KeychainPasscode?,
        deviceKeyFrom place: DeviceKeySource?, _ options: EpochOptions
    ) throws(KeychainFailure) {
        try changeKeys(.changeKeys, Self.recovering, options) { facts in
            var next = NextEpoch(passcode: new, stretching: stretching, patience: timeLimit)
            // A TPM that is lost takes no new key.
            next.source = place ?? (facts.isBoundToTPM ? .ownFile : nil)
            next.registers = place == .tpm ? PCRSelection.none : nil
            return next
        } openedBy: { keys, facts in
            if place == .keyFile { try keys.source.checkGivenFileIsElsewhere() }
            let secret = try keys.deviceSecretAtHand(facts)
            let key = try text.withBytes { bytes throws(KeybagError) in
                try RecoveryKey(parsing: bytes)
            }
            return .recovery(RecoveryProtector(key, deviceSecret: secret))
        }
        if new == nil { try lockStateAfterRemoval(Self.recovering) }
    }
}

extension KeyAccess {
    /// The device secret of the keychain; nil if it is lost.
    ///
    /// - Throws: ``KeychainFailure`` if it is there and cannot be read: to go on without it would
    ///   cost items that it opens.
    fileprivate func deviceSecretAtHand(
        _ facts: KeychainHeader
    ) throws(KeychainFailure) -> DeviceSecret? {
        do throws(KeychainFailure) {
            let secret = try source.secret(of: facts, until: deadline)
            guard secret.id == facts.newest.deviceKeyID else { return nil }
            return secret
        } catch {
            switch error.code {
            case .keyUnavailable where facts.isBoundToTPM && !source.canUseTPM(deadline):
                throw error
            case .incomplete, .keyUnavailable, .keychainDamaged: return nil
            default: throw error
            }
        }
    }

    /// Puts keybags in the place of those of `facts` that a recovery key opens, too.
    ///
    /// - Returns: Whether it was done: not if the keychain has changed in the meantime.
    fileprivate func add(
        _ publicKey: PublicKey, to facts: KeychainHeader, openedBy opener: borrowing Protector
    ) throws -> Bool {
        var settings = facts.settings
        settings.stamp = .random(in: .min ... .max)
        defer { keychain.announceLockState() }
        let keybags = try facts.keybags.map { keybag throws(KeybagError) in
            try keybag.addingRecoveryKey(
                publicKey, with: opener, settings: settings.authenticatedBytes(of: keybag.epoch))
        }
        let new = KeychainHeader(
            settings, newest: keybags[0], older: keybags.dropFirst().first, at: facts.location)
        let opened = try new.unlock(with: opener)
        var before: LockReading?
        return try keychain.replaceKeys(of: facts, operation, deadline) { writer in
            try EpochWriter.replaceKeybags(by: new, writer.connection)
            before = facts.lockReading
            try new.publishInPlace(of: facts, opened)
        } onFailure: {
            if let before { try facts.putBack(before) }
        }
    }

    /// What a recovery cannot bring back.
    fileprivate func rowsLostByRecovery(settingPasscode setsPasscode: Bool) throws -> RowKinds {
        let hasDeviceKey = try deviceSecretAtHand(facts()) != nil
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

/// What a recovery cannot bring back.
package struct LostItems: Hashable, Sendable {
    /// How many items there are of it.
    package let count: Int
    /// How many of them open with the passcode alone, or need the user.
    package let needingPasscodeCount: Int

    /// How many of them may not leave the device, whose key is lost.
    package var deviceOnlyCount: Int { count - needingPasscodeCount }
}
