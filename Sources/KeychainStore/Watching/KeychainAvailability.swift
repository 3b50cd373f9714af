// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetLockState

/// Which items of a keychain can be read at one moment.
package struct KeychainAvailability: Hashable, Sendable {
    /// spec/keys-and-states.md §5. Unlocked, a keychain whose device key is gone is still
    /// `unlocked`.
    package var state: LockState
    /// The level recorded in the keychain; nil while there is none.
    package var level: ProtectionLevel?
    /// The scopes whose keys are open: all of them where there is no keychain or no passcode.
    package var openKeys: Set<KeyScope>
    /// Why the device key is not there, in the states `keyUnavailable` and `incomplete`.
    package var fault: KeychainFailure?
    /// Whether the process unlocks for itself alone.
    package var isOfProcess = false
    /// Whether a change of the state can be announced: not where files can only be read.
    package var isAnnounced = true
    /// When the keychain locks by itself; nil if it does not.
    var end: BootTime?

    /// Whether items of that class can be read, if there are any.
    package func isAvailable(_ protectionClass: ProtectionClass) -> Bool {
        openKeys.contains(protectionClass.scope)
    }

    /// How long the keychain stays unlocked, rounded up; nil if it has no end.
    package var remaining: Duration? { end?.remaining }
}
