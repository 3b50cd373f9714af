// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetLockState
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem
internal import ValetTPM

/// What is wanted of the next epoch.
struct NextEpoch {
    /// Nil for none.
    let passcode: KeychainPasscode?
    /// How much work it is to be to try the passcode.
    let stretching: PasscodeStretching
    /// Whether the recovery key is to open it, too.
    var keepsRecoveryKey = true
    /// Whether to unlock a locked keychain: only where a passcode is set.
    var unlocks = true
    /// Where its device secret is to come from; nil leaves it where it is.
    var source: DeviceKeySource?
    /// Which registers of a TPM its device secret is bound to; nil for those that the last is.
    var registers: PCRSelection?
    /// How long to wait for a TPM, each time.
    var patience = Duration.seconds(5)
}

/// What an epoch change is made of. All that takes long is done here, before any lock is taken.
extension Engine {
    /// A change of the keychain that `facts` are of, made with `opener`.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable` if nothing is at the new source,
    ///   `outOfMemory`.
    func change(
        _ facts: KeychainFacts, _ opener: consuming KeychainOpener, to next: NextEpoch,
        _ operation: String
    ) throws(KeychainFailure) -> EpochChange {
        let source = next.source ?? facts.newest.deviceSource
        let keychainID = facts.settings.keychainID
        if source == .tpm {
            let share = try self.source.newPasscodeShare(next)
            let held = try self.source.newDeviceSecret(next, after: facts.newest)
            return EpochChange(
                opener: opener, protector: try self.source.protector(held, share),
                deviceSource: source, deviceKey: nil, keepsRecoveryKey: next.keepsRecoveryKey,
                unlocks: next.unlocks)
        }
        let file: DeviceKeyFile
        if source == .ownFile {
            file = DeviceKeyFile(keychainID: keychainID, secret: .random())
        } else {
            file = try self.source.given(by: source)
            try self.source.check(file, isFor: keychainID, source)
        }
        let deviceKey = source == .ownFile ? try file.copied(operation) : nil
        let protector = try Self.protector(file.intoSecret(), next, operation)
        return EpochChange(
            opener: opener, protector: protector, deviceSource: source, deviceKey: deviceKey,
            keepsRecoveryKey: next.keepsRecoveryKey, unlocks: next.unlocks)
    }

    private static func protector(
        _ secret: consuming DeviceSecret, _ next: NextEpoch, _ operation: String
    ) throws(KeychainFailure) -> Protector {
        switch next.passcode {
        case .none: return Protector(secret)
        case .some(let new):
            do {
                return try Protector(
                    secret, passcode: new.passcode, cost: next.stretching.cost())
            } catch {
                throw KeychainFailure(translating: error, during: operation)
            }
        }
    }

    /// Finishes an epoch change that was left undone, with what opens the keychain. A recovery
    /// does so in its own transaction.
    ///
    /// - Returns: Whether there was one to finish: the keychain is another one then.
    func hasFinishedFirst(
        _ facts: KeychainFacts, openedBy opener: borrowing KeychainOpener, _ operation: String
    ) throws(KeychainFailure) -> Bool {
        guard facts.older != nil else { return false }
        switch opener {
        case .recovery: return false
        case .protector(let protector): try finishFirst(facts, openedBy: protector, operation)
        }
        return true
    }

    /// Nothing is published for it: the keys are at hand, and the keychain may be locked.
    private func finishFirst(
        _ facts: KeychainFacts, openedBy opener: borrowing Protector, _ operation: String
    ) throws(KeychainFailure) {
        let begun = try wrongPasscodes.counting { () throws(KeychainFailure) in
            do {
                let opened = try facts.unlock(with: opener)
                return BegunEpoch(
                    keys: try KeychainState(facts, opened, opened: nil),
                    proof: try facts.proof(with: opener))
            } catch {
                throw KeychainFailure(translating: error, during: operation)
            }
        }
        _ = try finishEpochChange(before: .never, of: begun)
    }

    /// How many rows there are.
    func rowCount(_ operation: String, _ deadline: Deadline) throws(KeychainFailure) -> Int {
        try withReader(deadline) { (store) throws(KeychainFailure) in
            try translating(operation) { try store.connection.count(.items) }
        }
    }
}

extension PasscodeStretching {
    func cost() throws(SealingError) -> Argon2Cost {
        switch self {
        case .lowest: .lowest
        case .calibrated:
            try PassphraseKDF.calibratedCost(
                memoryByteCount: MachineMemory.usableByteCount, on: ThreadTimeClock())
        }
    }
}
