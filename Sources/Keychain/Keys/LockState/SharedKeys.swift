// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The opened keys of one keychain, shared by the processes of the user. They are sealed in the
/// kernel's keyring, under a key derived from the user's sharing file and from a mark in the
/// keychain's folder.
///
/// docs/FORMAT.md §10 has the bytes, and §10.5 the steps. The last reading is remembered, and valid
/// as long as mark and key stay the same.
final class SharedKeys: Sendable {
    let keychainID: KeychainID
    let places: SharingPlaces
    let page: PageWatch
    /// A child of `fork` begins with nothing: a thread of its parent may have held the mutex.
    private let memory = ProcessLocal<Memory> { _ in Memory() }
    /// Notes uses that extend the period; it has the period that was read last.
    let use: IdleUse

    init(keychainID: KeychainID, places: SharingPlaces, page: PageWatch, use: IdleUse) {
        self.keychainID = keychainID
        self.places = places
        self.page = page
        self.use = use
    }

    /// A payload and the kernel's key that it was read from.
    struct Found: Sendable {
        let key: KeySerial
        let payload: KeyPayload
    }

    struct Remembered: Sendable {
        let firstUnlock: Found
        /// Nil when the keychain was locked.
        var unlocked: Found?
        let keys: OpenedKeys
        /// Why the keychain was locked.
        let cause: LockCause
        let marks: LockMarks
        let user: uid_t
        /// When mark and key were last checked.
        var lastCheck: BootTime?
        /// When the sharing files last named these keys.
        var lastSearch: BootTime
    }

    private final class Memory: Sendable {
        let remembered = Lock<Remembered?>(nil)
    }

    var remembered: Remembered? { memory.value.remembered.withLock { $0 } }

    /// Forgets the last reading; the keys are wiped when nothing refers to them any more.
    func forget() { remember(nil) }

    func remember(_ remembered: Remembered?) {
        if let unlocked = remembered?.unlocked { use.follow(unlocked.payload.period) }
        memory.value.remembered.withLock { $0 = remembered }
    }

    /// Forgets the keys if they belong to an earlier epoch.
    func forget(before epoch: Epoch) {
        memory.value.remembered.withLock { remembered in
            if let keys = remembered?.keys, keys.mark.epoch < epoch { remembered = nil }
        }
    }

    /// Notes a new period of the same keys at `found.key`.
    func noteRenewal(_ found: Found) {
        memory.value.remembered.withLock { remembered in
            guard let unlocked = remembered?.unlocked, unlocked.key == found.key,
                unlocked.payload.holdsSameKeys(as: found.payload)
            else { return }
            remembered?.unlocked = found
        }
        use.follow(found.payload.period)
    }

    /// The data to which sharing keys are bound in this process.
    ///
    /// - Throws: ``KeychainFailure``: `kernelRefuses` if the kernel's boot id cannot be read.
    func binding() throws(KeychainFailure) -> SharingBinding {
        guard let bootID = BootID.current else {
            throw KeychainFailure(.kernelRefuses, during: .probe)
        }
        return SharingBinding(keychainID: keychainID, bootID: bootID, user: geteuid())
    }
}

/// Reading while the last reading is still valid.
extension SharedKeys {
    /// The state at this moment: two system calls while the last reading is still valid.
    ///
    /// - Parameter mark: The epoch of the database; keys of other epochs are ignored.
    func current(expecting mark: EpochMark, now: () -> BootTime) -> LockStatus {
        let last = remembered
        do {
            if let last, last.keys.mark == mark, last.unlocked != nil || !last.cause.tellsMore,
                last.unlocked?.payload.period.hasEnded(at: now()) != true,
                try holds(last, at: .now)
            {
                return last.unlocked == nil
                    ? .locked(last.keys, last.cause) : .unlocked(last.keys)
            }
            return try read(expecting: mark, now)
        } catch {
            forget()
            return .unknown(error)
        }
    }

    /// Whether `keys` are the remembered ones and still valid, checked at most once a millisecond.
    func isUnlocked(with keys: OpenedKeys, now: () -> BootTime) -> Bool {
        guard let last = remembered, last.keys === keys, let unlocked = last.unlocked,
            !unlocked.payload.period.hasEnded(at: now())
        else { return false }
        // Taken before the check, so that the check never counts for longer than it should.
        let moment = BootTime.now
        if last.lastCheck == moment { return true }
        do {
            guard try holds(last, at: moment) else { return false }
        } catch {
            return false
        }
        memory.value.remembered.withLock { remembered in
            if remembered?.keys === keys { remembered?.lastCheck = moment }
        }
        return true
    }

