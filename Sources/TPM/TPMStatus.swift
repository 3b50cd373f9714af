// SPDX-License-Identifier: Apache-2.0

/// What a TPM says about itself.
package struct TPMStatus: Hashable, Sendable {
    /// How it stands with wrong tries.
    package let dictionaryAttack: DictionaryAttack
    /// Whether a storage root key is kept at 0x81000001; else it is made for each use.
    package let hasPersistentStorageRootKey: Bool
    /// Whether the lockout authorization has a value. Without one anybody who may use the TPM can
    /// reset the count of wrong tries, or change the limit: TPM 2.0 Library part 1, 19.8.
    package let hasLockoutAuthorization: Bool
}

/// How a TPM stands with wrong authorization values: TPM 2.0 Library part 1, 19.8.
package struct DictionaryAttack: Hashable, Sendable {
    /// Wrong tries that are not forgiven yet.
    package let failedTries: Int
    /// At how many the TPM takes no more.
    package let limit: Int
    /// After how long it forgives one.
    package let recoveryInterval: Duration
    /// Whether it says that it takes none now.
    let saysLockedOut: Bool

    /// How many wrong tries are left.
    package var triesLeft: Int { max(0, limit - failedTries) }

    /// Whether the right value, too, would be refused.
    package var isLockedOut: Bool { saysLockedOut || triesLeft == 0 }

    /// Whether fewer than half of the tries are left, which somebody else may need.
    package var hasFewTriesLeft: Bool { 2 * triesLeft < limit }

    /// Refuses what would be in vain, or could lock the TPM.
    ///
    /// - Throws: ``TPMError/Code/lockedOut(_:)``, and unless forced
    ///   ``TPMError/Code/tooFewTries(left:of:)``.
    func check(isForced: Bool, during operation: String) throws(TPMError) {
        guard !isLockedOut else {
            throw TPMError(.lockedOut(recoveryInterval), during: operation)
        }
        guard isForced || !hasFewTriesLeft else {
            throw TPMError(.tooFewTries(left: triesLeft, of: limit), during: operation)
        }
    }
}
