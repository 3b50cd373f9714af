// SPDX-License-Identifier: Apache-2.0

internal import Sealing
internal import SecretMemory
internal import Synchronization

/// The opened keys of one keychain in this process alone: for services, and where the kernel
/// refuses keyrings.
///
/// The same rules as in the kernel. A child of fork begins before the first unlock.
final class ProcessLockState: Sendable {
    private let held = ProcessLocal<Held> { _ in Held() }
    /// Told of the period that what is held has.
    private let use: IdleUse

    init(use: IdleUse) { self.use = use }

    fileprivate struct State {
        var unlocked: KeyPayload?
        var lockedKeys: OpenedKeys?
        var unlockedKeys: OpenedKeys?
        /// Why nothing is unlocked.
        var cause = LockCause.notUnlocked
        /// Why the keys are here although they should be in the kernel.
        var fallback: LockStateError?
    }

    private final class Held: Sendable {
        let state = Mutex(State())
    }

    /// Why keys are here although they should be in the kernel; nil if none are.
    var fallback: LockStateError? { held.value.state.withLock { $0.fallback } }

    /// Whether there are keys here.
    var hasKeys: Bool { held.value.state.withLock { $0.lockedKeys != nil } }

    /// For how long what is unlocked here is; nil if nothing is.
    var period: UnlockPeriod? { held.value.state.withLock { $0.unlocked?.period } }

    /// The state at this moment.
    func current(expecting marks: [EpochMark], now: () -> BootTime) -> LockReading {
        held.value.state.withLock { state in
            if let unlocked = state.unlocked, let keys = state.unlockedKeys {
                if unlocked.period.hasEnded(at: now()) {
                    state.lock(because: .deadlinePassed)
                } else if keys.contains(marks) {
                    return .unlocked(keys)
                }
            }
            let cause = state.unlocked == nil ? state.cause : .otherEpoch
            guard let keys = state.lockedKeys, keys.contains(marks) else {
                return .beforeFirstUnlock(cause)
            }
            return .locked(keys, cause)
        }
    }

    /// Whether `keys` are those that are held, and still good.
    func isUnlocked(with keys: OpenedKeys, now: () -> BootTime) -> Bool {
        held.value.state.withLock { state in
            guard state.unlockedKeys === keys, let deadline = state.unlocked?.deadline else {
                return state.unlockedKeys === keys
            }
            return now() < deadline
        }
    }

    /// Unlocks.
    ///
    /// - Parameter fallback: Why the keys could not be put into the kernel.
    func publish(
        firstUnlock: KeyPayload, unlocked: KeyPayload, fallback: LockStateError? = nil
    ) throws(LockStateError) {
        let lockedKeys = try OpenedKeys(firstUnlock: firstUnlock, unlocked: nil)
        let unlockedKeys = try OpenedKeys(firstUnlock: firstUnlock, unlocked: unlocked)
        held.value.state.withLock { state in
            state = State(
                unlocked: unlocked, lockedKeys: lockedKeys, unlockedKeys: unlockedKeys,
                fallback: fallback)
        }
        use.follow(unlocked.period)
    }

    /// Keeps the keys that stay while the keychain is locked; it stays locked.
    ///
    /// - Parameter fallback: Why the keys could not be put into the kernel.
    func publish(firstUnlock: KeyPayload, fallback: LockStateError) throws(LockStateError) {
        let lockedKeys = try OpenedKeys(firstUnlock: firstUnlock, unlocked: nil)
        held.value.state.withLock { $0 = State(lockedKeys: lockedKeys, fallback: fallback) }
    }

    /// Puts keys in the place of those that stay while the keychain is locked; it stays locked.
    ///
    /// - Throws: ``LockStateError/Code/notUnlocked`` if there are none.
    func update(firstUnlock: KeyPayload) throws(LockStateError) {
        let lockedKeys = try OpenedKeys(firstUnlock: firstUnlock, unlocked: nil)
        try held.value.state.withLock { state throws(LockStateError) in
            guard state.lockedKeys != nil else {
                throw LockStateError(.notUnlocked, during: .update)
            }
            state = State(
                lockedKeys: lockedKeys, cause: state.cause,
                fallback: state.fallback)
        }
    }

    /// Makes the time longer that is left, after a use; does nothing once it is over.
    func renew(now: BootTime) {
        let period: UnlockPeriod? = held.value.state.withLock { state in
            guard let unlocked = state.unlocked, !unlocked.period.hasEnded(at: now) else {
                return nil
            }
            let renewed = unlocked.lasting(unlocked.period.renewed(at: now))
            state.unlocked = renewed
            return renewed.period
        }
        use.follow(period)
    }

    /// Changes the keys that are held while the keychain stays unlocked.
    ///
    /// - Parameter change: Makes the new payloads from the one that is held.
    /// - Throws: ``LockStateError/Code/notUnlocked`` if the keychain is not unlocked.
    func update(
        now: BootTime,
        _ change: (_ unlocked: KeyPayload) throws(LockStateError) -> (KeyPayload, KeyPayload)
    ) throws(LockStateError) {
        try held.value.state.withLock { state throws(LockStateError) in
            guard let unlocked = state.unlocked,
                !unlocked.period.hasEnded(at: now)
            else { throw LockStateError(.notUnlocked, during: .update) }
            let (first, second) = try change(unlocked)
            state = State(
                unlocked: second,
                lockedKeys: try OpenedKeys(firstUnlock: first, unlocked: nil),
                unlockedKeys: try OpenedKeys(firstUnlock: first, unlocked: second),
                fallback: state.fallback)
        }
    }

    /// Forgets keys of none but earlier epochs.
    func forget(before epoch: Epoch) {
        held.value.state.withLock { state in
            if state.lockedKeys?.isOver(before: epoch) == true { state = State() }
        }
    }

    /// Locks; does nothing if nothing is unlocked.
    ///
    /// - Parameter all: Also takes the keys that stay from the first unlock on.
    func lock(all: Bool) {
        held.value.state.withLock { state in
            if all { state = State() } else { state.lock(because: .notUnlocked) }
        }
    }
}

extension ProcessLockState.State {
    fileprivate mutating func lock(because cause: LockCause) {
        unlocked = nil
        unlockedKeys = nil
        self.cause = cause
    }
}
