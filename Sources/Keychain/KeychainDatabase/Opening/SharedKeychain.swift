// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
package import ValetKeychainModel
package import ValetSealing
package import ValetSystem

// From a call to the open keychain: a process has one `SharedKeychain` for each folder, kept in
// `KeychainRegistry`. `CallAttempts` repeats a call if the folder was replaced, and `fork` is
// handled here. `ItemStore.attempt` uses all of them.

/// One call of `ItemStore`: its operation, place and deadline.
package struct StoreCall {
    /// The name of the call in failures, such as "set the passcode".
    package let operation: String
    package let location: KeychainLocation
    /// When all waiting of the call ends.
    package let deadline: Deadline
    /// The time, for an item's dates and a row's logical time.
    package let now: Moment
    /// Whether to create a keychain that does not exist.
    package var isCreating = false
    /// Whether the call takes back what it has written, instead of committing it.
    package var isRehearsal = false
    /// How many bytes of values the call writes, if it may share its commit with other calls.
    package var byteCount: Int?
    /// The only database that the call may use: the one that an earlier step of the same work has
    /// used. nil for the one that is at the path.
    package var database: FileIdentity?
    /// Whether the call fails if `$VALET_LOCK_STATE` has an unknown value. False for a lock: a
    /// mistyped variable must not leave a keychain open.
    package var checksSettings = true
    /// Whether the call reads or writes items: such a call fails if changes were lost. Others may
    /// have callers that can do without an answer, and pass over failures.
    package var isForItems = true

    /// A call that reads or writes items of an existing keychain.
    package init(
        operation: String, location: KeychainLocation, deadline: Deadline, now: Moment
    ) {
        self.operation = operation
        self.location = location
        self.deadline = deadline
        self.now = now
    }
}

