// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import Keybag
package import KeychainModel
internal import LockState
internal import Sealing
internal import SecretMemory

/// Is told how many of how many rows have been sealed anew.
package typealias EpochProgress = (_ count: Int, _ total: Int) -> Void

/// Where the device secret of a keychain is to come from.
package enum DeviceKeyPlace: CaseIterable, Hashable, Sendable {
    /// `device.key`, made by this library.
    case ownFile
    /// The systemd credential `valet.device-key`.
    case credential
    /// The file that `$VALET_DEVICE_KEY_FILE` names.
    case keyFile
}

/// New keys for a keychain: keys-and-states §1.5, §1.6.
extension ItemStore {
    private static let attemptCount = 3

    /// Sets the first passcode; the keychain, which is made if there is none, is unlocked then.
    ///
    /// - Throws: ``KeychainFailure``: `duplicateItem` if there is a passcode already, `diskFull`,
    ///   `timedOut`, `incomplete`, `keyUnavailable`.
    package func setPasscode(
        _ new: KeychainPasscode, progress: EpochProgress = { _, _ in }
    ) throws(KeychainFailure) {
        let operation = "set the passcode"
        try changeKeys(operation, creating: true, progress) {
            (engine, facts) throws(KeychainFailure) in
            guard facts.lockState == nil else {
                throw KeychainFailure(
                    .duplicateItem, during: operation, message: "a passcode is set already",
                    hint: "change it with `valet passcode change`")
            }
            let opener = try engine.protector(of: facts, nil, operation)
            return try engine.change(
                facts, .protector(opener), to: NextEpoch(passcode: new, stretching: stretching),
                operation)
        }
    }

    /// Changes the passcode; the keychain is unlocked then.
    ///
    /// - Throws: ``KeychainFailure``: `passcodeNotSet`, `authenticationFailed` for a wrong one,
    ///   and as ``setPasscode(_:progress:)``.
    package func changePasscode(
        _ old: KeychainPasscode, to new: KeychainPasscode,
        progress: EpochProgress = { _, _ in }
    ) throws(KeychainFailure) {
        let operation = "change the passcode"
        try changeKeys(operation, progress) { (engine, facts) throws(KeychainFailure) in
            try Self.requirePasscode(facts, operation)
            let opener = try engine.protector(of: facts, old, operation)
            return try engine.change(
                facts, .protector(opener), to: NextEpoch(passcode: new, stretching: stretching),
                operation)
        }
    }

    /// Removes the passcode, and with it every item that cannot be without one.
    ///
    /// - Throws: As ``changePasscode(_:to:progress:)``.
    package func removePasscode(
        _ old: KeychainPasscode, progress: EpochProgress = { _, _ in }
    ) throws(KeychainFailure) {
        let operation = "remove the passcode"
        try changeKeys(operation, progress) { (engine, facts) throws(KeychainFailure) in
            try Self.requirePasscode(facts, operation)
            let opener = try engine.protector(of: facts, old, operation)
            return try engine.change(
                facts, .protector(opener), to: NextEpoch(passcode: nil, stretching: stretching),
                operation)
        }
        try lockStateAfterRemoval(operation)
    }

    /// Begins a new epoch with the same passcode, or none.
    ///
    /// - Parameters:
    ///   - passcode: The one that is set, if one is.
    ///   - revokingRecoveryKey: Whether the recovery key is to open the keychain no longer.
    ///   - place: Where the device secret is to come from; nil leaves it where it is.
    /// - Throws: ``KeychainFailure``: `interactionNotAllowed` if a passcode is needed,
    ///   `authenticationFailed` for a wrong one, and as ``setPasscode(_:progress:)``.
    package func rotateKeys(
        _ passcode: KeychainPasscode?, revokingRecoveryKey: Bool = false,
        movingDeviceKeyTo place: DeviceKeyPlace? = nil,
        progress: EpochProgress = { _, _ in }
    ) throws(KeychainFailure) {
        let operation = "change the keys"
        try changeKeys(operation, progress) { (engine, facts) throws(KeychainFailure) in
            if place == .keyFile { try engine.source.checkGivenFileIsElsewhere() }
            let opener = try engine.protector(of: facts, passcode, operation)
            return try engine.change(
                facts, .protector(opener),
                to: NextEpoch(
                    passcode: facts.lockState == nil ? nil : passcode, stretching: stretching,
                    keepsRecoveryKey: !revokingRecoveryKey, source: place?.source), operation)
        }
    }

    /// Prepares a change, begins it and brings it to its end.
    func changeKeys(
        _ operation: String, creating: Bool = false, finishingFirst: Bool = true,
        _ progress: EpochProgress,
        _ prepare: (Engine, KeychainFacts) throws(KeychainFailure) -> EpochChange
    ) throws(KeychainFailure) {
        for _ in 0..<Self.attemptCount {
            let hasBegun = try withEngine(operation, creating: creating) {
                (engine) throws(KeychainFailure) in
                let facts = try engine.readFacts(operation, Deadline(after: timeLimit))
                return try engine.unlessChanged(facts, timeLimit) {
                    () throws(KeychainFailure) in
                    let change = try prepare(engine, facts)
                    if finishingFirst, facts.older != nil {
                        // The keys of three epochs are never there at once.
                        try engine.finishFirst(facts, change, operation)
                        return false
                    }
                    let deadline = Deadline(after: timeLimit)
                    return try WrongPasscodes.counting { () throws(KeychainFailure) in
                        try engine.begin(change, after: facts, operation, deadline)
                    }
                }
            }
            guard hasBegun else { continue }
            return try withEngine(operation) { (engine) throws(KeychainFailure) in
                let total = try engine.rowCount(operation, Deadline(after: timeLimit))
                _ = try engine.finishEpochChange(before: .never) { progress(min($0, total), total) }
            }
        }
        throw KeychainFailure(
            .timedOut, during: operation, message: "its keys were changed again and again")
    }

    /// Keys that were published are of no use to anybody without a passcode.
    func lockStateAfterRemoval(_ operation: String) throws(KeychainFailure) {
        try withEngine(operation) { (engine) throws(KeychainFailure) in
            let facts = try engine.readFacts(operation, Deadline(after: timeLimit))
            guard facts.lockState == nil else { return }
            try translating(operation) {
                try LockStates.store(of: facts.settings.keychainID).lock(all: true)
            }
        }
    }

    private static func requirePasscode(
        _ facts: KeychainFacts, _ operation: String
    ) throws(KeychainFailure) {
        guard facts.lockState == nil else { return }
        throw KeychainFailure(
            .passcodeNotSet, during: operation, message: "there is no passcode",
            hint: "set one with `valet passcode set`")
    }
}

extension DeviceKeyPlace {
    /// nil for a TPM, which no keychain can be given yet.
    init?(_ source: DeviceSource) {
        switch source {
        case .file: self = .ownFile
        case .credential: self = .credential
        case .path: self = .keyFile
        case .tpm: return nil
        }
    }

    var source: DeviceSource {
        switch self {
        case .ownFile: .file
        case .credential: .credential
        case .keyFile: .path
        }
    }
}
