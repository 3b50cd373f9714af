// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetLockState
internal import ValetSealing

/// Keys that are published in a transaction that has not been committed: docs/FORMAT.md §4.4. All
/// of it under the lock of writers.
extension KeychainFacts {
    /// What is open; before the first unlock, if there is nothing to unlock.
    var lockReading: LockReading {
        lockState?.current(expecting: marks) ?? .beforeFirstUnlock(.notUnlocked)
    }

    /// Publishes the keys of these facts as far as those of `old` are: what is locked stays so, and
    /// what is unlocked keeps its limits.
    ///
    /// - Parameter opened: The keys, the newest first.
    func publishInPlace(of old: KeychainFacts, _ opened: [UnlockedKeybag]) throws(LockStateError) {
        try lockState?.replaceOpenKeys(expecting: old.marks, with: published(opened))
    }

    /// Publishes the keys of these facts and unlocks, without limits as an unlock without limits
    /// does; an unlocked keychain keeps its own.
    ///
    /// - Parameters:
    ///   - before: The ``lockReading`` of `old`.
    ///   - opened: The keys, the newest first.
    ///   - moment: From before the passcode was checked.
    func publishUnlocking(
        _ before: LockReading, of old: KeychainFacts, _ opened: [UnlockedKeybag],
        since moment: LockMoment?
    ) throws(LockStateError) {
        switch before {
        // A lock that comes now holds.
        case .unlocked: try publishInPlace(of: old, opened)
        case .locked, .beforeFirstUnlock, .unknown:
            try lockState?.publish(published(opened), within: .none, since: moment)
        }
    }

    /// Puts back what was published when these were the facts; a lock that came since holds.
    ///
    /// - Parameter before: The ``lockReading`` of that moment.
    func putBack(_ before: LockReading) throws(LockStateError) {
        let lockState = sharedLockState
        do throws(LockStateError) {
            switch before {
            case .unlocked(let opened):
                do throws(LockStateError) {
                    try lockState.replaceKeys(with: opened.epochs)
                } catch {
                    guard error.code == .notUnlocked else { throw error }
                    try lockState.replaceFirstUnlockKeys(with: opened.epochs)
                }
            case .locked(let opened, _):
                try lockState.lock(all: false)
                try lockState.replaceFirstUnlockKeys(with: opened.epochs)
            case .beforeFirstUnlock, .unknown: try lockState.lock(all: true)
            }
        } catch {
            guard error.code == .notUnlocked else { throw error }
        }
    }
}

extension LockStateStore {
    /// How often a lock can come between: from unlocked to locked, and from there to nothing. To
    /// unlock takes the lock of writers.
    private static let lockCount = 2

    /// Puts keys in the place of those that are open, of the same scope; unlocks nothing.
    ///
    /// - Parameter marks: The epochs of the keys that are to give way.
    func replaceOpenKeys(
        expecting marks: [EpochMark], with keys: [EpochKeys]
    ) throws(LockStateError) {
        for _ in 0...Self.lockCount {
            do throws(LockStateError) {
                switch current(expecting: marks) {
                case .unlocked: return try replaceKeys(with: keys)
                case .locked: return try replaceFirstUnlockKeys(with: keys)
                case .beforeFirstUnlock, .unknown: return
                }
            } catch {
                guard error.code == .notUnlocked else { throw error }
            }
        }
    }
}
