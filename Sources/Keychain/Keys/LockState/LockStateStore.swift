// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

/// The lock state of one keychain with a passcode; safe to use from any thread.
///
/// `KeychainStore` holds the lock of writers when it publishes or renews keys, so that two unlocks
/// have an order. Locking the keychain does not wait for the lock of writers.
package final class LockStateStore: Sendable {
    package let keychainID: KeychainID
    private let choose: @Sendable () -> LockStateProvider
    private let choice = Lock<LockStateProvider?>(nil)
    let now: @Sendable () -> BootTime
    private let page: PageWatch
    let shared: SharedLockState
    let process: ProcessLockState
    private let use = IdleUse()

    /// Opens nothing yet.
    ///
    /// - Parameter provider: Chooses where to keep keys; called at the first use.
    package init(
        keychainID: KeychainID, places: SharingPlaces,
        provider: @escaping @Sendable () -> LockStateProvider,
        now: @escaping @Sendable () -> BootTime = { BootTime.now }
    ) {
        self.keychainID = keychainID
        self.now = now
        choose = provider
        page = PageWatch(folder: places.folder)
        shared = SharedLockState(keychainID: keychainID, places: places, page: page, use: use)
        process = ProcessLockState(page: page, use: use)
    }

    private var chosen: LockStateProvider {
        choice.withLock { choice in
            if let choice { return choice }
            let made = choose()
            choice = made
            return made
        }
    }

    private var isForSharing: Bool { chosen.place == .kernel }

    /// Where the keys are: in the chosen place, or in this process if they could not be shared.
    package var provider: LockStateProvider {
        guard let fallback = process.fallback else { return chosen }
        let room = fallback.code == .quotaExceeded ? KernelKeyring.room().map { " (\($0))" } : nil
        return LockStateProvider(.process, "\(fallback)\(room ?? "")")
    }

    /// Why opened keys are only in this process; nil if they are shared, or no key is open.
    package var fallback: KeychainFailure? { process.fallback }

    /// The state at this moment.
    ///
    /// Makes two system calls and no allocation while the last reading is still valid. The first
    /// process that sees keys past their deadline ends them.
    ///
    /// - Parameter mark: The epoch of the database. Keys of other epochs are ignored.
    package func current(expecting mark: EpochMark) -> LockStatus {
        guard isForSharing else { return process.current(expecting: mark, now: now) }
        if process.fallback != nil {
            let own = process.current(expecting: mark, now: now)
            if case .unlocked = own { return own }
            let reading = shared.current(expecting: mark, now: now)
            // Another process has shared keys since: this process uses those from now on.
            if case .unlocked = reading { process.forget() }
            return better(reading, own)
        }
        let reading = shared.current(expecting: mark, now: now)
        guard case .unknown(let error) = reading, error.code == .kernelRefuses else {
            return reading
        }
        return .beforeFirstUnlock(.kernelRefuses(error))
    }

    /// The period of the unlock when ``current(expecting:)`` last read it; other processes may have
    /// renewed it since. Nil while the keychain is locked.
    package var unlockPeriod: UnlockPeriod? {
        isShared ? shared.remembered?.unlocked?.payload.period : process.period
    }

    /// Whether other processes share the keys.
    package var isShared: Bool { isForSharing && process.fallback == nil }

    /// Whether the keychain is unlocked and `keys`, from ``current(expecting:)``, are still its
    /// keys. Every read asks this. If false, read the state anew.
    ///
    /// Makes two system calls per millisecond at most, because locking waits for a millisecond
    /// before it returns (docs/decisions/0013-kernel-keys.md).
    package func isUnlocked(with keys: OpenedKeys) -> Bool {
        guard isShared else { return process.isUnlocked(with: keys, now: now) }
        return shared.isUnlocked(with: keys, now: now)
    }

    /// The shared state, unless this process has more keys.
    private func better(_ shared: LockStatus, _ own: LockStatus) -> LockStatus {
        switch shared {
        case .unlocked, .locked: shared
        case .beforeFirstUnlock: own
        case .unknown(let error): error.code == .kernelRefuses ? own : shared
        }
    }

    /// Makes the page of locks if the folder has none, so that a lock reaches keys of this process.
    /// The caller holds the lock of writers.
    package func preparePage() {
        // If the folder cannot be written, other processes cannot announce locks in it either.
        _ = try? shared.writablePage()
    }

    /// Whether the keychain's folder has a page of locks.
    package var hasPage: Bool { (try? page.marks(at: .now)) != nil }

    /// The moment before a passcode is checked. A lock after this moment stays in force.
    package func moment() throws(KeychainFailure) -> LockMoment {
        LockMoment(marks: try page.freshMarks())
    }

    /// Unlocks: publishes the opened keys within `limits`.
    ///
    /// Replaces published keys and their limits. If keys cannot be shared, they stay in this
    /// process, shared ones stay unchanged, and ``fallback`` gives the reason.
    ///
    /// - Parameters:
    ///   - moment: The moment before the passcode was checked; nil for now. A lock since then stays
    ///     in force for keys of this process.
    ///   - bindsShared: Whether it stays in force for shared keys, too: for a change of keys, which
    ///     takes long. An unlock answers to locks that come while it publishes.
    /// - Throws: ``KeychainFailure``: `wrongKeys` for keys that are not of this keychain,
    ///   ``KeychainFailure``: `inputOutput`.
    package func publish(
        _ keys: OpenedKeys, within limits: UnlockLimits, since moment: LockMoment? = nil,
        bindsShared: Bool = false
    ) throws(KeychainFailure) {
        let period = UnlockPeriod(limits, from: now())
        let (firstUnlock, unlocked) = try payloads(keys, period)
        let marks: LockMarks?
        if let moment {
            marks = moment.marks
        } else {
            if !hasPage { preparePage() }
            marks = try page.marks(at: .now)
        }
        guard isForSharing else {
            try process.publish(firstUnlock: firstUnlock, unlocked: unlocked, under: marks)
            return
        }
        do {
            _ = try shared.publish(
                SharedLockState.Publication(
                    payloads: [firstUnlock, unlocked], marks: bindsShared ? moment?.marks : nil,
                    onlyOpenScopes: false),
                now: now())
            process.forget()
        } catch {
            guard error.meansKeepingOwn else { throw error }
            try process.publish(
                firstUnlock: firstUnlock, unlocked: unlocked, under: marks, fallback: error)
        }
    }

    /// Locks: removes the keys of the scope `whileUnlocked` from every process that shares the
    /// folder. Takes a millisecond, after which no process uses them.
    ///
    /// - Parameter all: Also removes the keys of the scope `afterFirstUnlock`, as a reboot does.
    /// - Throws: ``KeychainFailure``: `inputOutput`: processes with keys of their own may
    ///   still have them.
    package func lock(all: Bool) throws(KeychainFailure) {
        process.lock(all: all)
        try shared.lock(all: all)
    }

    /// Whether this process or the kernel has opened keys of the keychain, of any epoch.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput`.
    package func hasKeys() throws(KeychainFailure) -> Bool {
        if process.hasKeys { return true }
        do throws(KeychainFailure) {
            return try shared.hasKeys()
        } catch {
            guard error.code == .kernelRefuses else { throw error }
            return false
        }
    }

    /// Locks every keychain whose keys this user shares, even those unknown to this process. Takes
    /// a millisecond, after which no process uses them.
    ///
    /// - Parameters:
    ///   - all: Also removes the keys of the scope `afterFirstUnlock`.
    ///   - places: The folders of sharing files, and the folder whose marks change.
    /// - Throws: As ``lock(all:)``.
    package static func lockEveryKeychain(
        all: Bool, in places: SharingPlaces
    ) throws(KeychainFailure) {
        try SharedLockState.lockEveryKeychain(all: all, places, PageWatch(folder: places.folder))
    }

    /// Drops this process's keys of epochs before `epoch`, which are over. Other processes drop
    /// their own.
    package func forget(before epoch: Epoch) {
        shared.forget(before: epoch)
        process.forget(before: epoch)
    }

    /// Descriptions of changes that others made to this keychain's keys in the kernel.
    package func findings() -> [String] {
        isForSharing ? shared.findings(now) : []
    }

    func payloads(
        _ keys: OpenedKeys, _ period: UnlockPeriod
    ) throws(KeychainFailure) -> (firstUnlock: KeyPayload, unlocked: KeyPayload) {
        (
            try KeyPayload(.afterFirstUnlock, of: keychainID, from: keys, period: .unlimited),
            try KeyPayload(.whileUnlocked, of: keychainID, from: keys, period: period)
        )
    }
}

