// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
package import ValetKeychainKeys
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetLockState
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem
internal import ValetTPM

/// Setting, changing and removing the passcode, and new keys: spec/keys-and-states.md §5, §6. Each
/// of these calls starts a new epoch. Unlocking is in Unlock.swift.
extension Keychain {
    /// Sets the first passcode and unlocks the keychain. Creates a keychain that does not exist.
    ///
    /// - Returns: The number of damaged rows that were set aside.
    /// - Throws: ``KeychainFailure``: `duplicateItem` if a passcode is set; `damaged`, with the
    ///   number of damaged items and with nothing changed, unless `options` skip them; `diskFull`,
    ///   `timedOut`, `incomplete`, `keyUnavailable`.
    @discardableResult
    package func setPasscode(
        _ new: KeychainPasscode, _ options: EpochOptions = EpochOptions()
    ) throws(KeychainFailure) -> Int {
        let operation = "set the passcode"
        let next = NextEpoch(passcode: new, stretching: store.stretching, patience: store.timeLimit)
        return try countingRowsSetAside(operation) { () throws(KeychainFailure) in
            try changeKeys(.createKeys, operation, options, to: { _ in next }) { keys, facts in
                guard facts.lockState == nil else {
                    // A missing device key is reported first: spec/keys-and-states.md §5.
                    try keys.source.check(facts, until: keys.deadline)
                    throw KeychainFailure(
                        .duplicateItem, during: operation, message: "a passcode is set already",
                        hint: "change it with `valet passcode change`")
                }
                return .protector(try keys.protector(of: facts, nil))
            }
        }
    }

    /// Changes the passcode and unlocks the keychain.
    ///
    /// - Returns: The number of damaged rows that were set aside.
    /// - Throws: ``KeychainFailure``: `passcodeNotSet`, `authenticationFailed` for a wrong
    ///   passcode, and as ``setPasscode(_:_:)``.
    @discardableResult
    package func changePasscode(
        _ old: KeychainPasscode, to new: KeychainPasscode,
        _ options: EpochOptions = EpochOptions()
    ) throws(KeychainFailure) -> Int {
        try replacePasscode(old, by: new, "change the passcode", options)
    }

    /// Removes the passcode, and with it every item that exists only with a passcode.
    ///
    /// - Returns: The number of damaged rows that were set aside.
    /// - Throws: As ``changePasscode(_:to:_:)``.
    @discardableResult
    package func removePasscode(
        _ old: KeychainPasscode, _ options: EpochOptions = EpochOptions()
    ) throws(KeychainFailure) -> Int {
        let operation = "remove the passcode"
        let count = try replacePasscode(old, by: nil, operation, options)
        try lockStateAfterRemoval(operation)
        return count
    }

    private func replacePasscode(
        _ old: KeychainPasscode, by new: KeychainPasscode?, _ operation: String,
        _ options: EpochOptions
    ) throws(KeychainFailure) -> Int {
        let next = NextEpoch(passcode: new, stretching: store.stretching, patience: store.timeLimit)
        return try countingRowsSetAside(operation) { () throws(KeychainFailure) in
            try changeKeys(.changeKeys, operation, options, to: { _ in next }) { keys, facts in
                guard facts.lockState != nil else {
                    throw KeychainFailure(
                        .passcodeNotSet, during: operation, message: "there is no passcode",
                        hint: "set one with `valet passcode set`")
                }
                return .protector(try keys.protector(of: facts, old))
            }
        }
    }

