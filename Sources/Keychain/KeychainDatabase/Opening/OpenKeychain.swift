// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetDatabase
package import ValetKeychainModel
package import ValetKeys
package import ValetSealing
package import ValetSystem

/// A keychain that this process has open: its connections, and the keys that were last seen open.
///
/// ``ItemStore`` reaches it through ``SharedKeychain``. Its own transactions
/// are in the files beside this one, `OpenKeychain+Reading.swift` and `OpenKeychain+Writing.swift`.
package final class OpenKeychain: Sendable {
    /// Where the keychain is.
    package let location: KeychainLocation
    /// The connections, and the writers' lock.
    package let pool: ConnectionPool
    /// Where the device secret comes from.
    package let source: DeviceSecretSource
    let wrongPasscodes = WrongPasscodes()
    /// The cache of reads by name.
    let kept = KeptRows()
    private let header = Lock<KeychainHeader?>(nil)
    private let state = Lock<KeySet?>(nil)
    private let erasure = Atomic<Int64>(0)
    /// Calls that write items, of all threads.
    let writes = WriteQueue()

    package static let opening = "open the keychain"

    init(_ location: KeychainLocation, _ pool: ConnectionPool) {
        self.location = location
        self.pool = pool
        source = DeviceSecretSource(location: location)
    }

    /// The opened folder of the keychain.
    package var directory: PrivateDirectory { pool.directory }

    /// The same keychain, opened apart from all other calls, so that its damaged pages can be read.
    /// Close it after the repair.
    package func forRepair() -> OpenKeychain { OpenKeychain(location, pool.forRepair()) }

    /// Closes the connections; no call may be under way.
    ///
    /// - Returns: As ``ConnectionPool/close()``.
    @discardableResult
    package func close() -> SystemError? {
        kept.forgetAll()
        return pool.close()
    }

    /// In a child of `fork`: closes what was inherited.
    ///
    /// - Returns: false if a thread of the parent was in the middle of a call.
    func closeInherited() -> Bool {
        kept.closeInherited() && pool.closeInherited()
    }

    // The state that this process remembers.

    /// The header that was read last.
    package var lastKnownFacts: KeychainHeader? {
        get { header.withLock { $0 } }
        set { header.withLock { $0 = newValue } }
    }

    /// The keychain's id; nil before its header was read.
    package var keychainID: KeychainID? { lastKnownFacts?.settings.keychainID }

    /// The keys that were last open.
    package var lastKnownState: KeySet? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    /// Forgets every opened key that is not one of `keys`.
    private func forgetKeys(but keys: OpenedKeys?) {
        state.withLock { state in
            if state?.isOpened(by: keys) == false { state = nil }
        }
        kept.forgetKeys { $0.isOpened(by: keys) }
    }

    /// When to check again whether old keys have to be erased, as ``Deadline/nanoseconds``: at the
    /// first write, and after the keys have changed.
    var nextErasure: Int64 {
        get { erasure.load(ordering: .relaxed) }
        set { erasure.store(newValue, ordering: .relaxed) }
    }

    /// Whether old keys may still be on the disk.
    package func isErasePending() throws(SystemError) -> Bool {
        try directory.check(file: OldKeyErasure.markerName) != nil
    }

    /// The ids of the device keys that have to be erased.
    package func deviceKeysToErase() throws(SystemError) -> [KeyID] {
        try OldKeyErasure(self).noted() ?? []
    }

    // The header and the keys for a transaction.

    /// The header that the transaction of `store` sees.
    ///
    /// - Throws: ``KeychainFailure``: `newerFormat`, `keychainDamaged`.
    package func currentHeader(
        _ store: RowConnection, for operation: String = opening
    ) throws(KeychainFailure) -> KeychainHeader {
        let stamp: Int64?
        do {
            let run = try store.stamp.start()
            stamp = try run.step() ? run.int64(0) : nil
        } catch {
            throw KeychainFailure(error, during: operation)
        }
        if let known = lastKnownFacts, known.settings.stamp == stamp { return known }
        let fresh = try KeychainHeader.load(from: store, at: location)
        lastKnownFacts = fresh
        nextErasure = 0
        return fresh
    }

    /// The keys that are open for the transaction of `store`.
    ///
    /// - Throws: As ``currentHeader(_:)``; ``KeychainFailure``: `incomplete`, `keyUnavailable`.
    package func currentKeys(
        _ store: RowConnection, for operation: String
    ) throws(KeychainFailure) -> CurrentKeys {
        let header = try currentHeader(store, for: operation)
        guard let lockState = header.lockState else { return try keysWithoutPasscode(header) }
        switch lockStatus(header, of: lockState) {
        case .unlocked(let keys): return .certain(try state(header, keys))
        case .locked(let keys, let cause):
            // This was checked when the same keys were seen before.
            let isKnown = cause != .otherEpoch && hasSeen(header, keys)
            let state = try state(header, keys)
            return isKnown ? .certain(state) : .doubtful(header, state, cause)
        case .beforeFirstUnlock(let cause): return .doubtful(header, nil, cause)
        case .unknown(let failure): throw failure
        }
    }

    /// The open keys. Call it when no process is changing them, and after asking the TPM if there
    /// is one.
    ///
    /// - Throws: ``KeychainFailure``: `locked`.
    func settled(_ keys: CurrentKeys) throws(KeychainFailure) -> KeySet {
        switch keys {
        case .certain(let state), .doubtful(_, .some(let state), _): return state
        case .doubtful(let header, .none, let cause):
            throw KeychainFailure(
                .locked, during: Self.opening, message: cause.explanation,
                advice: KeychainFailure.unlockAdvice(
                    ofProcess: header.lockState?.provider.place == .process))
        case .sealed: throw .locked(Self.opening)
        }
    }

    /// The cause behind `failure`. If the keychain is locked and its device key is missing, the
    /// missing key is the cause: no passcode would help (spec/keys-and-states.md §5, state K).
    func reason(for failure: KeychainFailure, _ deadline: Deadline) -> KeychainFailure {
        guard failure.code == .locked, let header = lastKnownFacts, header.lockState != nil else {
            return failure
        }
        do {
            try source.check(header, until: deadline)
            return failure
        } catch {
            // A busy TPM proves nothing.
            guard !header.isBoundToTPM || error.code == .keyUnavailable else { return failure }
            // Keys that have changed since have another device key.
            let now = try? readHeader(Deadline(after: .seconds(1)))
            return now?.settings == header.settings ? error : failure
        }
    }

    /// Whether the keys in `state` are open at this moment.
    func isOpen(_ state: KeySet) -> Bool {
        guard let lockState = state.header.lockState else { return true }
        if let opened = state.opened, lockState.isUnlocked(with: opened) { return true }
        return lockStatus(state.header, of: lockState).keys === state.opened
    }

    /// The lock state at this moment. Unless it is `unlocked`, this process forgets all keys that
    /// are not part of it, except in calls that are using them: a locked process keeps no keys.
    package func lockStatus(_ header: KeychainHeader, of lockState: LockStateStore) -> LockStatus {
        let reading = lockState.current(expecting: header.mark)
        if case .unlocked = reading { return reading }
        forgetKeys(but: reading.keys)
        return reading
    }

    private func state(_ header: KeychainHeader, _ keys: OpenedKeys) throws(KeychainFailure)
        -> KeySet
    {
        if let known = lastKnownState, hasSeen(header, keys) { return known }
        let fresh = try KeySet(header, keys.keybag, opened: keys)
        lastKnownState = fresh
        return fresh
    }

    /// Whether the last state of this process has this header and these keys.
    private func hasSeen(_ header: KeychainHeader, _ keys: OpenedKeys) -> Bool {
        lastKnownState?.header === header && lastKnownState?.opened === keys
    }

    private func keysWithoutPasscode(_ header: KeychainHeader) throws(KeychainFailure)
        -> CurrentKeys
    {
        if let known = lastKnownState, known.header === header { return .certain(known) }
        let lockState = header.openedKeys
        // If a passcode was removed, the keys of its epoch may remain.
        lockState.forget(before: header.keybag.epoch)
        if header.isBoundToTPM, !source.kept.has(header.keybag.deviceKeyID) {
            // Another process may have asked the TPM already.
            guard case .unlocked(let keys) = lockState.current(expecting: header.mark) else {
                return .sealed(header)
            }
            return .certain(try state(header, keys))
        }
        let protector = Protector(try source.secret(of: header, until: .immediately))
        let fresh = try KeySet(header, try header.unlock(with: protector), opened: nil)
        lastKnownState = fresh
        return .certain(fresh)
    }

    /// Tells watchers of the keychain that its lock state may have changed.
    ///
    /// The change itself is complete. Watchers also poll (``KeychainWatch``), so a missed
    /// notification does no harm.
    package func announceLockState() {
        if !directory.isReadOnly { try? directory.touch(KeychainFile.state) }
        KeychainWatch.wakeAll()
    }

    /// The present moment. Take it before a passcode is checked: if the keychain is locked after
    /// this moment, the lock wins over the unlock. Makes the page of locks if the folder has none:
    /// without it, such a lock could not be told from a page that is made later.
    ///
    /// - Parameter mustHavePage: Whether to fail if keys could not be shared without a page. If
    ///   false, keys are then kept in this process.
    /// - Throws: ``KeychainFailure``: `timedOut`, `inputOutput`, `diskFull`.
    func moment(
        of header: KeychainHeader, _ deadline: Deadline, for operation: String,
        mustHavePage: Bool = false
    ) throws(KeychainFailure) -> LockMoment {
        let lockState = header.openedKeys
        if !lockState.hasPage, !directory.isReadOnly {
            do throws(SystemError) {
                let held = try pool.lockForWriting(deadline)
                do throws(SystemError) {
                    try lockState.preparePage()
                } catch {
                    if mustHavePage { throw error }
                }
                _ = consume held
            } catch {
                // Keys of this process alone can be bound to the absence of a page.
                if lockState.isForSharing { throw KeychainFailure(error, during: operation) }
            }
        }
        return try lockState.moment()
    }

    // Keys that a TPM releases, and keys that lock themselves.

    /// Has the TPM release the device secret of a keychain without a passcode, for this process and
    /// for later ones: its keys are shared like those of an unlocked keychain. Never called in a
    /// transaction or under the writers' lock, so that other processes need not wait for the TPM.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable`, `timedOut`, `inputOutput`.
    func unseal(_ header: KeychainHeader, _ deadline: Deadline) throws(KeychainFailure) {
        let isShared = header.openedKeys.isShared && !directory.isReadOnly
        let moment = isShared ? try? self.moment(of: header, .immediately, for: Self.opening) : nil
        let protector = Protector(try source.secret(of: header, until: deadline))
        // A reader that finds no keys asks the TPM itself.
        if let moment { try? share(header, openedBy: protector, since: moment) }
    }

    /// Publishes the keys, unless a writer is active or the keys have changed.
    private func share(
        _ header: KeychainHeader, openedBy protector: borrowing Protector, since moment: LockMoment
    ) throws(KeychainFailure) {
        let opened = try header.unlock(with: protector)
        let held = try translating(pool.lockForWriting(.immediately), during: Self.opening)
        let now = try readHeader(.immediately)
        if now.settings == header.settings {
            try header.openedKeys.publish(
                header.published(opened), within: .none, since: moment)
        }
        _ = consume held
    }

    /// How long a call waits for the writers' lock once half of the idle time has passed.
    private static let renewalPatience = Duration.milliseconds(50)

    /// Extends the time until an unlocked keychain locks itself, if its keys were used late enough
    /// (docs/decisions/0020-auto-lock.md). Runs at the end of each call that uses keys, without the
    /// writers' lock.
    func renewIfUsed(_ header: KeychainHeader?, _ deadline: Deadline) {
        guard let lockState = header?.lockState, lockState.isRenewalDue else { return }
        // The call itself is complete, so the next use of the keychain tries again.
        do { try renew(lockState, deadline) } catch { lockState.postponeRenewal() }
    }

    private func renew(_ lockState: LockStateStore, _ deadline: Deadline) throws(KeychainFailure) {
        // The lock keeps other keys from being published in between. If the folder is read-only,
        // nobody publishes any.
        guard lockState.isShared, !directory.isReadOnly else { return try lockState.renew() }
        let limit =
            lockState.isRenewalUrgent
            ? Deadline(after: min(deadline.remaining, Self.renewalPatience)) : .immediately
        let held = try translating(pool.lock.acquire(before: limit), during: Self.opening)
        try lockState.renew()
        _ = consume held
    }
}