/// The marks at one moment. A lock changes the marks.
package struct LockMoment: Sendable {
    let marks: LockMarks?
}

/// Auto-lock: docs/decisions/0020-auto-lock.md.
extension LockStateStore {
    /// Notes a use of keys of the scope `whileUnlocked`. Costs one comparison and, with an idle
    /// time, a reading of the clock.
    package func noteUse() { use.note(now) }

    /// Whether a use was noted that extends the period: ``renew()`` is due.
    package var isRenewalDue: Bool { use.isDue }

    /// Extends the period unless another process just did. Never undoes a lock, and never shortens
    /// the period.
    ///
    /// If keys are shared, the caller holds the lock of writers, so that no other keys are
    /// published concurrently.
    /// - Throws: ``KeychainFailure``: `kernelRefuses`, `inputOutput`.
    package func renew() throws(KeychainFailure) {
        if isShared { try shared.renew(now) } else { process.renew(now: now()) }
    }

    /// Postpones renewing by a sixty-fourth of the idle time, while another process changes the
    /// keys.
    package func postponeRenewal() {
        guard let idle = unlockPeriod?.limits.idleMilliseconds else { return use.follow(nil) }
        use.postpone(until: now().advanced(byMilliseconds: idle / 64 + 1))
    }

    /// Whether so little time is left that a renewal is worth waiting for.
    package var isRenewalUrgent: Bool {
        guard let period = unlockPeriod, let deadline = period.deadline,
            let idle = period.limits.idleMilliseconds
        else { return false }
        return deadline <= now().advanced(byMilliseconds: idle / 2)
    }
}

