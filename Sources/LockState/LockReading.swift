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

    /// Why not all keys are open; nil if they are, or that is not known.
    package var cause: LockCause? {
        switch self {
        case .locked(_, let cause), .beforeFirstUnlock(let cause): cause
        case .unlocked, .unknown: nil
        }
    }

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
    /// Something else lies where the keys should be: somebody changed it, or a newer version made
    /// it.
    case invalid(LockStateError)
    /// The keys that stay from the first unlock on were lost, and so everything counts as lost.
    case firstUnlockKeysLost
    /// There are no kernel keys here (the error says why), and this process has not unlocked.
    case kernelRefuses(LockStateError)

    /// One lower-case line, for people.
    package var explanation: String {
        switch self {
        case .notUnlocked: "the keychain is locked"
        case .deadlinePassed: "the time that the keychain was unlocked for is over"
        case .otherEpoch: "the keychain's keys have changed since it was unlocked"
        case .invalid(let error): "the keychain is locked: \(error)"
        case .firstUnlockKeysLost: "the keychain is locked: its keys were removed from memory"
        case .kernelRefuses: "the keychain is locked, and each process unlocks it for itself here"
        }
    }
}
