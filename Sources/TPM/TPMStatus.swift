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
