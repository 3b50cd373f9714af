// SPDX-License-Identifier: Apache-2.0

/// Whether a keychain with a passcode is unlocked, and what is open (keys and states, 1.5).
package enum LockReading: Sendable {
    /// U: the keys of all classes.
    case unlocked(OpenedKeys)
    /// L: only the keys that stay from the first unlock on.
    case locked(OpenedKeys, LockCause)
    /// B: no key at all.
    case beforeFirstUnlock(LockCause)
    /// It could not be found out: neither "locked" nor "unlocked" would be true.
    case unknown(LockStateError)

    /// What is open; nil if nothing is.
    package var keys: OpenedKeys? {
        switch self {
        case .unlocked(let keys), .locked(let keys, _): keys
        case .beforeFirstUnlock, .unknown: nil
        }
    }
}

/// Why the keys that a lock takes away are not there.
package enum LockCause: Hashable, Sendable {
    /// Nobody has unlocked the keychain, or somebody has locked it.
    case notUnlocked
    /// The time that it was unlocked for is over.
    case deadlinePassed
    /// The keys that are there are of another epoch: the database was changed or put back.
    case otherEpoch
    /// Something else lies where the keys should be: another keychain's, damaged, or newer.
    case invalid(LockStateError)
    /// The keys that stay from the first unlock on were lost, and so everything counts as lost.
    case firstUnlockKeysLost
    /// There are no kernel keys here (the error says why), and this process has not unlocked.
    case kernelRefuses(LockStateError)
}