    /// Whether there was no lock and no other unlock since `last` was read.
    private func holds(_ last: Remembered, at moment: BootTime) throws(KeychainFailure) -> Bool {
        guard let marks = try page.marks(at: moment), marks.firstUnlock == last.marks.firstUnlock,
            last.unlocked == nil || marks.unlocked == last.marks.unlocked,
            KernelKeyring.isGood((last.unlocked ?? last.firstUnlock).key)
        else { return false }
        guard !moment.isWithin(milliseconds: PageWatch.lookInterval, after: last.lastSearch) else {
            return true
        }
        // Another program may keep a replaced key alive, and a killed unlock may have left earlier
        // keys.
        guard geteuid() == last.user, try areNamed(last, under: marks) else { return false }
        memory.value.remembered.withLock { remembered in
            if remembered?.keys === last.keys { remembered?.lastSearch = moment }
        }
        return true
    }

    /// Whether the sharing files name the keys of `last`, and no others that would open.
    ///
    /// - Parameter marks: The current marks, not those of `last`: a lock that this process missed
    ///   has changed the mark that the keys of a later unlock are bound to.
    private func areNamed(
        _ last: Remembered, under marks: LockMarks
    ) throws(KeychainFailure) -> Bool {
        let binding = try binding()
        let files = try places.files(of: binding, for: .reading)
        for scope in KeyScope.allCases {
            let expected = scope == .whileUnlocked ? last.unlocked : last.firstUnlock
            let named = files.compactMap { $0.contents?[scope] }.first {
                binding.sharingID($0.key, scope, marks[scope]) == $0.id
            }
            guard named?.serial == expected?.key else { return false }
        }
        return true
    }
}

/// A new reading of the shared state.
extension SharedKeys {
    /// How many times to repeat a reading during which something changed.
    private static let attemptCount = 100

    enum LookUp {
        case found(Found)
        case absent(LockCause)

        var found: Found? {
            if case .found(let found) = self { found } else { nil }
        }
    }

    /// Reads marks, sharing files and keys of one moment.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput` if any of them cannot be read.
    private func read(
        expecting mark: EpochMark, _ now: () -> BootTime
    ) throws(KeychainFailure) -> LockStatus {
        for _ in 0..<Self.attemptCount {
            guard let seen = try look() else {
                forget()
                return .beforeFirstUnlock(.notUnlocked)
            }
            let unlocked = try lookUp(.whileUnlocked, in: seen, mark, now)
            let firstUnlock = try lookUp(.afterFirstUnlock, in: seen, mark, now)
            guard try page.marks(at: seen.moment) == seen.marks else { continue }
            if unlocked.found == nil || firstUnlock.found == nil {
                let again = try places.files(of: seen.binding, for: .reading)
                guard again.count == seen.files.count,
                    zip(again, seen.files).allSatisfy({ $0.namesSameKeys(as: $1) })
                else { continue }
            }
            return try conclude(unlocked, firstUnlock, seen)
        }
        throw KeychainFailure(.keyRevoked, during: .read)
    }

    /// Marks and sharing files of one moment.
    private struct Seen {
        let moment: BootTime
        let binding: SharingBinding
        let marks: LockMarks
        let files: [OpenSharingFile]
    }

    /// - Returns: nil if the folder has no page of locks.
    private func look() throws(KeychainFailure) -> Seen? {
        let (moment, binding) = (BootTime.now, try binding())
        guard let marks = try page.marks(at: moment) else { return nil }
        let files = try places.files(of: binding, for: .reading)
        return Seen(moment: moment, binding: binding, marks: marks, files: files)
    }

    private func conclude(
        _ unlocked: LookUp, _ firstUnlock: LookUp, _ seen: Seen
    ) throws(KeychainFailure) -> LockStatus {
        switch (unlocked, firstUnlock) {
        case (.found(let unlocked), .found(let firstUnlock)):
            return .unlocked(try remember(firstUnlock, unlocked, .notUnlocked, seen))
        case (.absent(let cause), .found(let firstUnlock)):
            return .locked(try remember(firstUnlock, nil, cause, seen), cause)
        case (.found(let unlocked), .absent(.notUnlocked)),
            (.found(let unlocked), .absent(.deadlinePassed)):
            // Only scope `f` has the index key, by which items are found. A process that has read
            // it before could still find items, and another one could not. So this ends the keys of
            // scope `u`, and every process sees a locked keychain.
            forget()
            KernelKeyring.end(unlocked.key, always: true)
            return .beforeFirstUnlock(.firstUnlockKeysLost)
        // Keys of another epoch than the caller's may be right for other processes: an epoch may
        // have begun since the caller read the database.
        case (.found, .absent(let cause)):
            forget()
            return .beforeFirstUnlock(cause)
        case (.absent(let cause), .absent(let other)):
            forget()
            return .beforeFirstUnlock(other.tellsMore ? other : cause)
        }
    }

