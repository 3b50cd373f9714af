// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
package import ValetKeychainModel
internal import ValetLockState
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem
internal import ValetTPM

/// New keys for a keychain: spec/keys-and-states.md §5, §6.
extension ItemStore {
    /// Sets the first passcode; the keychain, which is made if there is none, is unlocked then.
    ///
    /// - Returns: How many damaged rows were set aside.
    /// - Throws: ``KeychainFailure``: `duplicateItem` if there is a passcode already; `damaged`,
    ///   with their number, if items are and `options` do not skip them: nothing is changed then;
    ///   `diskFull`, `timedOut`, `incomplete`, `keyUnavailable`.
    @discardableResult
    package func setPasscode(
        _ new: KeychainPasscode, _ options: EpochOptions = EpochOptions()
    ) throws(KeychainFailure) -> Int {
        let operation = "set the passcode"
        let next = NextEpoch(passcode: new, stretching: stretching, patience: timeLimit)
        return try countingRowsSetAside(operation) { () throws(KeychainFailure) in
            try changeKeys(operation, creating: true, options, to: { _ in next }) {
                (engine, facts) throws(KeychainFailure) in
                guard facts.lockState == nil else {
                    // Without its device key it has another trouble first: spec/keys-and-states.md
                    // §5.
                    try engine.source.check(facts, until: Deadline(after: timeLimit))
                    throw KeychainFailure(
                        .duplicateItem, during: operation, message: "a passcode is set already",
                        hint: "change it with `valet passcode change`")
                }
                return .protector(try engine.protector(of: facts, nil, operation, timeLimit))
            }
        }
    }

    /// Changes the passcode; the keychain is unlocked then.
    ///
    /// - Returns: How many damaged rows were set aside.
    /// - Throws: ``KeychainFailure``: `passcodeNotSet`, `authenticationFailed` for a wrong one,
    ///   and as ``setPasscode(_:_:)``.
    @discardableResult
    package func changePasscode(
        _ old: KeychainPasscode, to new: KeychainPasscode,
        _ options: EpochOptions = EpochOptions()
    ) throws(KeychainFailure) -> Int {
        try replacePasscode(old, by: new, "change the passcode", options)
    }

