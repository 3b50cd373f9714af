// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
package import ValetSystem

/// The lock state of one keychain with a passcode; safe to use from any thread.
///
/// Its keys are either ``SharedKeys`` or ``OwnKeys`` of this process, and every call works with one
/// of the two. A process with keys of its own never changes what other processes share, with one
/// exception: ``lock(all:)`` locks the keychain for everybody.
///
/// `KeychainStore` holds the writers' lock when it publishes or renews shared keys, so that two
/// unlocks have an order. Locking, and the keys of one process, need no writers' lock.
package final class LockStateStore: Sendable {
    package let keychainID: KeychainID
    private let choose: @Sendable () -> LockStateProvider
    private let choice = Lock<LockStateProvider?>(nil)
    let now: @Sendable () -> BootTime
    private let page: PageWatch
    let shared: SharedKeys
    private let own: OwnKeys
    private let use = IdleUse()
    private let othersAreLocked = Lock<KeychainFailure?>(nil)

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
        shared = SharedKeys(keychainID: keychainID, places: places, page: page, use: use)
        own = OwnKeys(keychainID: keychainID, page: page, use: use)
    }

    private var chosen: LockStateProvider {
        choice.withLock { choice in
            if let choice { return choice }
            let made = choose()
            choice = made
            return made
        }
    }

    /// Whether this process shares its keys, unless it could not.
    package var isForSharing: Bool { chosen.place == .kernel }

    private enum Keys {
        case shared(SharedKeys)
        case own(OwnKeys)
    }

    /// The keys that this process uses. One that could not share its keys has them for itself.
    private var keys: Keys { isForSharing && !own.hasKeys ? .shared(shared) : .own(own) }

    /// Whether other processes share the keys of this one.
    package var isShared: Bool {
        switch keys {
        case .shared: true
        case .own: false
        }
    }

    /// Where the keys are: in the chosen place, or in this process if they could not be shared.
    package var provider: LockStateProvider {
        guard let fallback = own.fallback else { return chosen }
        let room = fallback.code == .quotaExceeded ? KernelKeyring.room().map { " (\($0))" } : nil
        return LockStateProvider(.process, "\(fallback)\(room ?? "")")
    }

    /// Why opened keys are only in this process; nil if they are shared, or no key is open.
    package var fallback: KeychainFailure? { own.fallback }

    /// The state at this moment.
    ///
    /// Makes two system calls and no allocation while the last reading is still valid. The first
    /// process that sees keys past their deadline ends them.
    ///
    /// - Parameter mark: The epoch of the database. Keys of other epochs are ignored.
    package func current(expecting mark: EpochMark) -> LockStatus {
        switch keys {
        case .own(let own) where !isForSharing: return own.current(expecting: mark, now: now)
        case .own(let own): return current(expecting: mark, of: own, beside: shared)
        case .shared(let shared): return current(expecting: mark, of: shared)
        }
    }

    private func current(expecting mark: EpochMark, of shared: SharedKeys) -> LockStatus {
        let reading = shared.current(expecting: mark, now: now)
        guard case .unknown(let error) = reading, error.code == .kernelRefuses else {
            return reading
        }
        return .beforeFirstUnlock(.kernelRefuses(error))
    }

    /// The state in a process that could not share its keys. If another process has shared some
    /// since, this one uses those from now on.
    private func current(
        expecting mark: EpochMark, of own: OwnKeys, beside shared: SharedKeys
    ) -> LockStatus {
        let reading = own.current(expecting: mark, now: now)
        if case .unlocked = reading { return reading }
        let other = current(expecting: mark, of: shared)
        switch (other, reading) {
        case (.unlocked, _), (.locked, _):
            own.forget()
            return other
        case (.beforeFirstUnlock, .locked): return reading
        case (.beforeFirstUnlock, _), (.unknown, _): return other
        }
    }

    /// The period of the unlock when ``current(expecting:)`` last read it; other processes may have
    /// renewed it since. Nil while the keychain is locked.
    package var unlockPeriod: UnlockPeriod? {
        switch keys {
        case .shared(let shared): shared.remembered?.unlocked?.payload.period
        case .own(let own): own.period
        }
    }

    /// Whether the keychain is unlocked and `opened`, from ``current(expecting:)``, are still its
    /// keys. Every read asks this. If false, read the state anew.
    ///
    /// Makes two system calls per millisecond at most, because locking waits for a millisecond
    /// before it returns (docs/decisions/0013-kernel-keys.md).
    package func isUnlocked(with opened: OpenedKeys) -> Bool {
        switch keys {
        case .shared(let shared): shared.isUnlocked(with: opened, now: now)
        case .own(let own): own.isUnlocked(with: opened, now: now)
        }
    }

    /// Makes the page of locks if the folder has none, so that a lock reaches keys of this process.
    /// The caller holds the writers' lock.
    ///
    /// - Throws: ``SystemError`` if the folder cannot be written. Then other processes cannot
    ///   announce locks in it either.
    package func preparePage() throws(SystemError) { try LockPage.prepare(in: page.folder) }

    /// Whether the keychain's folder has a page of locks.
    package var hasPage: Bool { (try? page.marks(at: .now)) != nil }

    /// The marks of now. Take them before a passcode is checked: an unlock after a lock in between
    /// must not undo that lock.
    package func moment() throws(KeychainFailure) -> LockMoment {
        LockMoment(marks: try page.freshMarks())
    }

    /// The marks of now, by one system call. They differ from those of an earlier moment if the
    /// keychain was locked since.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput`.
    package func rememberedMoment() throws(KeychainFailure) -> LockMoment {
        LockMoment(marks: try page.marks(at: .now))
    }

    /// Unlocks: publishes the opened keys within `limits`, in place of published keys and their
    /// limits. If keys cannot be shared, they stay in this process, shared ones stay unchanged, and
    /// ``fallback`` gives the reason.
    ///
    /// - Parameter moment: The moment before the passcode was checked. A lock since then stays in
    ///   force. Keys are shared only if there was a page of locks at that moment.
    /// - Throws: ``KeychainFailure``: `wrongKeys` for keys that are not of this keychain,
    ///   ``KeychainFailure``: `inputOutput`.
    package func publish(
        _ opened: OpenedKeys, within limits: UnlockLimits, since moment: LockMoment
    ) throws(KeychainFailure) {
        let period = UnlockPeriod(limits, from: now())
        guard isForSharing else {
            return try own.publish(opened, for: period, since: moment)
        }
        do {
            try shared.publish(opened, for: period, since: moment, now)
            own.forget()
            othersAreLocked.withLock { $0 = nil }
        } catch {
            guard [.quotaExceeded, .kernelRefuses, .cannotShare].contains(error.code) else {
                throw error
            }
            try own.publish(opened, for: period, since: moment, fallback: error)
        }
    }

    /// Locks: removes the keys of the scope `whileUnlocked` from every process that shares the
    /// folder, whether or not this one shares its keys. Takes a millisecond, after which no process
    /// uses them.
    ///
    /// - Parameter all: Also removes the keys of the scope `afterFirstUnlock`, as a reboot does.
    /// - Throws: ``KeychainFailure``: `inputOutput`: processes with keys of their own may
    ///   still have them.
    package func lock(all: Bool) throws(KeychainFailure) {
        own.lock(all: all)
        try shared.lock(all: all)
    }

    /// Whether this process or the kernel has opened keys of the keychain, of any epoch.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput`.
    package func hasKeys() throws(KeychainFailure) -> Bool {
        if own.hasKeys { return true }
        return try areKeysShared()
    }

    /// Whether the kernel has opened keys of the keychain, of any epoch.
    private func areKeysShared() throws(KeychainFailure) -> Bool {
        do throws(KeychainFailure) {
            return try shared.hasKeys()
        } catch {
            guard error.code == .kernelRefuses else { throw error }
            return false
        }
    }

    /// Locks the keychain in a folder, whatever its id: keys that are bound to the folder's marks
    /// open nothing any more.
    ///
    /// - Throws: As ``lock(all:)``.
    package static func lockFolder(_ folder: String, all: Bool) throws(KeychainFailure) {
        try SharedKeys.lockFolder(folder, all: all)
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
        try SharedKeys.lockEveryKeychain(all: all, places)
    }

    /// Drops this process's keys of epochs before `epoch`, which are over. Other processes drop
    /// their own.
    package func forget(before epoch: Epoch) {
        shared.forget(before: epoch)
        own.forget(before: epoch)
    }

    /// Descriptions of changes that others made to this keychain's keys in the kernel.
    package func findings() -> [String] {
        isForSharing ? shared.findings(now) : []
    }
}

