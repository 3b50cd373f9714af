// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
package import ValetSealing

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
