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
    let now: @Sendable () -> BootTime
    let kernel: KernelLockState
    let process: ProcessLockState
    private let use = IdleUse()

    /// Touches nothing yet.
    package init(
        keychainID: KeychainID, provider: LockStateProvider,
        now: @escaping @Sendable () -> BootTime = { BootTime.now }
    ) {
        self.keychainID = keychainID
        self.now = now
        chosen = provider
        kernel = KernelLockState(keychainID: keychainID, use: use)
        process = ProcessLockState(use: use)
    }

    /// Where the keys lie: another place than was chosen once the kernel had to be avoided.
    package var provider: LockStateProvider {
        guard let fallback = process.fallback else { return chosen }
        return LockStateProvider(.process, "\(fallback)")
    }

    /// Why opened keys are in this process alone although others were to share them; nil if they
    /// do, or none are open.
    package var fallback: LockStateError? { process.fallback }

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

    /// For how long the keychain is unlocked, as far as ``current(expecting:)`` saw it last: others
    /// may have used it since. Nil while it is locked.
    package var unlockPeriod: UnlockPeriod? {
        isShared ? kernel.remembered?.unlocked?.payload.period : process.period
    }

    /// Whether the keys lie where other processes change them, too.
    package var isShared: Bool { chosen.place == .kernel && process.fallback == nil }

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

    /// Unlocks: publishes the opened keys of one or two epochs, in rising order, within
    /// `limits`.
    ///
    /// Replaces what was published before, and its limits. Where the kernel has no room or
    /// refuses, the keys stay in this process, and what was in the kernel is gone; ``provider``
    /// tells.
    ///
    /// - Throws: ``LockStateError/Code/wrongKeys`` for keys that are not of this keychain,
    ///   ``LockStateError/Code/other``.
    package func publish(
        _ epochs: [EpochKeys], within limits: UnlockLimits
    ) throws(LockStateError) {
        let period = UnlockPeriod(limits, from: now())
        let (firstUnlock, unlocked) = try payloads(epochs, period)
        guard chosen.place == .kernel else {
            try process.publish(firstUnlock: firstUnlock, unlocked: unlocked)
            return
        }
        do throws(LockStateError) {
            try kernel.publish([firstUnlock, unlocked], now: now())
            process.lock(all: true)
        } catch {
            try moveToProcess(because: error) { () throws(LockStateError) in
                try process.publish(firstUnlock: firstUnlock, unlocked: unlocked, fallback: error)
            }
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
            KernelLockState.awaitChecks()
        } catch {
            // Nothing of ours is where nothing could be put.
            guard error.code == .refused, fallback?.code == .refused else { throw error }
        }
    }

    /// Whether there are opened keys of the keychain, of whatever epoch, here or in the kernel.
    ///
    /// - Throws: ``LockStateError/Code/other``.
    package func hasKeys() throws(LockStateError) -> Bool {
        if process.hasKeys { return true }
        guard chosen.place == .kernel else { return false }
        do throws(LockStateError) {
            return try kernel.hasKeys()
        } catch {
            guard error.code == .refused else { throw error }
            return false
        }
    }

    /// Locks every keychain whose keys the kernel has for this user, known to this process or not.
    /// Takes a millisecond, after which nobody uses them.
    ///
    /// - Parameter all: Also takes the keys that stay from the first unlock on.
    /// - Throws: ``LockStateError/Code/other``: others may still have keys.
    package static func lockEveryKeychain(all: Bool) throws(LockStateError) {
        do throws(LockStateError) {
            try KernelLockState.endEveryKeychain(
                all ? [.whileUnlocked, .afterFirstUnlock] : [.whileUnlocked])
        } catch {
            // Nothing of ours is where nothing can be put.
            guard error.code == .refused else { throw error }
        }
    }

    /// Lets go of what this process remembers or keeps of epochs before `epoch`, which are over;
    /// others keep theirs.
    package func forget(before epoch: Epoch) {
        kernel.forget(before: epoch)
        process.forget(before: epoch)
    }

    func payloads(
        _ epochs: [EpochKeys], _ period: UnlockPeriod
    ) throws(LockStateError) -> (firstUnlock: KeyPayload, unlocked: KeyPayload) {
        (
            try KeyPayload(.afterFirstUnlock, of: keychainID, from: epochs, period: .unlimited),
            try KeyPayload(.whileUnlocked, of: keychainID, from: epochs, period: period)
        )
    }
}

/// Auto-lock: docs/decisions/0020-auto-lock.md.
extension LockStateStore {
    /// Notes that keys are used which are there only while the keychain is unlocked. Without
    /// idle time that is one comparison; with it, also a look at the clock.
    package func noteUse() { use.note(now) }

    /// Whether a use was noted that makes the time longer that is left: ``renew()`` is due.
    package var isRenewalDue: Bool { use.isDue }

    /// Makes the time longer that is left, if nobody has meanwhile; never undoes a lock, and never
    /// brings the end nearer.
    ///
    /// Where keys are shared the caller holds the lock of writers, so that nobody publishes other
    /// keys meanwhile.
    /// - Throws: ``LockStateError/Code/refused``, `other`.
    package func renew() throws(LockStateError) {
        if isShared { try kernel.renew(now) } else { process.renew(now: now()) }
    }

    /// Does without renewing for a sixty-fourth of the idle time, in which others are busy with the
    /// keys.
    package func postponeRenewal() {
        guard let idle = unlockPeriod?.limits.idleMilliseconds else { return use.follow(nil) }
        use.postpone(until: now().advanced(byMilliseconds: idle / 64 + 1))
    }

    /// Whether so much time has passed without use that a renewal is worth waiting for.
    package var isRenewalUrgent: Bool {
        guard let period = unlockPeriod, let deadline = period.deadline,
            let idle = period.limits.idleMilliseconds
        else { return false }
        return deadline <= now().advanced(byMilliseconds: idle / 2)
    }
}
