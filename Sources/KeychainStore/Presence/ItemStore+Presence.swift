// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
package import ValetKeychainModel
internal import ValetLockState
package import ValetSecretMemory
internal import ValetSystem

/// Proofs of what a person gave: spec/secitem.md §10.
extension ItemStore {
    private static let proving = "authenticate"
    private static let attemptCount = 3

    /// The proof that the passcode gives. Takes as long as the passcode is stretched;
    /// does not unlock the keychain.
    ///
    /// - Parameter typed: The bytes that were typed, without the end of the line; copied.
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a wrong passcode, after a pause
    ///   that grows; `passcodeNotSet`, `itemNotFound` if there is no keychain, `invalidRequest` for
    ///   no bytes or too many, `keyUnavailable`, `incomplete`, `timedOut`, `outOfMemory`.
    package func presenceProof(
        passcode typed: borrowing SecretBytes
    ) throws(KeychainFailure) -> PresenceProof {
        let passcode = try KeychainPasscode(typed.withBytes { SecretBytes(copying: $0) })
        for _ in 0..<Self.attemptCount {
            let proof = try withEngine(Self.proving) {
                (engine) throws(KeychainFailure) -> PresenceProof? in
                let facts = try engine.readFacts(Self.proving, Deadline(after: timeLimit))
                try facts.requirePasscode(Self.proving)
                var proof: PresenceProof?
                _ = try engine.unlessChanged(facts, timeLimit) {
                    () throws(KeychainFailure) in
                    proof = try engine.proof(of: facts, passcode, Self.proving, timeLimit)
                    return true
                }
                return proof
            }
            if let proof { return proof }
        }
        throw KeychainFailure(
            .timedOut, during: Self.proving, message: "the keys were changed again and again")
    }

    /// The proof of somebody whose finger has just matched. That it has is the caller's to know:
    /// nothing that a finger gives opens anything.
    ///
    /// - Parameter enrolment: What ``Authenticator``s say of the fingers that were enrolled then.
    /// - Throws: ``KeychainFailure``: `locked` unless the keychain is unlocked, `passcodeNotSet`,
    ///   `itemNotFound` if there is no keychain, `keyUnavailable`, `incomplete`, `timedOut`.
    package func presenceProof(
        fingerprint enrolment: [UInt8]
    ) throws(KeychainFailure) -> PresenceProof {
        let keys = try reading(Self.proving) { (engine, deadline) throws(KeychainFailure) in
            try engine.read(Self.proving, deadline) { (store, state) throws(KeychainFailure) in
                try state.facts.requirePasscode(Self.proving)
                return try translating(Self.proving) { try state.personKeys() }
            }
        }
        guard let keys else { throw KeychainFailure(.itemNotFound, during: Self.proving) }
        return PresenceProof(.fingerprint, enrolments: [enrolment], keys: keys)
    }
}

extension Engine {
    fileprivate func proof(
        of facts: KeychainFacts, _ passcode: KeychainPasscode, _ operation: String,
        _ patience: Duration
    ) throws(KeychainFailure) -> PresenceProof {
        let protector = try protector(of: facts, passcode, operation, patience)
        return try wrongPasscodes.counting { () throws(KeychainFailure) in
            try translating(operation) {
                try facts.proof(with: protector)
            }
        }
    }
}

extension KeychainFacts {
    /// Opens the presence pairs of all epochs.
    private func presenceKeys(
        with protector: borrowing Protector
    ) throws(KeybagError) -> [PresenceKeys] {
        var opened: [PresenceKeys] = []
        for keybag in keybags {
            opened.append(
                try keybag.presenceKeys(
                    with: protector, settings: settings.authenticatedBytes(of: keybag.epoch)))
        }
        return opened
    }

    /// The proof that `protector` gives.
    func proof(
        with protector: borrowing Protector
    ) throws(KeybagError) -> PresenceProof {
        PresenceProof(.passcode, keys: try presenceKeys(with: protector))
    }

    fileprivate func requirePasscode(_ operation: String) throws(KeychainFailure) {
        guard lockState == nil else { return }
        throw KeychainFailure(
            .passcodeNotSet, during: operation, message: "there is no passcode",
            hint: "set one with `valet passcode set`")
    }
}

extension KeychainState {
    /// The pairs `person` of all epochs.
    ///
    /// - Throws: ``RowFailure/locked``; ``KeybagError`` if a pair is not that of its keybag.
    fileprivate func personKeys() throws -> [PresenceKeys] {
        var opened: [PresenceKeys] = []
        for (epoch, keybag) in zip(epochs, facts.keybags) {
            guard try keybag.publicKey(of: .person) != nil else { continue }
            guard let keys = try keybag.personKeys(of: epoch.keys) else {
                throw RowFailure.locked
            }
            opened.append(keys)
        }
        return opened
    }

    /// The epochs, the newest first.
    private var epochs: [KeychainEpoch] { [newest] + (older.map { [$0] } ?? []) }
}
