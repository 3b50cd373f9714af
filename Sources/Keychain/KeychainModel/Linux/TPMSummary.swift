// SPDX-License-Identifier: Apache-2.0

/// The state of a TPM, as far as it matters to a keychain that is bound to it.
package struct TPMSummary: Hashable, Sendable {
    /// Whether the TPM stores its storage root key. If not, it makes the key for each use, which
    /// takes longer.
    package var hasPersistentStorageRootKey = false
    /// The number of wrong passcodes that are left before the TPM refuses all.
    package var triesLeft = 0
    /// The number of wrong passcodes that the TPM allows if none has been counted.
    package var tryLimit = 0
    /// The time after which the TPM forgives one wrong passcode.
    package var recoveryInterval = Duration.zero
    /// Whether the TPM would refuse even the right passcode.
    package var isLockedOut = false
    /// Whether the TPM's lockout authorization is empty. If so, an attacker who can start another
    /// system on the machine can reset the count of wrong passcodes.
    package var isLockoutResettable = false

    package init() {}
}
