// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeys
internal import ValetSealing
internal import ValetSystem

/// Setting, changing and removing the passcode, and new keys: spec/keys-and-states.md §5, §6. Each
/// of these calls starts a new epoch. Unlocking is in Unlock.swift.
extension Keychain {
    /// Sets the first passcode and unlocks the keychain. Creates a keychain that does not exist.
    ///
    /// - Returns: What the change has done besides.
    /// - Throws: ``KeychainFailure``: `duplicateItem` if a passcode is set; `damaged`, with the
    ///   number of damaged items and with nothing changed, unless `options` skip them; `diskFull`,
    ///   `timedOut`, `incomplete`, `keyUnavailable`.
    @discardableResult
    package func setPasscode(
        _ new: Passcode, _ options: KeyChangeOptions = KeyChangeOptions()
    ) throws(KeychainFailure) -> KeyChangeOutcome {
        let operation = "set the passcode"
        let next = KeyChangeRequest(
            passcode: new, stretching: store.stretching, patience: store.timeLimit)
        let change = KeyChange(store: store, operation: operation, options: options)
        return try change.run(creating: true, to: { _ in next }) {
            (keys, header) throws(KeychainFailure) in
            guard header.lockState == nil else {
                // A missing device key is reported first: spec/keys-and-states.md §5.
                try keys.source.check(header, until: keys.deadline)
                throw KeychainFailure(
                    .duplicateItem, during: operation, message: "a passcode is set already",
                    hint: "change it with `valet passcode change`")
            }
            return .protector(try keys.protector(of: header, nil))
        }
    }

    /// Changes the passcode and unlocks the keychain.
    ///
    /// - Returns: What the change has done besides.
    /// - Throws: ``KeychainFailure``: `passcodeNotSet`, `authenticationFailed` for a wrong
    ///   passcode, and as ``setPasscode(_:_:)``.
    @discardableResult
    package func changePasscode(
        _ old: Passcode, to new: Passcode,
        _ options: KeyChangeOptions = KeyChangeOptions()
    ) throws(KeychainFailure) -> KeyChangeOutcome {
        let change = KeyChange(store: store, operation: "change the passcode", options: options)
        return try replacePasscode(old, by: new, change)
    }

    /// Removes the passcode, and with it every item that exists only with a passcode.
    ///
    /// - Parameter loss: What ``lossWithoutPasscode()`` has said; nil if nobody was asked.
    /// - Returns: What the change has done besides.
    /// - Throws: As ``changePasscode(_:to:_:)``; `timedOut`, with nothing changed, if more than
    ///   `loss` would be destroyed.
    @discardableResult
    package func removePasscode(
        _ old: Passcode, agreeingTo loss: ItemLoss? = nil,
        _ options: KeyChangeOptions = KeyChangeOptions()
    ) throws(KeychainFailure) -> KeyChangeOutcome {
        var change = KeyChange(store: store, operation: "remove the passcode", options: options)
        change.agreedLoss = loss.map { AgreedLoss(of: .needingPasscode, $0) }
        return try replacePasscode(old, by: nil, change)
    }

    private func replacePasscode(
        _ old: Passcode, by new: Passcode?, _ change: KeyChange
    ) throws(KeychainFailure) -> KeyChangeOutcome {
        let next = KeyChangeRequest(
            passcode: new, stretching: store.stretching, patience: store.timeLimit)
        return try change.run(to: { _ in next }) {
            (keys, header) throws(KeychainFailure) in
            guard header.lockState != nil else {
                throw KeychainFailure(
                    .passcodeNotSet, during: change.operation, message: "there is no passcode",
                    hint: "set one with `valet passcode set`")
            }
            return .protector(try keys.protector(of: header, old))
        }
    }

    /// Begins a new epoch with the same passcode, or none. A locked keychain stays locked.
    ///
    /// - Parameters:
    ///   - passcode: The current passcode; nil if none is set.
    ///   - revocation: Which recovery key no longer opens the keychain.
    ///   - place: The new source of the device secret; nil keeps the current one.
    ///   - pcrs: For a move to a TPM, the PCRs that must have their present values before the TPM
    ///     releases the device secret; nil for none.
    /// - Returns: What the change has done besides.
    /// - Throws: ``KeychainFailure``: `invalidRequest` for a PCR above 23, or without a TPM;
    ///   `interactionNotAllowed` if a passcode is needed, `authenticationFailed` for a wrong one;
    ///   `timedOut` if the keychain has another recovery key than the one to revoke; and as
    ///   ``setPasscode(_:_:)``.
    @discardableResult
    package func rotateKeys(
        _ passcode: Passcode?, revokingRecoveryKey revocation: Revocation = .none,
        movingDeviceKeyTo place: DeviceKeySource? = nil, boundTo pcrs: [Int]? = nil,
        _ options: KeyChangeOptions = KeyChangeOptions()
    ) throws(KeychainFailure) -> KeyChangeOutcome {
        let registers = try KeyChangeRequest.registers(pcrs, at: place)
        let change = KeyChange(store: store, operation: Self.rotating, options: options)
        return try change.run { header in
            var next = KeyChangeRequest(
                passcode: header.lockState == nil ? nil : passcode, stretching: store.stretching,
                patience: store.timeLimit)
            next.keepsRecoveryKey = revocation == .none
            next.unlocks = false
            next.source = place
            next.registers = registers
            return next
        } openedBy: { (keys, header) throws(KeychainFailure) in
            if place == .keyFile { try keys.source.checkGivenFileIsElsewhere() }
            if case .only(let key) = revocation,
                try header.keybag.recoveryPublicKey?.bytes != key
            {
                throw .changedSinceQuestion(
                    "since the question, the recovery key was replaced or revoked",
                    during: Self.rotating)
            }
            return .protector(try keys.protector(of: header, passcode))
        }
    }

    private static let rotating = "change the keys"
}

/// Which recovery key a key change voids.
package enum Revocation: Hashable, Sendable {
    case none, any
    /// The one with this public half; the change fails if there is another one.
    case only([UInt8]?)
}

extension RowKinds {
    /// What exists only while a passcode is set: items of the class
    /// `whenPasscodeSetThisDeviceOnly`, and those that require the user's presence.
    static var needingPasscode: RowKinds {
        RowKinds([.whenPasscodeSetThisDeviceOnly], needing: PresencePair.allCases)
    }
}
