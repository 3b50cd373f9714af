// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
package import ValetKeychainModel
internal import ValetSealing
package import ValetSecretMemory
internal import ValetSystem

/// Answers that a command needs before it asks a person for more.
extension ItemStore {
    /// Makes sure that there is a keychain, and its device key.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain, `incomplete` and
    ///   `keyUnavailable` if its device key is not there, and what keeps it from being read.
    package func checkDeviceKey() throws(KeychainFailure) {
        let operation = "open the keychain"
        try withEngine(operation) { (engine) throws(KeychainFailure) in
            let facts = try engine.readFacts(operation, Deadline(after: timeLimit))
            _ = try engine.source.secret(of: facts, until: Deadline(after: timeLimit))
        }
    }

    /// Makes sure that a passcode is the one that is set; changes and publishes nothing. Takes as
    /// long as the passcode is stretched.
    ///
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a wrong one, `passcodeNotSet`,
    ///   `itemNotFound`, `incomplete`, `keyUnavailable`.
    package func check(_ passcode: KeychainPasscode) throws(KeychainFailure) {
        let operation = "check the passcode"
        try withEngine(operation) { (engine) throws(KeychainFailure) in
            let facts = try engine.readFacts(operation, Deadline(after: timeLimit))
            guard facts.lockState != nil else {
                throw KeychainFailure(
                    .passcodeNotSet, during: operation, message: "there is no passcode")
            }
            let protector = try engine.protector(of: facts, passcode, operation, timeLimit)
            _ = try translating(operation) { try facts.unlock(with: protector).count }
        }
    }

    /// Makes sure that a text is the keychain's recovery key; changes nothing.
    ///
    /// - Parameter text: What was typed from the paper.
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a text that is mistyped, for the
    ///   key of another keychain, and if there is no recovery key; `itemNotFound`.
    package func checkRecoveryKey(_ text: borrowing SecretBytes) throws(KeychainFailure) {
        let operation = "check the recovery key"
        let publicKey: PublicKey
        do throws(KeybagError) {
            publicKey = try text.withBytes { bytes throws(KeybagError) in
                try RecoveryKey(parsing: bytes).publicKey
            }
        } catch {
            throw KeychainFailure(translating: error, during: operation)
        }
        try withEngine(operation) { (engine) throws(KeychainFailure) in
            let facts = try engine.readFacts(operation, Deadline(after: timeLimit))
            let known = try translating(operation) { try facts.newest.recoveryPublicKey }
            guard known == publicKey else {
                throw KeychainFailure(
                    .authenticationFailed, during: operation,
                    message: known == nil
                        ? "there is no recovery key" : "the recovery key is another one's")
            }
        }
    }

    /// How many items there are only while a passcode is set: those of its class, and those that
    /// need a person.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain.
    package func itemsThatNeedPasscode() throws(KeychainFailure) -> Int {
        let operation = "count items"
        return try withEngine(operation) { (engine) throws(KeychainFailure) in
            try engine.rowCount(
                of: [RowKinds([.whenPasscodeSetThisDeviceOnly], needing: PresencePair.allCases)],
                operation, Deadline(after: timeLimit))
        }
    }
}