/// The marks at one moment. A lock changes the marks.
package struct LockMoment: Hashable, Sendable {
    /// Nil if the folder had no page of locks. Then every page that is found later may be a lock.
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
    /// If keys are shared, the caller holds the writers' lock, so that no other keys are
    /// published concurrently.
    /// - Throws: ``KeychainFailure``: `kernelRefuses`, `inputOutput`.
    package func renew() throws(KeychainFailure) {
        switch keys {
        case .shared(let shared): try shared.renew(now)
        case .own(let own): own.renew(now: now())
        }
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

/// A key change: docs/FORMAT.md §10.6. The caller holds the writers' lock.
extension LockStateStore {
    /// Makes threads of this process wait whose own keys do not fit the database. Call it before
    /// the commit of a key change, and ``endChange()`` once the keys are replaced.
    package func beginChange() { own.beginChange() }

    package func endChange() { own.endChange() }

    /// Waits until a key change that this process has committed has replaced its own keys.
    ///
    /// - Returns: false at the deadline.
    package func awaitChange(before deadline: Deadline) -> Bool {
        own.awaitChange(before: deadline)
    }

    /// Puts keys in the place of those of the epoch `former`, after a key change was committed.
    /// A locked keychain stays locked, and an unlocked one keeps its limits and deadline.
    ///
    /// - Parameters:
    ///   - opened: The new keys; nil to end the former ones.
    ///   - moment: If the change also unlocks the keychain: the marks from before it. A lock after
    ///     that moment is not undone.
    ///
    /// The change is complete: if this fails, the keychain is locked, and
    /// ``reasonOthersAreLocked`` tells why. The former keys open nothing in any case.
    package func replaceKeys(
        of former: EpochMark, by opened: OpenedKeys?, unlockingSince moment: LockMoment?
    ) {
        let failure: KeychainFailure?
        do {
            switch keys {
            case .shared(let shared):
                try shared.replace(former, by: opened, unlockingSince: moment, now)
                failure = nil
            case .own(let own):
                try own.replace(former, by: opened, unlockingSince: moment, now: now)
                failure = opened == nil || !mayBeShared ? nil : notShared
            }
        } catch {
            own.forget()
            failure = error
        }
        othersAreLocked.withLock { $0 = failure }
    }

    /// Why programs that had the keychain unlocked have to unlock it again, since this process has
    /// replaced its keys; nil if they need not.
    package var reasonOthersAreLocked: KeychainFailure? { othersAreLocked.withLock { $0 } }

    /// Whether the kernel has keys of the keychain. True also if that is unknown.
    private var mayBeShared: Bool { (try? areKeysShared()) != false }

    private var notShared: KeychainFailure {
        KeychainFailure(
            .notUnlocked, during: LockStateOperation.update.rawValue,
            message: "this program shares no opened keys: \(provider.reason)")
    }

    /// Ends shared keys that are not of the current epoch `mark`: a program was killed before it
    /// could replace them. Does nothing in a process with keys of its own.
    package func endKeys(unlessOf mark: EpochMark) {
        if case .shared(let shared) = keys { shared.end(unlessOf: mark, now) }
    }
}
