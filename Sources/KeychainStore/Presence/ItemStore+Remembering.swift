// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSystem

extension ItemStore {
    /// Whether a proof is of this keychain's present keys. After a change of keys it is not, and
    /// its holder asks anew. Returns true if the keychain is unreadable.
    package func isCurrent(_ proof: PresenceProof) -> Bool {
        let operation = "authenticate"
        let isCurrent = try? withEngineIfThere(operation, creating: false) {
            (engine) throws(KeychainFailure) in
            let facts = try engine.readFacts(operation, Deadline(after: timeLimit))
            return proof.keys.contains {
                $0.keychainID == facts.settings.keychainID && $0.epoch == facts.newest.epoch
            }
        }
        return isCurrent ?? true
    }
}
