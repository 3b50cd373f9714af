// SPDX-License-Identifier: Apache-2.0

package import ValetKeybag
package import ValetSealing

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

/// The keys that are open: of one epoch, or of two while one gives way to the next.
package final class OpenedKeys: Sendable {
    /// In rising order.
    package let epochs: [EpochKeys]

    /// The keys of `epoch`; nil if they are not here.
    package func keys(of epoch: Epoch) -> EpochKeys? {
        epochs.first { $0.keybag.epoch == epoch }
    }

    /// Whether the keys of all these epochs are here.
    package func contains(_ marks: [EpochMark]) -> Bool {
        for mark in marks {
            guard let found = keys(of: mark.epoch), found.digest == mark.digest else {
                return false
            }
        }
        return true
    }

    /// Whether all of them are of earlier epochs than `epoch`.
    func isOver(before epoch: Epoch) -> Bool {
        epochs.allSatisfy { $0.keybag.epoch < epoch }
    }

    /// Puts together what the two payloads hold of the same epochs.
    ///
    /// - Parameter unlocked: Nil while the keychain is locked.
    init(firstUnlock: KeyPayload, unlocked: KeyPayload?) throws(LockStateError) {
        var epochs: [EpochKeys] = []
        for first in firstUnlock.epochs {
            let more = unlocked?.epochs.first { $0.mark == first.mark }
            guard unlocked == nil || more != nil else { continue }
            epochs.append(try first.opened(firstUnlock.keychainID, and: more))
        }
        self.epochs = epochs
    }
}

extension KeyPayload.Part {
    /// The keys of this epoch, with `more` of them while the keychain is unlocked.
    fileprivate func opened(
        _ keychainID: KeychainID, and more: KeyPayload.Part?
    ) throws(LockStateError) -> EpochKeys {
        switch index {
        case .some(let index):
            EpochKeys(
                UnlockedKeybag(
                    keychainID: keychainID, epoch: mark.epoch, index: try index.copied(),
                    classes: classes + (more?.classes ?? []),
                    person: try more?.copiedPerson()),
                digest: mark.digest)
        case .none: throw LockStateError(.malformed, during: .parse)
        }
    }
}

/// The opened keys of one epoch, with what the epoch is recognised by.
package struct EpochKeys: Sendable {
    /// The keys: of all classes while unlocked, else of those that stay from the first unlock on.
    package let keybag: UnlockedKeybag
    /// The digest of the keybag with the settings beside it, as the database has them.
    package let digest: Digest

    /// Puts the two together.
    package init(_ keybag: UnlockedKeybag, digest: Digest) {
        self.keybag = keybag
        self.digest = digest
    }

    /// What the epoch is recognised by.
    package var mark: EpochMark { EpochMark(epoch: keybag.epoch, digest: digest) }
}

/// What an epoch of keys is recognised by.
package struct EpochMark: Hashable, Sendable {
    /// The number of the epoch.
    package let epoch: Epoch
    /// The digest of its keybag with the settings beside it, as the database has them.
    package let digest: Digest

    /// Names an epoch.
    package init(epoch: Epoch, digest: Digest) {
        self.epoch = epoch
        self.digest = digest
    }
}