/// Replacing open keys by those of another epoch, without unlocking: docs/FORMAT.md §10.6.
extension LockStateStore {
    /// Replaces the published keys by those of another epoch while the keychain stays unlocked.
    /// Never undoes a lock. Limits and deadline stay unchanged.
    ///
    /// If the keys cannot be shared, they stay in this process; for other processes the keychain is
    /// as before its first unlock. ``provider`` then names this process.
    /// - Throws: ``KeychainFailure``: `notUnlocked` if the keychain is not unlocked;
    ///   ``KeychainFailure``: `wrongKeys`, `inputOutput`.
    package func replaceKeys(with keys: OpenedKeys) throws(KeychainFailure) {
        guard isShared else {
            try process.update(now: now()) { unlocked throws(KeychainFailure) in
                try payloads(keys, unlocked.period)
            }
            return
        }
        guard case .found(let found) = try shared.lookUp(.whileUnlocked, of: nil, now) else {
            throw KeychainFailure(.notUnlocked, during: .update)
        }
        let (firstUnlock, unlocked) = try payloads(keys, found.payload.period)
        try replace([firstUnlock, unlocked], stillOpen: .whileUnlocked) {
            (marks, error) throws(KeychainFailure) in
            try process.publish(
                firstUnlock: firstUnlock, unlocked: unlocked, under: marks, fallback: error)
        }
    }

    /// Replaces the keys of the scope `afterFirstUnlock` while the keychain is locked. Never opens
    /// a keychain that was locked with all scopes.
    ///
    /// Keys that cannot be shared stay in this process, as with ``replaceKeys(with:)``.
    /// - Throws: ``KeychainFailure``: `notUnlocked` if the keychain was not unlocked since it was
    ///   locked with all; ``KeychainFailure``: `wrongKeys`, `inputOutput`.
    package func replaceFirstUnlockKeys(with keys: OpenedKeys) throws(KeychainFailure) {
        let firstUnlock = try KeyPayload(
            .afterFirstUnlock, of: keychainID, from: keys, period: .unlimited)
        guard isShared else { return try process.update(firstUnlock: firstUnlock) }
        try replace([firstUnlock], stillOpen: .afterFirstUnlock) {
            (marks, error) throws(KeychainFailure) in
            try process.publish(firstUnlock: firstUnlock, under: marks, fallback: error)
        }
    }

    /// Publishes `payloads` as far as keys of their scopes are open.
    ///
    /// - Parameters:
    ///   - scope: The scope that must be open afterwards.
    ///   - keepOwn: Stores the keys in this process, if they cannot be shared. Before that,
    ///     other processes lose their keys, which are of a past epoch.
    private func replace(
        _ payloads: [KeyPayload], stillOpen scope: KeyScope,
        _ keepOwn: (LockMarks?, KeychainFailure) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        // A lock at any later moment stays in force, also for keys of this process.
        let moment = try moment()
        do throws(KeychainFailure) {
            let open = try shared.publish(
                SharedLockState.Publication(payloads: payloads, onlyOpenScopes: true), now: now())
            guard open.contains(scope) else {
                throw KeychainFailure(.notUnlocked, during: .update)
            }
        } catch {
            guard error.meansKeepingOwn else { throw error }
            guard case .found = try shared.lookUp(scope, of: nil, now) else {
                throw KeychainFailure(.notUnlocked, during: .update)
            }
            shared.endAll()
            try keepOwn(moment.marks, error)
        }
    }
}

extension KeychainFailure {
    /// Whether the keys cannot be shared and stay in the process.
    fileprivate var meansKeepingOwn: Bool {
        [.quotaExceeded, .kernelRefuses, .cannotShare].contains(code)
    }
}
