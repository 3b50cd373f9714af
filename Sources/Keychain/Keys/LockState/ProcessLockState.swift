// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The opened keys of one keychain in this process alone: for services, and where keys cannot be
/// shared.
///
/// A lock that ends shared keys also ends these, because both are bound to the marks in the
/// keychain's folder. A child of `fork` starts in the state before the first unlock.
final class ProcessLockState: Sendable {
    private let held = ProcessLocal<Held> { _ in Held() }
    private let page: PageWatch
    /// Follows the period of the stored keys.
    private let use: IdleUse

    init(page: PageWatch, use: IdleUse) {
        self.page = page
        self.use = use
    }

    fileprivate struct State {
        var unlocked: KeyPayload?
        var lockedKeys: OpenedKeys?
        var unlockedKeys: OpenedKeys?
        /// The marks from before the passcode was checked; nil if the folder had none.
        var marks: LockMarks?
        /// When ``marks`` were last compared with the marks in the folder.
        var lastCheck: BootTime?
        /// Why nothing is unlocked.
        var cause = LockCause.notUnlocked
        /// Why the keys could not be shared.
        var fallback: KeychainFailure?
    }

    private final class Held: Sendable {
        let state = Lock(State())
    }

    /// Why the stored keys could not be shared; nil if none are stored.
    var fallback: KeychainFailure? { held.value.state.withLock { $0.fallback } }

    var hasKeys: Bool { held.value.state.withLock { $0.lockedKeys != nil } }

    /// The period of the stored keys; nil if they are not unlocked.
    var period: UnlockPeriod? { held.value.state.withLock { $0.unlocked?.period } }

    func current(expecting mark: EpochMark, now: () -> BootTime) -> LockStatus {
        do {
            return try followingLocks(at: .now) { state in
                if let unlocked = state.unlocked, let keys = state.unlockedKeys {
                    if unlocked.period.hasEnded(at: now()) {
                        state.lock(because: .deadlinePassed)
                    } else if keys.mark == mark {
                        return .unlocked(keys)
                    }
                }
                let cause = state.unlocked == nil ? state.cause : .otherEpoch
                guard let keys = state.lockedKeys, keys.mark == mark else {
                    return .beforeFirstUnlock(cause)
                }
                return .locked(keys, cause)
            }
        } catch {
            return .unknown(error)
        }
    }

    /// Drops the keys that a lock has ended since they were opened, and calls `body` on the
    /// remaining state under the same mutex.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput` if the marks cannot be read.
    private func followingLocks<R>(
        at moment: BootTime, _ body: (inout State) -> R
    ) throws(KeychainFailure) -> R {
        while true {
            let (hasKeys, known) = held.value.state.withLock { ($0.lockedKeys != nil, $0.marks) }
            let marks = hasKeys ? try page.marks(at: moment) : nil
            let result: R? = held.value.state.withLock { state in
                // Another thread has unlocked since, and its marks may be newer.
                guard (state.lockedKeys != nil) == hasKeys, state.marks == known else { return nil }
                if hasKeys { state.follow(marks, at: moment) }
                return body(&state)
            }
            if let result { return result }
        }
    }

    /// Whether `keys` are the stored ones and still valid, checked at most once a millisecond.
    func isUnlocked(with keys: OpenedKeys, now: () -> BootTime) -> Bool {
        let moment = BootTime.now
        func isHeld(_ state: inout State) -> Bool {
            state.unlockedKeys === keys && state.unlocked?.period.hasEnded(at: now()) == false
        }
        let known: Bool? = held.value.state.withLock { state in
            state.lastCheck == moment ? isHeld(&state) : nil
        }
        if let known { return known }
        do {
            return try followingLocks(at: moment) { isHeld(&$0) }
        } catch {
            return false
        }
    }

