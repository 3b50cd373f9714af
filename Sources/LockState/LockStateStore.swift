// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeybag
internal import ValetKeychainModel
package import ValetSealing

/// The lock state of one keychain with a passcode; safe to use from any thread.
///
/// A caller that publishes keys or renews them holds the keychain's lock of writers: two unlocks at
/// once are in no order otherwise. A lock waits for nobody.
package final class LockStateStore: Sendable {
    /// The keychain.
    package let keychainID: KeychainID
    private let choose: @Sendable () -> LockStateProvider
    private let choice = Mutex<LockStateProvider?>(nil)
    let now: @Sendable () -> BootTime
    private let page: PageWatch
    let shared: SharedLockState
    let process: ProcessLockState
    private let use = IdleUse()

    /// Touches nothing yet.
    ///
    /// - Parameter provider: Where keys are to lie; asked at the first use.
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

    /// Where the keys lie: another place than was chosen once they could not be shared.
    package var provider: LockStateProvider {
        guard let fallback = process.fallback else { return chosen }
        let room = fallback.code == .quotaExceeded ? KernelKeyring.room().map { " (\($0))" } : nil
        return LockStateProvider(.process, "\(fallback)\(room ?? "")")
    }

    /// Why opened keys are in this process alone although others were to share them; nil if they
    /// do, or none are open.
    package var fallback: LockStateError? { process.fallback }

    /// The state at this moment.
    ///
    /// While what was read last holds, this is two system calls and allocates nothing. Keys past
    /// their deadline are ended by the first process that sees them.
    ///
    /// - Parameter marks: The epochs that the database has, one or two; keys that do not belong to
    ///   all of them are not believed.
    package func current(expecting marks: [EpochMark]) -> LockReading {
        guard isForSharing else { return process.current(expecting: marks, now: now) }
        if process.fallback != nil {
            let own = process.current(expecting: marks, now: now)
            if case .unlocked = own { return own }
            let reading = shared.current(expecting: marks, now: now)
            // Others have shared keys since: this process goes by theirs from now on.
            if case .unlocked = reading { process.forget() }
            return better(reading, own)
        }
        let reading = shared.current(expecting: marks, now: now)
        guard case .unknown(let error) = reading, error.code == .refused else { return reading }
        return .beforeFirstUnlock(.kernelRefuses(error))
    }

    /// For how long the keychain is unlocked, as far as ``current(expecting:)`` saw it last: others
    /// may have used it since. Nil while it is locked.
    package var unlockPeriod: UnlockPeriod? {
        isShared ? shared.remembered?.unlocked?.payload.period : process.period
    }

    /// Whether the keys lie where other processes change them, too.
    package var isShared: Bool { isForSharing && process.fallback == nil }

    /// Whether `keys`, which ``current(expecting:)`` gave, are still those of the keychain, and it
    /// is unlocked: what every read asks. False is no answer: ask for the state.
    ///
    /// Two system calls in each millisecond: a lock waits for as long before it answers
    /// (docs/decisions/0013-kernel-keys.md).
    package func isUnlocked(with keys: OpenedKeys) -> Bool {
        guard isShared else { return process.isUnlocked(with: keys, now: now) }
        return shared.isUnlocked(with: keys, now: now)
    }

    /// What others share, unless this process knows of more keys.
    private func better(_ shared: LockReading, _ own: LockReading) -> LockReading {
        switch shared {
        case .unlocked, .locked: shared
        case .beforeFirstUnlock: own
        case .unknown(let error): error.code == .refused ? own : shared
        }
    }

    /// Makes it possible for a lock to reach keys of this process, where the folder has no page for
    /// locks yet. The caller holds the lock of writers.
    package func preparePage() {
        // What cannot be written has no locks either that others could announce.
        _ = try? shared.writablePage()
    }

    /// Whether locks can be announced in the keychain's folder already.
    package var hasPage: Bool { (try? page.marks(at: .now)) != nil }

    /// The moment before a passcode is checked: a lock that comes after it holds.
    package func moment() throws(LockStateError) -> LockMoment {
        LockMoment(marks: try page.freshMarks())
    }

    /// Unlocks: publishes the opened keys of one or two epochs, in rising order, within
    /// `limits`.
    ///
    /// Replaces what was published before, and its limits. Where keys cannot be shared they stay in
    /// this process, what others share is left as it is, and ``fallback`` tells why.
    ///
    /// - Parameter moment: From before the passcode was checked; nil for this one. Counts for keys
    ///   of this process.
    /// - Throws: ``LockStateError/Code/wrongKeys`` for keys that are not of this keychain,
    ///   ``LockStateError/Code/other``.
    package func publish(
        _ epochs: [EpochKeys], within limits: UnlockLimits, since moment: LockMoment? = nil
    ) throws(LockStateError) {
        let period = UnlockPeriod(limits, from: now())
        let (firstUnlock, unlocked) = try payloads(epochs, period)
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
        do throws(LockStateError) {
            _ = try shared.publish(
                SharedLockState.Publication(
                    payloads: [firstUnlock, unlocked], onlyOpenScopes: false),
                now: now())
            process.forget()
        } catch {
            guard error.meansKeepingOwn else { throw error }
            try process.publish(
                firstUnlock: firstUnlock, unlocked: unlocked, under: marks, fallback: error)
        }
    }

    /// Locks: takes the keys that need an unlocked keychain away from every process that shares
    /// the folder. Does nothing more if it is locked. Takes a millisecond, after which nobody uses
    /// them.
    ///
    /// - Parameter all: Also takes the keys that stay from the first unlock on, as a reboot does.
    /// - Throws: ``LockStateError/Code/cannotTellOthers``: processes with keys of their own may
    ///   still have them.
    package func lock(all: Bool) throws(LockStateError) {
        process.lock(all: all)
        try shared.lock(all: all)
    }

    /// Whether there are opened keys of the keychain, of whatever epoch, here or in the kernel.
    ///
    /// - Throws: ``LockStateError/Code/other``.
    package func hasKeys() throws(LockStateError) -> Bool {
        if process.hasKeys { return true }
        do throws(LockStateError) {
            return try shared.hasKeys()
        } catch {
            guard error.code == .refused else { throw error }
            return false
        }
    }

    /// Locks every keychain whose keys this user shares, known to this process or not. Takes a
    /// millisecond, after which nobody uses them.
    ///
    /// - Parameters:
    ///   - all: Also takes the keys that stay from the first unlock on.
    ///   - places: Where to look for sharing files, and whose folder's marks are changed.
    /// - Throws: As ``lock(all:)``.
    package static func lockEveryKeychain(
        all: Bool, in places: SharingPlaces
    ) throws(LockStateError) {
        try SharedLockState.lockEveryKeychain(all: all, places, PageWatch(folder: places.folder))
    }

    /// Lets go of what this process remembers or keeps of epochs before `epoch`, which are over;
    /// others keep theirs.
    package func forget(before epoch: Epoch) {
        shared.forget(before: epoch)
        process.forget(before: epoch)
    }

    /// What somebody has done to keys of this keychain in the kernel, in words; empty if nothing.
    package func findings() -> [String] {
        isForSharing ? shared.findings(now) : []
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

/// What a lock changes, as it was at one moment.
package struct LockMoment: Sendable {
    let marks: LockMarks?
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
        if isShared { try shared.renew(now) } else { process.renew(now: now()) }
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

/// Other keys in the place of those that are open: docs/FORMAT.md §10.6. Nothing here unlocks.
extension LockStateStore {
    /// Replaces the published keys by those of other epochs while the keychain stays unlocked;
    /// never undoes a lock. Limits and deadline stay as they are.
    ///
    /// Where they cannot be shared they stay in this process, and the keychain is as before its
    /// first unlock for others; ``provider`` tells.
    /// - Throws: ``LockStateError/Code/notUnlocked`` if the keychain is not unlocked (any more);
    ///   ``LockStateError/Code/wrongKeys``, `other`.
    package func replaceKeys(with epochs: [EpochKeys]) throws(LockStateError) {
        guard isShared else {
            try process.update(now: now()) { unlocked throws(LockStateError) in
                try payloads(epochs, unlocked.period)
            }
            return
        }
        guard case .found(let found) = try shared.lookUp(.whileUnlocked, [], now) else {
            throw LockStateError(.notUnlocked, during: .update)
        }
        let (firstUnlock, unlocked) = try payloads(epochs, found.payload.period)
        try replace([firstUnlock, unlocked], stillOpen: .whileUnlocked) {
            (marks, error) throws(LockStateError) in
            try process.publish(
                firstUnlock: firstUnlock, unlocked: unlocked, under: marks, fallback: error)
        }
    }

    /// Replaces the keys that stay from the first unlock on while the keychain is locked; never
    /// undoes a lock of all.
    ///
    /// Where they cannot be shared: as ``replaceKeys(with:)``.
    /// - Throws: ``LockStateError/Code/notUnlocked`` if the keychain was not unlocked since it was
    ///   locked with all; ``LockStateError/Code/wrongKeys``, `other`.
    package func replaceFirstUnlockKeys(with epochs: [EpochKeys]) throws(LockStateError) {
        let firstUnlock = try KeyPayload(
            .afterFirstUnlock, of: keychainID, from: epochs, period: .unlimited)
        guard isShared else { return try process.update(firstUnlock: firstUnlock) }
        try replace([firstUnlock], stillOpen: .afterFirstUnlock) {
            (marks, error) throws(LockStateError) in
            try process.publish(firstUnlock: firstUnlock, under: marks, fallback: error)
        }
    }

    /// Publishes `payloads` as far as keys of their scopes are open.
    ///
    /// - Parameters:
    ///   - scope: What has to be open after that.
    ///   - keepOwn: Keeps the keys in this process, where they cannot be shared. Others lose theirs
    ///     first: to them they would be keys of an epoch that is over.
    private func replace(
        _ payloads: [KeyPayload], stillOpen scope: KeyScope,
        _ keepOwn: (LockMarks?, LockStateError) throws(LockStateError) -> Void
    ) throws(LockStateError) {
        // From before: a lock that comes at any moment after this holds, also for keys of this
        // process.
        let moment = try moment()
        do throws(LockStateError) {
            let open = try shared.publish(
                SharedLockState.Publication(payloads: payloads, onlyOpenScopes: true), now: now())
            guard open.contains(scope) else {
                throw LockStateError(.notUnlocked, during: .update)
            }
        } catch {
            guard error.meansKeepingOwn else { throw error }
            guard case .found = try shared.lookUp(scope, [], now) else {
                throw LockStateError(.notUnlocked, during: .update)
            }
            shared.endAll()
            try keepOwn(moment.marks, error)
        }
    }
}

extension LockStateError {
    /// Whether keys cannot be shared, and are kept in the process.
    fileprivate var meansKeepingOwn: Bool {
        [.quotaExceeded, .refused, .cannotShare].contains(code)
    }
}