    /// Begins a new epoch with the same passcode, or none. A locked keychain stays locked.
    ///
    /// - Parameters:
    ///   - passcode: The present passcode; nil if none is set.
    ///   - revokingRecoveryKey: Whether the recovery key no longer opens the keychain.
    ///   - place: The new source of the device secret; nil keeps the present one.
    ///   - pcrs: With a move to a TPM, the PCRs whose present values it requires to release the
    ///     device secret; nil for none.
    /// - Returns: The number of damaged rows that were set aside.
    /// - Throws: ``KeychainFailure``: `invalidRequest` for a PCR above 23, or without a TPM;
    ///   `interactionNotAllowed` if a passcode is needed, `authenticationFailed` for a wrong one;
    ///   and as ``setPasscode(_:_:)``.
    @discardableResult
    package func rotateKeys(
        _ passcode: KeychainPasscode?, revokingRecoveryKey: Bool = false,
        movingDeviceKeyTo place: DeviceKeySource? = nil, boundTo pcrs: [Int]? = nil,
        _ options: EpochOptions = EpochOptions()
    ) throws(KeychainFailure) -> Int {
        let registers = try Self.registers(pcrs, at: place)
        return try countingRowsSetAside(Self.rotating) { () throws(KeychainFailure) in
            try changeKeys(.changeKeys, Self.rotating, options) { facts in
                var next = NextEpoch(
                    passcode: facts.lockState == nil ? nil : passcode, stretching: store.stretching,
                    patience: store.timeLimit)
                next.keepsRecoveryKey = !revokingRecoveryKey
                next.unlocks = false
                next.source = place
                next.registers = registers
                return next
            } openedBy: { keys, facts in
                if place == .keyFile { try keys.source.checkGivenFileIsElsewhere() }
                return .protector(try keys.protector(of: facts, passcode))
            }
        }
    }

    private static let rotating = "change the keys"

    private static func registers(
        _ numbers: [Int]?, at place: DeviceKeySource?
    ) throws(KeychainFailure) -> PCRSelection? {
        guard let numbers else { return place == .tpm ? PCRSelection.none : nil }
        guard place == .tpm, let registers = PCRSelection(numbers) else {
            throw KeychainFailure(
                .invalidRequest, during: rotating,
                message: "PCRs are numbers from 0 to 23, of a TPM that the key is bound to")
        }
        return registers
    }

    /// Prepares, begins and finishes a change of keys. Finishes an interrupted change first.
    ///
    /// - Parameters:
    ///   - next: Describes the next epoch.
    ///   - open: Returns the protector or recovery key that opens the present epoch.
    func changeKeys(
        _ kind: ItemStore.ChangingKeys, _ operation: String, _ options: EpochOptions,
        to next: (KeychainHeader) -> NextEpoch,
        openedBy open: (KeyAccess, KeychainHeader) throws -> KeychainOpener
    ) throws(KeychainFailure) {
        let begun: BegunEpoch = try store.perform(kind, operation) { keys, facts in
            let moment = try keys.moment(of: facts)
            let opener = try open(keys, facts)
            // Rows that the old keys cannot open now are lost once those keys are erased.
            if !options.skipsDamaged {
                guard try keys.checkRows(of: facts, openedBy: opener) else { return nil }
            }
            // Comes before any preparation: a change prepared from the present keys would be out of
            // date.
            guard try !keys.hasFinishedFirst(facts, openedBy: opener) else { return nil }
            var change = try keys.change(facts, opener, to: next(facts))
            change.moment = moment
            return try keys.countingWrongPasscodes { try keys.begin(change, after: facts) }
        }
        do throws(KeychainFailure) {
            try finish(begun, operation, options.progress)
        } catch {
            throw KeychainFailure(error, adding: Self.unfinished)
        }
    }

    /// The addition to a failure after the new keys are in force.
    private static let unfinished =
        "the new keys are in force, and a new passcode with them, but some items are still under "
        + "the old keys: the next call that changes an item continues"

    private func finish(
        _ begun: BegunEpoch, _ operation: String, _ progress: EpochOptions.Progress
    ) throws(KeychainFailure) {
        try store.perform(.keys, operation) { keys in
            let total = try keys.rowCount()
            let isDone = try EpochFinisher(keychain: keys.keychain).finish(
                before: .never, of: begun
            ) { progress(min($0, total), total) }
            if isDone { progress(total, total) }
        }
    }

    /// Removes published keys, which have no use without a passcode.
    func lockStateAfterRemoval(_ operation: String) throws(KeychainFailure) {
        try store.perform(.keys, operation) { try $0.lockWithoutPasscode($0.deadline) }
    }
}
