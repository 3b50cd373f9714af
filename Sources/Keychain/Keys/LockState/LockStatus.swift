// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// Whether a keychain with a passcode is unlocked, and which keys are open:
/// spec/keys-and-states.md §5.
package enum LockStatus: Sendable {
    /// State U: the keys of all classes are open.
    case unlocked(OpenedKeys)
    /// State L: only the keys of the scope `afterFirstUnlock` are open.
    case locked(OpenedKeys, LockCause)
    /// State B: no key is open.
    case beforeFirstUnlock(LockCause)
    /// The state could not be determined: neither "locked" nor "unlocked" is known to be true.
    case unknown(KeychainFailure)

    /// Why not all keys are open; nil if they are, or if the state is unknown.
    package var cause: LockCause? {
        switch self {
        case .locked(_, let cause), .beforeFirstUnlock(let cause): cause
        case .unlocked, .unknown: nil
        }
    }

    /// The open keys; nil if none are.
    package var keys: OpenedKeys? {
        switch self {
        case .unlocked(let keys), .locked(let keys, _): keys
        case .beforeFirstUnlock, .unknown: nil
        }
    }
}

/// Why the keys of the scope `whileUnlocked` are not open.
package enum LockCause: Hashable, Sendable {
    /// The keychain was not unlocked, or was locked again.
    case notUnlocked
    /// The period of the unlock is over.
    case deadlinePassed
    /// The published keys are of another epoch: the database was changed or restored.
    case otherEpoch
    /// The published keys are invalid: another program changed them, or a newer version made them.
    case invalid(KeychainFailure)
    /// The keys of the scope `afterFirstUnlock` were lost, so all keys count as lost.
    case firstUnlockKeysLost
    /// The kernel gives no keys here, for this reason, and this process has not unlocked.
    case kernelRefuses(KeychainFailure)

    /// One lower-case line, for people.
    package var explanation: String {
        switch self {
        case .notUnlocked: "the keychain is locked"
        case .deadlinePassed: "the unlock has expired"
        case .otherEpoch: "the keychain's keys have changed since it was unlocked"
        case .invalid(let error): "the keychain is locked: \(error)"
        case .firstUnlockKeysLost: "the keychain is locked: its keys were removed from memory"
        case .kernelRefuses: "the keychain is locked, and each process unlocks it for itself here"
        }
    }
}

/// The open keys: of one epoch, or of two during a change of keys.
package final class OpenedKeys: Sendable {
    /// In rising order.
    package let epochs: [EpochKeys]

    /// The keys of `epoch`; nil if they are not open.
    package func keys(of epoch: Epoch) -> EpochKeys? {
        epochs.first { $0.keybag.epoch == epoch }
    }

    /// Whether the keys of all these epochs are open.
    package func contains(_ marks: [EpochMark]) -> Bool {
        for mark in marks {
            guard let found = keys(of: mark.epoch), found.digest == mark.digest else {
                return false
            }
        }
        return true
    }

    /// Whether all of them belong to epochs before `epoch`.
    func isOver(before epoch: Epoch) -> Bool {
        epochs.allSatisfy { $0.keybag.epoch < epoch }
    }

    /// Combines the keys that two payloads have of the same epochs.
    ///
    /// - Parameter unlocked: Nil while the keychain is locked.
    init(firstUnlock: KeyPayload, unlocked: KeyPayload?) throws(KeychainFailure) {
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
    /// The keys of this epoch, with those of `more` while the keychain is unlocked.
    fileprivate func opened(
        _ keychainID: KeychainID, and more: KeyPayload.Part?
    ) throws(KeychainFailure) -> EpochKeys {
        switch index {
        case .some(let index):
            var secrets = OpenedSecrets(firstUnlockSync: SyncSecret.copy(of: sync))
            if let more {
                secrets.person = AgreementSecret.copy(of: more.person)
                secrets.unlockedSync = SyncSecret.copy(of: more.sync)
            }
            let keybag = UnlockedKeybag(
                keychainID: keychainID, epoch: mark.epoch, index: index.copied(),
                classes: classes + (more?.classes ?? []), secrets)
            return EpochKeys(keybag, digest: mark.digest)
        case .none: throw KeychainFailure(.payloadDamaged, during: .parse)
        }
    }
}

/// The opened keys of one epoch, with the digest that identifies it.
package struct EpochKeys: Sendable {
    /// The keys: of all classes while unlocked, otherwise of the scope `afterFirstUnlock`.
    package let keybag: UnlockedKeybag
    /// The digest of the keybag with the settings beside it, as the database has them.
    package let digest: Digest

    package init(_ keybag: UnlockedKeybag, digest: Digest) {
        self.keybag = keybag
        self.digest = digest
    }

    package var mark: EpochMark { EpochMark(epoch: keybag.epoch, digest: digest) }
}

/// The identity of an epoch of keys.
package struct EpochMark: Hashable, Sendable {
    package let epoch: Epoch
    /// The digest of its keybag with the settings beside it, as the database has them.
    package let digest: Digest

    package init(epoch: Epoch, digest: Digest) {
        self.epoch = epoch
        self.digest = digest
    }
}