/// The open keychain of one process and one folder, opened by the first call that needs it.
package final class SharedKeychain: Sendable {
    private let keychain = Lock<OpenKeychain?>(nil)
    /// Counts the calls that use the files. After a fork during one, the child cannot use the
    /// keychain.
    private let uses = UseCount()
    /// The keychain that was open last.
    private let last = Lock<KeychainID?>(nil)
    /// Changes that are lost, and that no call for items has told of yet.
    private let untoldLoss = Lock<SystemError?>(nil)
    /// The settings are checked once per slot: the system calls for the process's ids take longer
    /// than reading an item.
    private let hasCheckedSettings = Atomic<Bool>(false)
    private let isUsable: Bool
    private let openSlots: OpenSlots

    fileprivate init(isUsable: Bool, countedIn openSlots: OpenSlots) {
        self.isUsable = isUsable
        self.openSlots = openSlots
        openSlots.count.add(1, ordering: .sequentiallyConsistent)
    }

    deinit {
        _ = close()
        openSlots.count.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// The attempts of one call.
    ///
    /// - Throws: ``KeychainFailure/Code/internalFault`` in a child of `fork` that inherited calls;
    ///   ``KeychainFailure/Code/inputOutput`` if other code has closed descriptors.
    package func attempts(_ call: StoreCall) throws(KeychainFailure) -> CallAttempts {
        guard !ClosedDescriptors.wereFound else {
            throw KeychainFailure(
                ClosedDescriptors.error(at: call.location.folder), during: call.operation)
        }
        guard isUsable else {
            throw KeychainFailure(
                .internalFault, during: call.operation,
                message: "the process was forked while another thread was using the keychain",
                hint: "start a program with exec after fork, or fork before using threads")
        }
        return CallAttempts(self, call, try use(for: call))
    }

    /// Keeps the files open.
    ///
    /// - Throws: ``KeychainFailure/Code/timedOut`` if another thread is closing the files.
    func use(for call: StoreCall) throws(KeychainFailure) -> KeychainUse {
        guard let use = KeychainUse(uses, before: call.deadline) else {
            throw KeychainFailure(
                .timedOut, during: call.operation, message: "this process is closing the keychain",
                path: call.location.folder)
        }
        return use
    }

    /// The id of the keychain whose files are open, or were open last; nil before the first
    /// reading.
    package var keychainID: KeychainID? {
        if let keychain = keychain.withLock({ $0 }) { return keychain.keychainID }
        return last.withLock { $0 }
    }

    private var isClosedByExit: Bool {
        keychain.withLock { $0?.pool.isClosedByExit } ?? true
    }

    /// Closes the files, unless a call is using them.
    ///
    /// - Parameter isAtExit: Whether the process ends now. Then files that need nothing but closing
    ///   are left to the kernel, and no call can use the closed ones again.
    /// - Returns: Also closed if only what the kernel closes as well is open.
    package func close(atExit isAtExit: Bool = false) -> Closing {
        var closing = Closing()
        if isAtExit, isClosedByExit { return closing }
        closing.isClosed = uses.whileUnused(forGood: isAtExit) {
            let loss = keychain.withLock { $0.take() }?.close() ?? untoldLoss.withLock { $0.take() }
            closing.loss = loss.map { KeychainFailure($0, during: "store the last changes") }
        }
        return closing
    }

    /// In a child of `fork`: closes the connections that the parent had open.
    ///
    /// - Returns: false if the parent was in the middle of a call.
    fileprivate func closeInherited() -> Bool {
        guard isUsable, uses.isUnused,
            let keychain = keychain.withLockIfAvailable({ $0 })
        else { return false }
        return keychain?.closeInherited() ?? true
    }

    /// The open keychain, opened for `call` if necessary; nil if it does not exist and `call` does
    /// not create it.
    fileprivate func current(_ call: StoreCall) throws(KeychainFailure) -> OpenKeychain? {
        if call.checksSettings, !hasCheckedSettings.load(ordering: .relaxed) {
            try LockStates.checkSetting(during: call.operation)
            hasCheckedSettings.store(true, ordering: .relaxed)
        }
        if call.isForItems, let loss = untoldLoss.withLock({ $0.take() }) {
            throw KeychainFailure(loss, during: call.operation)
        }
        if let known = keychain.withLock({ $0 }) {
            let isInPlace = try translating(
                known.pool.place.wasInPlaceRecently(), during: call.operation)
            if isInPlace { return known }
            try leave(known, call)
        }
        let creation = KeychainCreation(call.location, call.deadline)
        let fresh = try call.isCreating ? creation.openOrCreate() : creation.open()
        guard let fresh else { return nil }
        return try translating(keep(fresh), during: call.operation)
    }

    /// Keeps a keychain that was just opened, unless another thread was faster: a process has one
    /// set of connections.
    ///
    /// - Returns: The keychain that is kept.
    private func keep(_ fresh: OpenKeychain) throws(SystemError) -> OpenKeychain {
        while true {
            let known = keychain.withLock { $0 }
            if let known, try known.pool.place.look() == .inPlace { return known }
            let isKept = keychain.withLock { keychain in
                guard keychain === known else { return false }
                keychain = fresh
                return true
            }
            if isKept { return fresh }
        }
    }

    /// Forgets a keychain whose files are not in their place. They are closed once the last call
    /// that uses them has ended.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput` if changes are lost; `timedOut` if the lock of
    ///   writers is not free: then it is not forgotten yet.
    fileprivate func leave(_ known: OpenKeychain, _ call: StoreCall) throws(KeychainFailure) {
        do {
            try known.pool.leave(call.deadline)
        } catch {
            if error.code == .lostChanges {
                drop(known)
                if !call.isForItems { untoldLoss.withLock { $0 = error } }
            }
            throw KeychainFailure(error, during: call.operation)
        }
        drop(known)
    }

    private func drop(_ replaced: OpenKeychain) {
        let dropped = keychain.withLock { keychain in
            guard keychain === replaced else { return OpenKeychain?.none }
            return keychain.take()
        }
        if let keychainID = dropped?.keychainID { last.withLock { $0 = keychainID } }
    }
}

/// The attempts of one call, of which there are two at most: the loop of `ItemStore.attempt`.
///
/// A call that fails has changed nothing. If it fails because the keychain is not in its place any
/// more, ``repeatUnlessFinal(_:)`` drops the open keychain and lets the call be made again, once.
package struct CallAttempts: ~Copyable {
    private let slot: SharedKeychain
    private let call: StoreCall
    private let use: KeychainUse
    private var current: OpenKeychain?
    private var isRepeated = false

    fileprivate init(_ slot: SharedKeychain, _ call: StoreCall, _ use: consuming KeychainUse) {
        self.slot = slot
        self.call = call
        self.use = use
    }

    /// The keychain for the next attempt; nil if it does not exist and the call does not create it.
    ///
    /// - Throws: ``KeychainFailure``: `timedOut` if the call is for another database than the one
    ///   at the path.
    package mutating func next() throws(KeychainFailure) -> OpenKeychain? {
        current = nil
        let found = try slot.current(call)
        if let database = call.database {
            guard let found, found.pool.place.database.isSameFile(as: database) else {
                throw KeychainFailure(
                    KeychainPlace.replacement(of: call.location.folder), during: call.operation)
            }
        }
        current = found
        return found
    }

    /// Returns if the call is to be made again after a failed attempt, and throws otherwise.
    ///
    /// - Throws: The ``KeychainFailure`` of the call, if it is final.
    package mutating func repeatUnlessFinal(
        _ error: KeychainFailure
    ) throws(KeychainFailure) {
        let failure = error.unlessOfKeybag(call.operation).withUnlockAdvice
        let isOfReplacement = try leaveIfReplaced(after: failure)
        guard isOfReplacement, !isRepeated, !call.deadline.hasPassed else {
            guard !isOfReplacement, let current else { throw failure }
            throw current.reason(for: failure, call.deadline)
        }
        isRepeated = true
    }

    /// - Returns: Whether the keychain that was used is not in its place any more.
    private func leaveIfReplaced(after failure: KeychainFailure) throws(KeychainFailure) -> Bool {
        guard let current else { return failure.isOfReplacement }
        let isInPlace = try translating(call.operation) { () throws(SystemError) in
            // An error from another program's file is not a failure of the keychain.
            try current.directory.checkHandle()
            return try current.pool.place.look() == .inPlace
        }
        guard !isInPlace || failure.isOfReplacement else { return false }
        try slot.leave(current, call)
        return true
    }
}

/// The slots of this process, one for each keychain folder in use.
///
/// SQLite's locks belong to a process and a file, so two sets of connections to one file must know
/// of each other. After a fork, the child closes everything inherited before it opens anything.
package final class KeychainRegistry: Sendable {
    private struct Entry {
        let slot: SharedKeychain
        /// How many leases there are.
        var leaseCount = 0
    }

    private static let current = ProcessLocal<KeychainRegistry> { inherited in
        KeychainRegistry(inherited: inherited)
    }

    /// The slots, by the bytes of the folder's path: strings that are equal in Swift may name two
    /// folders.
    private let slots = Lock<[[UInt8]: Entry]>([:])
    /// Counts slots whose connections may be open: those in ``slots``, and those being released.
    private let openSlots = OpenSlots()
    private let isUsable: Bool

    private init(inherited: KeychainRegistry?) {
        isUsable = inherited?.closeInherited() ?? true
    }

    package static func lease(of folder: String) -> SlotLease {
        current.value.lease(of: Array(folder.utf8))
    }

    /// Closes the files of every keychain that no call is using: ``SharedKeychain/close(atExit:)``.
    ///
    /// - Returns: Closed if no call was using any; the first loss.
    package static func closeAll(atExit isAtExit: Bool = false) -> Closing {
        let slots = current.value.slots.withLock { $0.values.map(\.slot) }
        return slots.reduce(into: Closing()) { all, slot in
            let closing = slot.close(atExit: isAtExit)
            all.isClosed = all.isClosed && closing.isClosed
            all.loss = all.loss ?? closing.loss
        }
    }

    private func lease(of folder: [UInt8]) -> SlotLease {
        let slot = slots.withLock { slots in
            var entry =
                slots[folder]
                ?? Entry(slot: SharedKeychain(isUsable: isUsable, countedIn: openSlots))
            entry.leaseCount += 1
            slots[folder] = entry
            return entry.slot
        }
        return SlotLease(slot, self, folder)
    }

    fileprivate func end(_ lease: SlotLease) {
        // Nothing is released under the lock: that closes files.
        _ = slots.withLock { slots -> SharedKeychain? in
            guard var entry = slots[lease.folder] else { return nil }
            entry.leaseCount -= 1
            slots[lease.folder] = entry.leaseCount > 0 ? entry : nil
            return entry.slot
        }
    }

    private func closeInherited() -> Bool {
        guard isUsable else { return false }
        // The lock is held to the end, so that a child that is forked during the call finds it
        // taken.
        let isClosed = slots.withLockIfAvailable { slots in
            let reachable = slots.values.map(\.slot)
            // A slot that was being released cannot be reached, and may have been closing its
            // files.
            guard reachable.count == openSlots.count.load(ordering: .sequentiallyConsistent) else {
                return false
            }
            return reachable.allSatisfy { $0.closeInherited() }
        }
        return isClosed ?? false
    }
}

/// Keeps the slot of a folder open. Each ``ItemStore`` has one.
///
/// No weak reference leads to a slot: retaining an object that has some takes several times as
/// long, and each call does it.
package final class SlotLease: Sendable {
    package let slot: SharedKeychain
    private let registry: KeychainRegistry
    fileprivate let folder: [UInt8]

    fileprivate init(_ slot: SharedKeychain, _ registry: KeychainRegistry, _ folder: [UInt8]) {
        self.slot = slot
        self.registry = registry
        self.folder = folder
    }

    deinit { registry.end(self) }
}

/// Keeps the files of a slot open. A call has one, and so has a snapshot that outlives its call.
struct KeychainUse: ~Copyable {
    private let count: UseCount

    /// - Returns: nil at the deadline, while another thread is closing the files.
    fileprivate init?(_ count: UseCount, before deadline: Deadline) {
        guard count.begin(before: deadline) else { return nil }
        self.count = count
    }

    deinit { count.end() }
}

/// Counts the calls that use the files of a slot, so that the files are closed only between calls.
///
/// A call that runs when its process ends is like a call whose process is killed: the kernel
/// releases its locks and closes its files, and the next process recovers the database. If another
/// thread closed the files under it, it could go on writing without any lock.
final class UseCount: Sendable {
    /// The number of uses. While the files are being closed it is below 0: ``closing`` is added.
    private let count = Atomic<Int>(0)
    private static let closing = Int.min / 2
    /// In nanoseconds.
    private static let pause: Int64 = 100_000

    /// Whether nothing uses the files.
    var isUnused: Bool { count.load(ordering: .sequentiallyConsistent) == 0 }

    /// Counts a use, after a closing that is under way.
    ///
    /// - Returns: false at the deadline.
    fileprivate func begin(before deadline: Deadline) -> Bool {
        while count.add(1, ordering: .sequentiallyConsistent).oldValue < 0 {
            end()
            guard deadline.sleep(atMost: Self.pause) else { return false }
        }
        return true
    }

    fileprivate func end() { count.subtract(1, ordering: .sequentiallyConsistent) }

    /// Runs `body` if nothing uses the files.
    ///
    /// - Parameter isForGood: Whether no use may begin afterwards.
    /// - Returns: Whether it ran.
    func whileUnused(forGood isForGood: Bool, _ body: () -> Void) -> Bool {
        let (isUnused, _) = count.compareExchange(
            expected: 0, desired: Self.closing, ordering: .sequentiallyConsistent)
        guard isUnused else { return false }
        body()
        if !isForGood { count.subtract(Self.closing, ordering: .sequentiallyConsistent) }
        return true
    }
}

/// The number of slots. Each counts from before it opens anything until it has closed everything.
final class OpenSlots: Sendable {
    let count = Atomic<Int>(0)
}
