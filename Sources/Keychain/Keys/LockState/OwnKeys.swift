// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The opened keys of one keychain in this process alone: for services, and where keys cannot be
/// shared.
///
/// They are bound to the marks in the keychain's folder, so that every lock ends them, too. This
/// type only reads the marks: what it does reaches no other process. A child of `fork` starts in
/// the state before the first unlock.
final class OwnKeys: Sendable {
    private let keychainID: KeychainID
    private let held = ProcessLocal<Held> { _ in Held() }
    private let page: PageWatch
    /// Notes uses that extend the period of the stored keys.
    private let use: IdleUse

    init(keychainID: KeychainID, page: PageWatch, use: IdleUse) {
        self.keychainID = keychainID
        self.page = page
        self.use = use
    }

    fileprivate struct State {
        /// The keys of the scope `afterFirstUnlock`.
        var locked: OpenedKeys?
        /// All keys; nil while the keychain is locked.
        var unlocked: OpenedKeys?
        /// How long ``unlocked`` may be used.
        var period = UnlockPeriod.unlimited
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
        /// Held from the commit of a key change until its keys are here.
        let change = FairLock()
    }

    /// Why the stored keys could not be shared; nil if they need not be, or none are stored.
    var fallback: KeychainFailure? { held.value.state.withLock { $0.fallback } }

    var hasKeys: Bool { held.value.state.withLock { $0.locked != nil } }

    /// The period of the stored keys; nil if they are not unlocked.
    var period: UnlockPeriod? {
        held.value.state.withLock { $0.unlocked == nil ? nil : $0.period }
    }

    func current(expecting mark: EpochMark, now: () -> BootTime) -> LockStatus {
        do {
            return try followingLocks(at: .now) { state in
                if let keys = state.unlocked {
                    if state.period.hasEnded(at: now()) {
                        state.lock(because: .deadlinePassed)
                    } else if keys.mark == mark {
                        return .unlocked(keys)
                    }
                }
                let cause = state.unlocked == nil ? state.cause : .otherEpoch
                guard let keys = state.locked, keys.mark == mark else {
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
        at moment: BootTime, _ body: (inout State) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        while true {
            let (hasKeys, known) = held.value.state.withLock { ($0.locked != nil, $0.marks) }
            let marks = hasKeys ? try page.marks(at: moment) : nil
            let result: R? = try held.value.state.withLock { state throws(KeychainFailure) in
                // Another thread has unlocked since, and its marks may be newer.
                guard (state.locked != nil) == hasKeys, state.marks == known else { return nil }
                if hasKeys { state.follow(marks, at: moment) }
                return try body(&state)
            }
            if let result { return result }
        }
    }

    /// Whether `keys` are the stored ones and still valid, checked at most once a millisecond.
    func isUnlocked(with keys: OpenedKeys, now: () -> BootTime) -> Bool {
        let moment = BootTime.now
        func isHeld(_ state: inout State) -> Bool {
            state.unlocked === keys && !state.period.hasEnded(at: now())
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
    ///   - moment: The marks from before the passcode was checked. A lock after that moment is not
    ///     undone.
    ///   - fallback: Why the keys could not be shared; nil if they need not be.
    /// - Throws: ``KeychainFailure``: `wrongKeys`.
    func publish(
        _ keys: OpenedKeys, for period: UnlockPeriod, since moment: LockMoment,
        fallback: KeychainFailure? = nil
    ) throws(KeychainFailure) {
        let locked = try keys.ofFirstUnlock(of: keychainID)
        held.value.state.withLock { state in
            state = State(
                locked: locked, unlocked: keys, period: period, marks: moment.marks,
                fallback: fallback)
        }
        use.follow(period)
    }

    /// Puts `keys` in the place of the keys of `former`, after a key change was committed. A
    /// locked keychain stays locked, and an unlocked one keeps its period.
    ///
    /// - Parameters:
    ///   - keys: The new keys; nil to forget the former ones.
    ///   - moment: If the change also unlocks the keychain: the marks from before it. A lock after
    ///     that moment is not undone.
    func replace(
        _ former: EpochMark, by keys: OpenedKeys?, unlockingSince moment: LockMoment?,
        now: () -> BootTime
    ) throws(KeychainFailure) {
        guard let keys else { return forget() }
        let locked = try keys.ofFirstUnlock(of: keychainID)
        let isReplaced = try followingLocks(at: .now) { state in
            guard state.locked?.mark == former else { return false }
            let isUnlocked = state.unlocked != nil && !state.period.hasEnded(at: now())
            guard isUnlocked || moment == nil else { return false }
            state.locked = locked
            state.unlocked = isUnlocked ? keys : nil
            return true
        }
        guard !isReplaced, let moment else { return }
        try publish(keys, for: .unlimited, since: moment)
    }

    /// Extends the period after a use; does nothing once the period is over.
    func renew(now: BootTime) {
        let period: UnlockPeriod? = held.value.state.withLock { state in
            guard state.unlocked != nil, !state.period.hasEnded(at: now) else { return nil }
            state.period = state.period.renewed(at: now)
            return state.period
        }
        use.follow(period)
    }

    /// Forgets all keys.
    func forget() { lock(all: true) }

    /// Forgets the keys if they belong to an earlier epoch.
    func forget(before epoch: Epoch) {
        held.value.state.withLock { state in
            if let keys = state.locked, keys.mark.epoch < epoch { state = State() }
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

    // Between the commit of a key change and its keys: docs/FORMAT.md §10.6.

    /// Makes threads of this process wait whose keys do not fit. End it with ``endChange()``.
    func beginChange() { _ = held.value.change.acquire(before: .never) }

    func endChange() { held.value.change.release() }

    /// Waits until a key change that this process has committed has put its keys here.
    ///
    /// - Returns: false at the deadline.
    func awaitChange(before deadline: Deadline) -> Bool {
        let change = held.value.change
        guard change.acquire(before: deadline) else { return false }
        change.release()
        return true
    }
}

extension OwnKeys.State {
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
        self.cause = cause
    }
}
