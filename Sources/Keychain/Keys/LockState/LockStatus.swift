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

/// The open keys of a keychain: of all classes while unlocked, otherwise of the scope
/// `afterFirstUnlock`.
package final class OpenedKeys: Sendable {
    package let keybag: UnlockedKeybag
    /// Names the epoch of the keys.
    package let mark: EpochMark

    /// - Parameter digest: The digest of the keybag with the settings beside it, as they are in the
    ///   database.
    package init(_ keybag: UnlockedKeybag, digest: Digest) {
        self.keybag = keybag
        mark = EpochMark(epoch: keybag.epoch, digest: digest)
    }

    /// Combines the keys of two payloads of one epoch.
    ///
    /// - Parameter unlocked: Nil while the keychain is locked.
    /// - Throws: ``KeychainFailure``: `wrongKeys` for payloads of two epochs, `payloadDamaged`
    ///   without an index key.
    convenience init(firstUnlock: KeyPayload, unlocked: KeyPayload?) throws(KeychainFailure) {
        let (first, more) = (firstUnlock.keys, unlocked?.keys)
        guard unlocked == nil || unlocked?.mark == firstUnlock.mark else {
            throw KeychainFailure(.wrongKeys, during: .parse)
        }
        switch first.index {
        case .some(let index):
            var secrets = OpenedSecrets(firstUnlockSync: SyncSecret.copy(of: first.sync))
            if let more {
                secrets.person = AgreementSecret.copy(of: more.person)
                secrets.unlockedSync = SyncSecret.copy(of: more.sync)
            }
            let keybag = UnlockedKeybag(
                keychainID: firstUnlock.keychainID, epoch: firstUnlock.mark.epoch,
                index: index.copied(), classes: first.classes + (more?.classes ?? []), secrets)
            self.init(keybag, digest: firstUnlock.mark.digest)
        case .none: throw KeychainFailure(.payloadDamaged, during: .parse)
        }
    }
}

extension OpenedKeys {
    /// The keys that stay open after a lock.
    ///
    /// - Throws: ``KeychainFailure``: `wrongKeys` unless they belong to this keychain.
    func ofFirstUnlock(of keychainID: KeychainID) throws(KeychainFailure) -> OpenedKeys {
        let payload = try KeyPayload(
            .afterFirstUnlock, of: keychainID, from: self, period: .unlimited)
        return try OpenedKeys(firstUnlock: payload, unlocked: nil)
    }
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
