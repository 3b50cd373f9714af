// SPDX-License-Identifier: Apache-2.0

internal import Keybag
package import Sealing

/// The lock state of one keychain with a passcode; safe to use from any thread.
///
/// Unlocks that may meet those of other processes belong under the lock of writers: two at once are
/// in no order otherwise.
package final class LockStateStore: Sendable {
    /// The keychain.
    package let keychainID: KeychainID
    private let chosen: LockStateProvider
    private let now: @Sendable () -> BootTime
    private let kernel: KernelLockState
    private let process = ProcessLockState()

    /// Touches nothing yet.
    package init(
        keychainID: KeychainID, provider: LockStateProvider,
        now: @escaping @Sendable () -> BootTime = { BootTime.now }
    ) {
        self.keychainID = keychainID
        self.now = now
        chosen = provider
        kernel = KernelLockState(keychainID: keychainID)
    }

    /// Where the keys lie: another place than was chosen once the kernel had to be avoided.
    package var provider: LockStateProvider {
        guard let fallback = process.fallback else { return chosen }
        return LockStateProvider(.process, "\(fallback)")
    }

    /// The state at this moment.
    ///
    /// While unlocked, and once it was read, this is one system call on one key and allocates
    /// nothing; a locked answer is two. Keys past their deadline are revoked by whoever sees them.
    ///
    /// - Parameter marks: The epochs that the database has, one or two; keys that do not belong to
    ///   all of them are not believed.
    package func current(expecting marks: [EpochMark]) -> LockReading {
        guard chosen.place == .kernel else { return process.current(expecting: marks, now: now) }
        if process.fallback != nil {
            let own = process.current(expecting: marks, now: now)
            if case .unlocked = own { return own }
            return better(kernel.current(expecting: marks, now: now), own)
        }
        let reading = kernel.current(expecting: marks, now: now)
        guard case .unknown(let error) = reading, error.code == .refused else { return reading }
        return .beforeFirstUnlock(.kernelRefuses(error))
    }

    /// Until when the keychain is unlocked, as far as ``current(expecting:)`` saw it last; nil for
    /// no end, and while it is locked.
    package var unlockedUntil: BootTime? {
        let isElsewhere = chosen.place == .kernel && process.fallback == nil
        return isElsewhere ? kernel.remembered?.unlocked?.payload.deadline : process.deadline
    }

    /// Whether `keys`, which ``current(expecting:)`` gave, are still those of the keychain, and it
    /// is unlocked: what every read asks. False is no answer: ask for the state.
    ///
    /// One system call in each millisecond: who locks waits for as long before it says that it has
    /// (docs/decisions/0013-kernel-keys.md).
    package func isUnlocked(with keys: OpenedKeys) -> Bool {
        guard chosen.place == .kernel else { return process.isUnlocked(with: keys, now: now) }
        return kernel.isUnlocked(with: keys, now: now)
    }

    /// What the kernel says, unless this process knows of more keys.
    private func better(_ shared: LockReading, _ own: LockReading) -> LockReading {
        switch shared {
        case .unlocked, .locked: shared
        case .beforeFirstUnlock: own
        case .unknown(let error): error.code == .refused ? own : shared
        }
    }

    /// Unlocks: publishes the opened keys of one or two epochs, in rising order, until `deadline`.
    ///
    /// Replaces what was published before, and its deadline. Where the kernel has no room or
    /// refuses, the keys stay in this process; ``provider`` tells.
    ///
    /// - Throws: ``LockStateError/Code/wrongKeys`` for keys that are not of this keychain,
    ///   ``LockStateError/Code/other``.
    package func publish(
        _ epochs: [EpochKeys], until deadline: BootTime?
    ) throws(LockStateError) {
        let (firstUnlock, unlocked) = try payloads(epochs, deadline)
        guard chosen.place == .kernel else {
            try process.publish(firstUnlock: firstUnlock, unlocked: unlocked)
            return
        }
        do throws(LockStateError) {
            try kernel.publish([firstUnlock, unlocked], now: now())
            process.lock(all: true)
        } catch {
            guard error.code == .quotaExceeded || error.code == .refused else { throw error }
            try process.publish(firstUnlock: firstUnlock, unlocked: unlocked, fallback: error)
        }
    }

    /// Replaces the published keys by those of other epochs while the keychain stays unlocked;
    /// never undoes a lock. The deadline stays as it is.
    ///
    /// - Throws: ``LockStateError/Code/notUnlocked`` if the keychain is not unlocked;
    ///   ``LockStateError/Code/wrongKeys``, `quotaExceeded`, `refused`, `other`.
    package func replaceKeys(with epochs: [EpochKeys]) throws(LockStateError) {
        try update { unlocked throws(LockStateError) in
            try payloads(epochs, unlocked.deadline)
        }
    }

    /// Replaces the keys that stay from the first unlock on, and unlocks nothing.
    ///
    /// - Throws: ``LockStateError/Code/wrongKeys``, `quotaExceeded`, `refused`, `other`.
    package func replaceFirstUnlockKeys(with epochs: [EpochKeys]) throws(LockStateError) {
        let (firstUnlock, _) = try payloads(epochs, nil)
        guard chosen.place == .kernel, process.fallback == nil else {
            return try process.publish(firstUnlock: firstUnlock)
        }
        try kernel.publish([firstUnlock], now: now())
    }

    /// Has the keychain stay unlocked until `deadline`, for ever if that is nil; never undoes a
    /// lock, and never brings the end nearer: to do that, unlock anew.
    ///
    /// - Throws: ``LockStateError/Code/notUnlocked`` if the keychain is not unlocked;
    ///   ``LockStateError/Code/refused``, `other`.
    package func renewDeadline(_ deadline: BootTime?) throws(LockStateError) {
        try update { unlocked throws(LockStateError) in
            let later = unlocked.deadline.flatMap { old in deadline.map { max(old, $0) } }
            return (nil, unlocked.renewed(until: later))
        }
    }

    /// Locks: takes the keys that need an unlocked keychain away from every process that shares
    /// them. Does nothing if it is locked. Takes a millisecond, after which nobody uses them.
    ///
    /// - Parameter all: Also takes the keys that stay from the first unlock on, as a reboot does.
    /// - Throws: ``LockStateError/Code/refused``, `other`: others may still have the keys.
    package func lock(all: Bool) throws(LockStateError) {
        let fallback = process.fallback
        process.lock(all: all)
        guard chosen.place == .kernel else { return }
        do throws(LockStateError) {
            try kernel.end(.whileUnlocked)
            if all { try kernel.end(.afterFirstUnlock) }
            kernel.awaitChecks()
        } catch {
            // Nothing of ours is where nothing could be put.
            guard error.code == .refused, fallback?.code == .refused else { throw error }
        }
    }

    /// Lets go of what this process remembers or keeps of epochs before `epoch`, which are over;
    /// others keep theirs.
    package func forget(before epoch: Epoch) {
        kernel.forget(before: epoch)
        process.forget(before: epoch)
    }

    private func payloads(
        _ epochs: [EpochKeys], _ deadline: BootTime?
    ) throws(LockStateError) -> (KeyPayload, KeyPayload) {
        (
            try KeyPayload(.afterFirstUnlock, of: keychainID, from: epochs, deadline: nil),
            try KeyPayload(.whileUnlocked, of: keychainID, from: epochs, deadline: deadline)
        )
    }

    private func update(
        _ change: (_ unlocked: KeyPayload) throws(LockStateError) -> (KeyPayload?, KeyPayload)
    ) throws(LockStateError) {
        guard chosen.place == .kernel, process.fallback == nil else {
            try process.update(now: now()) { first, unlocked throws(LockStateError) in
                let (newFirst, newUnlocked) = try change(unlocked)
                return (newFirst ?? first, newUnlocked)
            }
            return
        }
        switch kernel.lookUp(.whileUnlocked, [], now) {
        case .failed(let error): throw error
        case .absent: throw LockStateError(.notUnlocked, during: .update)
        case .found(let found):
            let (firstUnlock, unlocked) = try change(found.payload)
            try kernel.update(firstUnlock: firstUnlock, unlocked: unlocked, now: now())
        }
    }
}