    private func remember(
        _ firstUnlock: Found, _ unlocked: Found?, _ cause: LockCause, _ seen: Seen
    ) throws(KeychainFailure) -> OpenedKeys {
        let keys =
            if let known = knownKeys(firstUnlock, unlocked) { known } else {
                try OpenedKeys(firstUnlock: firstUnlock.payload, unlocked: unlocked?.payload)
            }
        remember(
            Remembered(
                firstUnlock: firstUnlock, unlocked: unlocked, keys: keys, cause: cause,
                marks: seen.marks, user: seen.binding.user, lastCheck: nil,
                lastSearch: seen.moment))
        return keys
    }

    /// The remembered keys if they equal those read, so that only the period differs.
    private func knownKeys(_ firstUnlock: Found, _ unlocked: Found?) -> OpenedKeys? {
        guard let last = remembered,
            last.firstUnlock.payload.holdsSameKeys(as: firstUnlock.payload),
            let before = last.unlocked, let unlocked,
            before.payload.holdsSameKeys(as: unlocked.payload)
        else { return nil }
        return last.keys
    }

    /// The payload of `scope`, as the sharing files and marks of this moment have it.
    ///
    /// - Parameter mark: The epoch that it has to be of; nil for any.
    func lookUp(
        _ scope: KeyScope, of mark: EpochMark?, _ now: () -> BootTime
    ) throws(KeychainFailure) -> LookUp {
        guard let seen = try look() else { return .absent(.notUnlocked) }
        return try lookUp(scope, in: seen, mark, now)
    }

    private func lookUp(
        _ scope: KeyScope, in seen: Seen, _ mark: EpochMark?, _ now: () -> BootTime
    ) throws(KeychainFailure) -> LookUp {
        var cause = LockCause.notUnlocked
        for file in seen.files {
            guard let entry = file.contents?[scope],
                // A different id means that the keychain was locked after the entry was written.
                seen.binding.sharingID(entry.key, scope, seen.marks[scope]) == entry.id
            else { continue }
            switch try open(entry, scope, seen) {
            case .found(let found):
                var answer = judge(found, scope, mark, now)
                if case .absent(.deadlinePassed) = answer {
                    answer = try endUnlessRenewed(found, entry, seen) { found in
                        judge(found, scope, mark, now)
                    }
                }
                guard case .absent(let why) = answer else { return answer }
                cause = why
            case .absent(.notUnlocked): break
            case .absent(let why): cause = why
            }
        }
        return .absent(cause)
    }

    private func open(
        _ entry: SharingEntry, _ scope: KeyScope, _ seen: Seen
    ) throws(KeychainFailure) -> LookUp {
        let key = seen.binding.payloadKey(entry.key, scope, seen.marks[scope])
        do {
            let payload = try KernelKeyring.read(
                entry.serial, atMost: KeyPayload.maximumByteCount
            ) { bytes throws(KeychainFailure) in try KeyPayload.open(bytes, under: key) }
            return .found(Found(key: entry.serial, payload: payload))
        } catch {
            guard error.operation == LockStateOperation.read.rawValue else {
                return .absent(.invalid(error))
            }
            switch error.code {
            case .keyNotFound, .keyRevoked, .kernelRefuses: return .absent(.notUnlocked)
            case .keyExpired: return .absent(.deadlinePassed)
            default: throw error
            }
        }
    }

    /// Ends a key that is past its deadline, so that a late renewal cannot bring it back. Keeps a
    /// key that another process has renewed since it was read.
    private func endUnlessRenewed(
        _ found: Found, _ entry: SharingEntry, _ seen: Seen, _ judge: (Found) -> LookUp
    ) throws(KeychainFailure) -> LookUp {
        let again = try open(entry, found.payload.scope, seen)
        if let renewed = again.found, renewed.payload.period != found.payload.period {
            let answer = judge(renewed)
            guard case .absent(.deadlinePassed) = answer else { return answer }
        }
        KernelKeyring.end(found.key, always: true)
        return .absent(.deadlinePassed)
    }

    private func judge(
        _ found: Found, _ scope: KeyScope, _ mark: EpochMark?, _ now: () -> BootTime
    ) -> LookUp {
        let payload = found.payload
        guard payload.scope == scope, payload.keychainID == keychainID else {
            return .absent(.invalid(KeychainFailure(.wrongKeys, during: .read)))
        }
        guard !payload.period.hasEnded(at: now()) else { return .absent(.deadlinePassed) }
        guard !payload.period.isRenewedLater(than: now()) else {
            return .absent(.invalid(KeychainFailure(.payloadDamaged, during: .read)))
        }
        guard mark == nil || payload.mark == mark else { return .absent(.otherEpoch) }
        return .found(found)
    }
}

extension LockCause {
    /// Whether it is more specific than "nothing found".
    fileprivate var tellsMore: Bool {
        switch self {
        case .otherEpoch, .invalid: true
        case .notUnlocked, .deadlinePassed, .firstUnlockKeysLost, .kernelRefuses: false
        }
    }
}
