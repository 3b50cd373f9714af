// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSystem
internal import ValetTPM

extension KeychainLocation {
    /// The path of the TPM's device, or of its simulator's socket.
    package var tpmPath: String { tpm.place.path }

    /// The state of the TPM that the keychain is bound to, or could be bound to.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable` if it is missing or cannot be used,
    ///   `timedOut`, `inputOutput`.
    package func tpmSummary(until deadline: Deadline) throws(KeychainFailure) -> TPMSummary {
        do {
            let status = try tpm.status(until: deadline)
            var summary = TPMSummary()
            summary.hasPersistentStorageRootKey = status.hasPersistentStorageRootKey
            summary.triesLeft = status.dictionaryAttack.triesLeft
            summary.tryLimit = status.dictionaryAttack.limit
            summary.recoveryInterval = status.dictionaryAttack.recoveryInterval
            summary.isLockedOut = status.dictionaryAttack.isLockedOut
            summary.isLockoutResettable = !status.hasLockoutAuthorization
            return summary
        } catch {
            throw KeychainFailure(ofTPM: error, during: "look at the TPM", path: tpmPath)
        }
    }
}
