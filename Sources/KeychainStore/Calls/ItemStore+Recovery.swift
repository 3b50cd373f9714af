// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import Keybag
package import KeychainModel
internal import LockState
internal import Sealing
package import SecretMemory
internal import TPM

/// The key on paper: docs/FORMAT.md §4.6.
extension ItemStore {
    private static let adding = "create a recovery key"
    private static let recovering = "recover the keychain"

    /// Makes a recovery key for the keychain; one that it had opens it no longer. A locked keychain
    /// stays locked.
    ///
    /// - Parameter passcode: The one that is set, if one is.
    /// - Returns: The text for paper: 49 bytes of ASCII. It is nowhere else.
    /// - Throws: ``KeychainFailure``: `interactionNotAllowed` if a passcode is needed,
    ///   `authenticationFailed` for a wrong one, `timedOut`.
    package func createRecoveryKey(
        _ passcode: KeychainPasscode?
    ) throws(KeychainFailure) -> SecretBytes {
        let key = RecoveryKey.random()
        try untilUnchanged(Self.adding, creating: true) { (engine, facts) throws(KeychainFailure) in
            let opener = try engine.protector(of: facts, passcode, Self.adding, timeLimit)
            let deadline = Deadline(after: timeLimit)
            return try WrongPasscodes.counting { () throws(KeychainFailure) in
                try engine.add(
                    key.publicKey, to: facts, openedBy: opener, Self.adding, deadline)
            }
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
    ) throws(KeychainFailure) -> Int {
        try withEngine(Self.recovering) { (engine) throws(KeychainFailure) in
            let deadline = Deadline(after: timeLimit)
            let facts = try engine.readFacts(Self.recovering, deadline)
            let hasDeviceKey = try engine.deviceSecretAtHand(facts, deadline) != nil
            let lost = ProtectionClass.allCases.filter { protectionClass in
                hasDeviceKey
                    ? protectionClass == .whenPasscodeSetThisDeviceOnly
                    : protectionClass.isThisDeviceOnly
            }
            let pairs: [PresencePair] =
                hasDeviceKey && setsPasscode ? [.passcode] : PresencePair.allCases
            return try engine.rowCount(of: lost, needing: pairs, Self.recovering, deadline)
        }
    }

    /// Brings back a keychain whose device key or passcode is lost: what of it may migrate, and
    /// with the device key at hand also what may not leave this device. Sets a new device key.
    ///
    /// What cannot be brought back is moved to table `quarantine`.
    /// - Parameters:
    ///   - text: What was typed from the paper.
    ///   - new: The passcode that the keychain is to have; nil for none.
    ///   - place: Where the new device secret comes from; nil for where the old one came from, and
    ///     for a file in the place of a TPM.
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain;
    ///   `authenticationFailed` for a text that is mistyped, or the key of another keychain;
    ///   `keyUnavailable` if nothing is at the place of the device secret; `diskFull`, `timedOut`.
    package func recover(
        with text: borrowing SecretBytes, settingPasscode new: KeychainPasscode?,
        deviceKeyFrom place: DeviceKeyPlace? = nil, progress: EpochProgress = { _, _ in }
    ) throws(KeychainFailure) {
        try changeKeys(Self.recovering, progress) { facts in
            // A TPM that is lost takes no new key.
            let source = place?.source ?? (facts.isBoundToTPM ? .file : nil)
            return NextEpoch(
                passcode: new, stretching: stretching, source: source,
                registers: place == .tpm ? PCRSelection.none : nil, erasure: .abandoned,
                patience: timeLimit)
        } openedBy: {
            (engine, facts) throws(KeychainFailure) in
            if place == .keyFile { try engine.source.checkGivenFileIsElsewhere() }
            let secret = try engine.deviceSecretAtHand(facts, Deadline(after: timeLimit))
            do throws(KeybagError) {
                let key = try text.withBytes { bytes throws(KeybagError) in
                    try RecoveryKey(parsing: bytes)
                }
                return .recovery(RecoveryProtector(key, deviceSecret: secret))
            } catch {
                throw KeychainFailure(translating: error, during: Self.recovering)
            }
        }
        if new == nil { try lockStateAfterRemoval(Self.recovering) }
    }
}

extension Engine {
    /// The device secret of the keychain; nil if it is lost.
    ///
    /// - Throws: ``KeychainFailure`` if it is there and cannot be read: to go on without it would
    ///   cost items that it opens.
    fileprivate func deviceSecretAtHand(
        _ facts: KeychainFacts, _ deadline: Deadline
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
        _ publicKey: PublicKey, to facts: KeychainFacts, openedBy opener: borrowing AnyProtector,
        _ operation: String, _ deadline: Deadline
    ) throws(KeychainFailure) -> Bool {
        var settings = facts.settings
        settings.stamp = .random(in: .min ... .max)
        do {
            let keybags = try facts.keybags.map { keybag throws(KeybagError) in
                try keybag.addingRecoveryKey(
                    publicKey, with: opener,
                    settings: settings.authenticatedBytes(of: keybag.epoch))
            }
            let new = KeychainFacts(settings, newest: keybags[0], older: keybags.dropFirst().first)
            let opened = try new.unlock(with: opener)
            var before: LockReading?
            return try write(operation, deadline, of: facts) { writer in
                try EpochWriter.replaceKeybags(by: new, writer.connection)
                before = facts.lockReading
                try new.publishInPlace(of: facts, opened)
            } onFailure: {
                guard let before else { return }
                try facts.putBack(before) { facts.published(try facts.unlock(with: opener)) }
            }
        } catch {
            throw KeychainFailure(translating: error, during: operation)
        }
    }

    /// How many rows are of `classes`, or sealed to `pairs`.
    func rowCount(
        of classes: [ProtectionClass], needing pairs: [PresencePair], _ operation: String,
        _ deadline: Deadline
    ) throws(KeychainFailure) -> Int {
        try withReader(deadline) { (store) throws(KeychainFailure) in
            try translating(operation) {
                let count = Statement(
                    """
                    SELECT protection, flags & 768, count(*) FROM item WHERE flags & 2 = 0
                    GROUP BY protection, flags & 768
                    """, on: store.connection)
                let numbers = classes.map { Int64($0.rawValue) }
                let kinds = pairs.map {
                    Int64(RowFlags(isSynchronizable: false, presence: $0).rawValue)
                }
                var sum = 0
                let run = try count.start()
                while try run.step() {
                    guard numbers.contains(run.int64(0)) || kinds.contains(run.int64(1)) else {
                        continue
                    }
                    sum += Int(run.int64(2))
                }
                return sum
            }
        }
    }
}

extension KeychainFacts {
    /// Publishes the same keys under the digest of a changed keybag; the state stays as it is.
    fileprivate func publishInPlace(of old: KeychainFacts, _ opened: [UnlockedKeybag]) throws {
        guard let lockState else { return }
        switch lockState.current(expecting: old.marks) {
        case .unlocked: try lockState.replaceKeys(with: published(opened))
        case .locked: try lockState.replaceFirstUnlockKeys(with: published(opened))
        case .beforeFirstUnlock, .unknown: return
        }
    }
}