/// The open keys, as a transaction sees them.
package enum CurrentKeys {
    case certain(KeySet)
    /// Not all keys are open. A key change may be the cause: it was committed after the
    /// transaction had begun, or is about to publish its keys. If neither is the case, the keychain
    /// is locked, or no key is open at all.
    case doubtful(KeychainHeader, KeySet?, LockCause)
    /// No key is open before a TPM has released the device secret. Wait for that outside of
    /// transactions: ``OpenKeychain/unseal(_:_:)``.
    case sealed(KeychainHeader)
}

/// How often a reader has seen the same keychain without its keys. It looks again, because the keys
/// may have been changed since its transaction began, or may be about to be published.
package struct RepeatedLook {
    private var stamp: Int64?
    private var count = 0
    /// What to wait for before the next look; nil for nothing.
    var awaited: AwaitedKeys?
    /// The keychain whose device secret a TPM has to release first.
    var sealed: KeychainHeader?

    /// No look so far.
    package init() {}

    /// Whether to look again, outside of the current transaction. Once is enough, unless the keys
    /// are of another epoch: another key change may have begun during the wait.
    ///
    /// - Parameter hasKeys: Whether keys of any scope are open.
    package mutating func isWorthwhile(
        at header: KeychainHeader, _ cause: LockCause, hasKeys: Bool
    ) -> Bool {
        count = stamp == header.settings.stamp ? count + 1 : 0
        stamp = header.settings.stamp
        awaited = AwaitedKeys(header, cause, hasKeys: hasKeys)
        return count < (cause == .otherEpoch ? 2 : 1)
    }
}

/// Keys that a key change may be about to publish: it has committed, and holds the lock of
/// writers until they are published.
struct AwaitedKeys {
    let lockState: LockStateStore
    /// Whether there are keys of another epoch. If there are none, the keychain is most likely just
    /// locked.
    let areReplaced: Bool

    /// - Parameter hasKeys: Whether keys of any scope are open.
    /// - Returns: nil if nothing is to be expected: the keychain is locked.
    init?(_ header: KeychainHeader, _ cause: LockCause, hasKeys: Bool) {
        areReplaced = cause == .otherEpoch
        guard let lockState = header.lockState, areReplaced || !hasKeys else { return nil }
        self.lockState = lockState
    }
}
