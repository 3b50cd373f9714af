// SPDX-License-Identifier: Apache-2.0

import ValetSystem

/// The state of a TPM, as it reports it: the count of wrong tries and two settings. `valet status`
/// and `valet doctor` show it.
package struct TPMStatus: Hashable, Sendable {
    /// The count of wrong tries.
    package let dictionaryAttack: DictionaryAttack
    /// Whether there is a storage root key at 0x81000001. Otherwise one is made for each use.
    package let hasPersistentStorageRootKey: Bool
    /// Whether the lockout authorization has a value. Without one, every user of the TPM can reset
    /// the count of wrong tries or change the limit: TPM 2.0 Library part 1, 19.8.
    package let hasLockoutAuthorization: Bool
}

/// A TPM's protection against guessing authorization values: TPM 2.0 Library part 1, 19.8.
package struct DictionaryAttack: Hashable, Sendable {
    /// The wrong tries that the TPM has not forgiven yet.
    package let failedTries: Int
    /// The number of wrong tries at which the TPM refuses all tries.
    package let limit: Int
    /// The time after which the TPM forgives one wrong try.
    package let recoveryInterval: Duration
    /// Whether the TPM says that it refuses tries now.
    let saysLockedOut: Bool

    /// How many wrong tries are left.
    package var triesLeft: Int { max(0, limit - failedTries) }

    /// Whether even the right value would be refused.
    package var isLockedOut: Bool { saysLockedOut || triesLeft == 0 }

    /// Whether fewer than half of the tries are left; others may need them.
    package var hasFewTriesLeft: Bool { 2 * triesLeft < limit }

    /// Refuses a try that cannot succeed, or could lock the TPM.
    ///
    /// - Throws: ``SystemError/Code/lockedOut``, and unless forced
    ///   ``SystemError/Code/tooFewTries``.
    func check(isForced: Bool, during operation: String) throws(SystemError) {
        guard !isLockedOut else {
            throw SystemError.tpm(.lockedOut(recoveryInterval), during: operation)
        }
        guard isForced || !hasFewTriesLeft else {
            throw SystemError.tpm(.tooFewTries(left: triesLeft, of: limit), during: operation)
        }
    }
}