    /// Removes the passcode, and with it every item that cannot be without one.
    ///
    /// - Returns: How many damaged rows were set aside.
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
        let next = NextEpoch(passcode: new, stretching: stretching, patience: timeLimit)
        return try countingRowsSetAside(operation) { () throws(KeychainFailure) in
            try changeKeys(operation, options, to: { _ in next }) {
                (engine, facts) throws(KeychainFailure) in
                guard facts.lockState != nil else {
                    throw KeychainFailure(
                        .passcodeNotSet, during: operation, message: "there is no passcode",
                        hint: "set one with `valet passcode set`")
                }
                return .protector(try engine.protector(of: facts, old, operation, timeLimit))
            }
        }
    }

    /// Begins a new epoch with the same passcode, or none. A locked keychain stays locked.
    ///
    /// - Parameters:
    ///   - passcode: The one that is set, if one is.
    ///   - revokingRecoveryKey: Whether the recovery key is to open the keychain no longer.
    ///   - place: Where the device secret is to come from; nil leaves it where it is.
    ///   - pcrs: With a move to a TPM, the numbers of its registers that must be as they are now
    ///     for it to give out the device secret; nil for none.
    /// - Returns: How many damaged rows were set aside.
    /// - Throws: ``KeychainFailure``: `invalidRequest` for a register beyond 23, or without a TPM;
    ///   `interactionNotAllowed` if a passcode is needed, `authenticationFailed` for a wrong one;
    ///   and as ``setPasscode(_:_:)``.
    @discardableResult
    package func rotateKeys(
        _ passcode: KeychainPasscode?, revokingRecoveryKey: Bool = false,
        movingDeviceKeyTo place: DeviceKeySource? = nil, boundTo pcrs: [Int]? = nil,
        _ options: EpochOptions = EpochOptions()
    ) throws(KeychainFailure) -> Int {
        let operation = "change the keys"
        let registers = try Self.registers(pcrs, at: place, operation)
        return try countingRowsSetAside(operation) { () throws(KeychainFailure) in
            try changeKeys(operation, options) { facts in
                NextEpoch(
                    passcode: facts.lockState == nil ? nil : passcode, stretching: stretching,
                    keepsRecoveryKey: !revokingRecoveryKey, unlocks: false, source: place,
                    registers: registers, patience: timeLimit)
            } openedBy: { (engine, facts) throws(KeychainFailure) in
                if place == .keyFile { try engine.source.checkGivenFileIsElsewhere() }
                return .protector(try engine.protector(of: facts, passcode, operation, timeLimit))
            }
        }
    }

    private static func registers(
        _ numbers: [Int]?, at place: DeviceKeySource?, _ operation: String
    ) throws(KeychainFailure) -> PCRSelection? {
        guard let numbers else { return place == .tpm ? PCRSelection.none : nil }
        guard place == .tpm, let registers = PCRSelection(numbers) else {
            throw KeychainFailure(
                .invalidRequest, during: operation,
                message: "PCRs are numbers from 0 to 23, of a TPM that the key is bound to")
        }
        return registers
    }

    /// Prepares a change, begins it and brings it to its end. One that was left undone comes to its
    /// end first.
    ///
    /// - Parameters:
    ///   - next: What is wanted of the next epoch.
    ///   - open: Gives what opens the keychain as it is.
    func changeKeys(
        _ operation: String, creating: Bool = false, _ options: EpochOptions,
        to next: (KeychainFacts) -> NextEpoch,
        openedBy open: (Engine, KeychainFacts) throws(KeychainFailure) -> KeychainOpener
    ) throws(KeychainFailure) {
        var begun: BegunEpoch?
        try untilUnchanged(operation, creating: creating) {
            (engine, facts) throws(KeychainFailure) in
            let moment = try engine.moment(of: facts, Deadline(after: timeLimit))
            let opener = try open(engine, facts)
            // What the old keys do not open now, nothing opens once they are erased.
            if !options.skipsDamaged {
                let deadline = Deadline(after: timeLimit)
                guard try engine.checkRows(of: facts, openedBy: opener, operation, deadline)
                else { return false }
            }
            // Before anything is prepared: it would be made of keys that are gone then.
            guard try !engine.hasFinishedFirst(facts, openedBy: opener, operation) else {
                return false
            }
            var change = try engine.change(facts, opener, to: next(facts), operation)
            change.moment = moment
            let deadline = Deadline(after: timeLimit)
            begun = try engine.wrongPasscodes.counting { () throws(KeychainFailure) in
                try engine.begin(change, after: facts, operation, deadline)
            }
            return begun != nil
        }
        guard let begun else { return }
        do throws(KeychainFailure) {
            try finish(begun, operation, options.progress)
        } catch {
            throw KeychainFailure(error, adding: Self.unfinished)
        }
    }

    /// What a failure says that comes when there is no way back.
    private static let unfinished =
        "the new keys are in force, and a new passcode with them, but not every item is sealed "
        + "anew yet: the next call that changes an item goes on with it"

    private func finish(
        _ begun: BegunEpoch, _ operation: String, _ progress: EpochOptions.Progress
    ) throws(KeychainFailure) {
        try withEngine(operation) { (engine) throws(KeychainFailure) in
            let total = try engine.rowCount(operation, Deadline(after: timeLimit))
            let isDone = try engine.finishEpochChange(before: .never, of: begun) {
                progress(min($0, total), total)
            }
            if isDone { progress(total, total) }
        }
    }

    /// Keys that were published are of no use to anybody without a passcode.
    func lockStateAfterRemoval(_ operation: String) throws(KeychainFailure) {
        try withEngine(operation) { (engine) throws(KeychainFailure) in
            try engine.lockWithoutPasscode(operation, Deadline(after: timeLimit))
        }
    }
}
