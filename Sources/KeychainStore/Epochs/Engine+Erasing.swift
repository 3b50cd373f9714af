// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetLockState
internal import ValetSealing
internal import ValetSystem

/// The end of an epoch change: docs/FORMAT.md §4.4, step 5.
extension Engine {
    private static let operation = "erase old keys"
    /// A larger database is not written anew: that would keep others waiting. What was deleted in
    /// it has been overwritten with zeros.
    private static let largestRewrite = 64 << 20
    private static let patience = Duration.seconds(1)
    private static let rewritePatience = Duration.seconds(30)
    /// In nanoseconds.
    private static let erasureInterval: Int64 = 60_000_000_000

    /// Whether old keys may still be on the disk.
    func isErasePending() throws(SystemError) -> Bool {
        try directory.check(file: Self.erasePendingName) != nil
    }

    /// Erases what the last epoch left.
    ///
    /// - Returns: Whether nothing is left to be done: not while somebody reads what was before.
    /// - Throws: ``KeychainFailure``: `timedOut`, `diskFull`, `inputOutput`.
    func erase(_ deadline: Deadline) throws(KeychainFailure) -> Bool {
        try translating(Self.operation) {
            guard !directory.isReadOnly, try isErasePending() else { return true }
            let held = try lock.acquire(before: deadline)
            // Somebody may have been quicker.
            guard try isInPlace(), try isErasePending() else { return true }
            let writer = try writer(deadline)
            let isErased = try erase(writer)
            _ = consume held
            return isErased
        }
    }

    /// Whether a write should see to it that old keys are erased: when it has not been looked
    /// for, and now and then while somebody is in the way.
    func mayEraseNow() -> Bool {
        let next = nextErasure
        guard next < .max else { return false }
        let now = Deadline(after: .zero).nanoseconds
        guard now >= next else { return false }
        nextErasure = now + Self.erasureInterval
        // What cannot be told now is looked for again.
        guard let isPending = try? isErasePending() else { return false }
        if !isPending { nextErasure = .max }
        return isPending
    }

    /// As ``erase(_:)-(Deadline)``, for a holder of the lock.
    func erase(_ writer: StoreWriter) throws -> Bool {
        let facts = try facts(writer)
        guard facts.older == nil else { return false }
        try publishNewest(facts)
        guard try cutLog(writer) else { return false }
        try tidyDeviceKeys(facts)
        try directory.remove(Self.erasePendingName)
        try directory.sync()
        return true
    }

    private func facts(_ writer: StoreWriter) throws -> KeychainFacts {
        let transaction = try ReadTransaction(on: writer.connection)
        let facts = try currentFacts(writer.reading)
        _ = consume transaction
        return facts
    }

    /// Takes the keys of older epochs out of the lock state, if they are in it. Nobody changes
    /// epochs now: what does not fit is of use to nobody.
    private func publishNewest(_ facts: KeychainFacts) throws {
        defer { announceLockState() }
        guard let lockState = facts.lockState else {
            return try facts.sharedLockState.lock(all: true)
        }
        let reading = lockState.current(expecting: facts.marks)
        switch reading {
        case .beforeFirstUnlock(.otherEpoch): try lockState.lock(all: true)
        case .locked(_, .otherEpoch): try lockState.lock(all: false)
        case .unlocked, .locked, .beforeFirstUnlock, .unknown: break
        }
        guard let newest = reading.keys?.keys(of: facts.newest.epoch) else { return }
        try lockState.replaceOpenKeys(expecting: facts.marks, with: [newest])
    }

    /// - Returns: false if somebody still reads from the log.
    private func cutLog(_ writer: StoreWriter) throws -> Bool {
        let connection = writer.connection
        let deadline = connection.deadline
        connection.deadline = Deadline(after: Self.patience)
        defer { connection.deadline = deadline }
        do throws(SystemError) {
            try connection.checkpoint(.truncate)
            let size = try directory.check(file: KeychainLocation.databaseName)?.byteCount ?? 0
            if size <= Self.largestRewrite {
                connection.deadline = Deadline(after: Self.rewritePatience)
                try connection.vacuum()
                connection.deadline = Deadline(after: Self.patience)
                try connection.checkpoint(.truncate)
            }
            writer.hasRoomInLog = false
            writer.hasReserveInLog = false
            return true
        } catch {
            guard error.code == .busy else { throw error }
            return false
        }
    }

    /// Gives the device key its usual name, and erases those that nothing needs any more.
    private func tidyDeviceKeys(_ facts: KeychainFacts) throws {
        if let folder = try DeviceKeyFolder(location, facts) {
            try folder.tidy(facts.newest)
        } else if facts.newest.deviceSource == .ownFile {
            throw DeviceKeyFolder.notSeen(location.deviceFolder)
        }
    }
}