    /// Unlocks.
    ///
    /// - Parameters:
    ///   - marks: The marks from before the passcode was checked.
    ///   - fallback: Why the keys could not be shared.
    func publish(
        firstUnlock: KeyPayload, unlocked: KeyPayload, under marks: LockMarks?,
        fallback: KeychainFailure? = nil
    ) throws(KeychainFailure) {
        let lockedKeys = try OpenedKeys(firstUnlock: firstUnlock, unlocked: nil)
        let unlockedKeys = try OpenedKeys(firstUnlock: firstUnlock, unlocked: unlocked)
        held.value.state.withLock { state in
            state = State(
                unlocked: unlocked, lockedKeys: lockedKeys, unlockedKeys: unlockedKeys,
                marks: marks, fallback: fallback)
        }
        use.follow(unlocked.period)
    }

    /// Stores the keys of the scope `afterFirstUnlock`; the keychain stays locked.
    ///
    /// - Parameter fallback: Why the keys could not be shared.
    func publish(
        firstUnlock: KeyPayload, under marks: LockMarks?, fallback: KeychainFailure
    ) throws(KeychainFailure) {
        let lockedKeys = try OpenedKeys(firstUnlock: firstUnlock, unlocked: nil)
        held.value.state.withLock {
            $0 = State(lockedKeys: lockedKeys, marks: marks, fallback: fallback)
        }
    }

    /// Replaces the keys of the scope `afterFirstUnlock`; the keychain stays locked.
    ///
    /// - Throws: ``KeychainFailure``: `notUnlocked` if none are stored.
    func update(firstUnlock: KeyPayload) throws(KeychainFailure) {
        let lockedKeys = try OpenedKeys(firstUnlock: firstUnlock, unlocked: nil)
        try held.value.state.withLock { state throws(KeychainFailure) in
            guard state.lockedKeys != nil else {
                throw KeychainFailure(.notUnlocked, during: .update)
            }
            state = State(
                lockedKeys: lockedKeys, marks: state.marks, cause: state.cause,
                fallback: state.fallback)
        }
    }

    /// Extends the period after a use; does nothing once the period is over.
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

    /// Replaces the stored keys while the keychain stays unlocked.
    ///
    /// - Parameter change: Makes the new payloads from the stored one.
    /// - Throws: ``KeychainFailure``: `notUnlocked` if the keychain is not unlocked.
    func update(
        now: BootTime,
        _ change: (_ unlocked: KeyPayload) throws(KeychainFailure) -> (KeyPayload, KeyPayload)
    ) throws(KeychainFailure) {
        try held.value.state.withLock { state throws(KeychainFailure) in
            guard let unlocked = state.unlocked,
                !unlocked.period.hasEnded(at: now)
            else { throw KeychainFailure(.notUnlocked, during: .update) }
            let (first, second) = try change(unlocked)
            state = State(
                unlocked: second,
                lockedKeys: try OpenedKeys(firstUnlock: first, unlocked: nil),
                unlockedKeys: try OpenedKeys(firstUnlock: first, unlocked: second),
                marks: state.marks, fallback: state.fallback)
        }
    }

    /// Forgets all keys.
    func forget() { lock(all: true) }

    /// Forgets the keys if they belong to an earlier epoch.
    func forget(before epoch: Epoch) {
        held.value.state.withLock { state in
            if let keys = state.lockedKeys, keys.mark.epoch < epoch { state = State() }
        }
    }

    /// Locks; does nothing if nothing is unlocked.
    ///
    /// - Parameter all: Also drops the keys of the scope `afterFirstUnlock`.
    func lock(all: Bool) {
        held.value.state.withLock { state in
            if all { state = State() } else { state.lock(because: .notUnlocked) }
        }
    }
}

extension ProcessLockState.State {
    /// Applies the marks of the folder at `moment`.
    fileprivate mutating func follow(_ now: LockMarks?, at moment: BootTime) {
        lastCheck = moment
        if marks?.firstUnlock != now?.firstUnlock {
            self = Self()
        } else if marks?.unlocked != now?.unlocked {
            lock(because: .notUnlocked)
            marks = now
        }
    }

    fileprivate mutating func lock(because cause: LockCause) {
        unlocked = nil
        unlockedKeys = nil
        self.cause = cause
    }
}
