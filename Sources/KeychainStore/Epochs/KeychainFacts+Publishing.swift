// SPDX-License-Identifier: Apache-2.0

internal import Keybag
internal import LockState
internal import Sealing

/// Keys that are published in a transaction that has not been committed: docs/FORMAT.md §4.4.
extension KeychainFacts {
    /// What is open; before the first unlock, if there is nothing to unlock.
    var lockReading: LockReading {
        lockState?.current(expecting: marks) ?? .beforeFirstUnlock(.notUnlocked)
    }

    /// Puts back what was published when these were the facts.
    ///
    /// - Parameters:
    ///   - before: The ``lockReading`` of that moment.
    ///   - keys: Gives all keys of these facts; nil if they cannot be had.
    func putBack(_ before: LockReading, _ keys: () throws -> [EpochKeys]?) throws {
        let lockState = lockState ?? LockStates.store(of: settings.keychainID)
        switch before {
        case .unlocked(let opened): try lockState.publishNow(opened.epochs)
        case .locked:
            guard let keys = try keys() else { return try lockState.lock(all: true) }
            try lockState.lock(all: false)
            try lockState.replaceFirstUnlockKeys(with: keys)
        case .beforeFirstUnlock, .unknown: try lockState.lock(all: true)
        }
    }
}

extension LockStateStore {
    /// Unlocks, or puts keys in the place of those that are open.
    func publishNow(_ keys: [EpochKeys]) throws(LockStateError) {
        do throws(LockStateError) {
            try replaceKeys(with: keys)
        } catch {
            guard error.code == .notUnlocked else { throw error }
            try publish(keys, within: .none)
        }
    }
}
