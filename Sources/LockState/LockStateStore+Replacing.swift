// SPDX-License-Identifier: Apache-2.0

internal import Keybag

/// Other keys in the place of those that are open: docs/FORMAT.md §10. Nothing here unlocks.
extension LockStateStore {
    /// Replaces the published keys by those of other epochs while the keychain stays unlocked;
    /// never undoes a lock. Limits and deadline stay as they are.
    ///
    /// Where the kernel has no room for them or refuses, they stay in this process, and the
    /// keychain is as before its first unlock for others; ``provider`` tells.
    /// - Throws: ``LockStateError/Code/notUnlocked`` if the keychain is not unlocked (any more);
    ///   ``LockStateError/Code/wrongKeys``, `other`.
    package func replaceKeys(with epochs: [EpochKeys]) throws(LockStateError) {
        guard isShared else {
            try process.update(now: now()) { unlocked throws(LockStateError) in
                try payloads(epochs, unlocked.period)
            }
            return
        }
        switch kernel.lookUp(.whileUnlocked, [], now) {
        case .failed(let error): throw error
        case .absent: throw LockStateError(.notUnlocked, during: .update)
        case .found(let found):
            let (firstUnlock, unlocked) = try payloads(epochs, found.payload.period)
            do throws(LockStateError) {
                try kernel.update([firstUnlock, unlocked], now: now())
            } catch {
                let wasThere = try moveToProcess(because: error) { () throws(LockStateError) in
                    try process.publish(
                        firstUnlock: firstUnlock, unlocked: unlocked, fallback: error)
                }
                // A lock that came meanwhile holds.
                if !wasThere.contains(.afterFirstUnlock) { process.lock(all: true) }
                if !wasThere.contains(.whileUnlocked) { process.lock(all: false) }
            }
        }
    }

    /// Replaces the keys that stay from the first unlock on while the keychain is locked; never
    /// undoes a lock of all.
    ///
    /// Where the kernel has no room or refuses: as ``replaceKeys(with:)``.
    /// - Throws: ``LockStateError/Code/notUnlocked`` if the keychain was not unlocked since it was
    ///   locked with all; ``LockStateError/Code/wrongKeys``, `other`.
    package func replaceFirstUnlockKeys(with epochs: [EpochKeys]) throws(LockStateError) {
        let firstUnlock = try KeyPayload(
            .afterFirstUnlock, of: keychainID, from: epochs, period: .unlimited)
        guard isShared else { return try process.update(firstUnlock: firstUnlock) }
        do throws(LockStateError) {
            try kernel.update([firstUnlock], now: now())
        } catch {
            let wasThere = try moveToProcess(because: error) { () throws(LockStateError) in
                try process.publish(firstUnlock: firstUnlock, fallback: error)
            }
            if !wasThere.contains(.afterFirstUnlock) { process.lock(all: true) }
        }
    }

    /// Takes all keys out of the kernel, which has no room for those that are to take their place:
    /// to others they would be keys of an epoch that is over, or for another time.
    ///
    /// - Parameter publish: Puts the new keys into this process.
    /// - Returns: Of which scopes there were keys in the kernel.
    /// - Throws: `error` if it is not for want of room, or of the kernel's leave;
    ///   ``LockStateError/Code/other`` if others may still have the keys.
    @discardableResult
    func moveToProcess(
        because error: LockStateError, _ publish: () throws(LockStateError) -> Void
    ) throws(LockStateError) -> Set<KeyScope> {
        guard error.code == .quotaExceeded || error.code == .refused else { throw error }
        // First, so that no thread of this process finds nothing in between.
        try publish()
        do throws(LockStateError) {
            return try kernel.endAll()
        } catch let failure {
            // Nothing of ours is where nothing can be put.
            if failure.code == .refused, error.code == .refused { return Set(KeyScope.allCases) }
            process.lock(all: true)
            throw failure
        }
    }
}
