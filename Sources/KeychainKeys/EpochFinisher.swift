// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeybag
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetLockState
internal import ValetSealing
package import ValetSystem

/// The rest of an epoch change, from wherever it was left: docs/FORMAT.md §4.4, steps 3 to 5. The
/// call that began the change finishes it; where that ended early, every write does a part of it.
package struct EpochFinisher {
    private static let operation = "change the keys"
    /// How long others may go first between two batches, in nanoseconds.
    private static let pause: Int64 = 5_000_000
    /// How long one batch waits for others.
    private static let patience = Duration.seconds(5)
    /// How often in a row it may do so in vain: the program in the way seals rows, too.
    private static let attemptLimit = 12

    private let keychain: OpenKeychain

    /// Finishes what was left undone in `keychain`.
    package init(keychain: OpenKeychain) {
        self.keychain = keychain
    }

    /// Goes on with an epoch change for as long as `deadline` allows.
    ///
    /// - Parameters:
    ///   - begun: What the caller has begun; nil for a change that another call left, and an
    ///     unlock.
    ///   - progress: Is told how many rows were looked at.
    /// - Returns: Whether nothing is left to be done.
    /// - Throws: ``KeychainFailure``: `locked`, `timedOut`, `diskFull`, `inputOutput`; what was
    ///   done stays.
    package func finish(
        before deadline: Deadline, of begun: BegunEpoch? = nil,
        progress: (_ rowCount: Int) -> Void = { _ in }
    ) throws(KeychainFailure) -> Bool {
        let kept = keychain.takeProofForResealing()
        var progressed = Resealing(keys: begun?.keys, proof: begun?.proof ?? kept)
        var attempt = 0
        while true {
            do throws(KeychainFailure) {
                guard try goOn(&progressed) else { break }
                attempt = 0
            } catch {
                attempt += 1
                guard error.code == .timedOut, attempt < Self.attemptLimit else { throw error }
            }
            progress(progressed.count)
            guard deadline.sleep(atMost: Self.pause) else { return false }
        }
        guard !progressed.waitsForPasscode else { return false }
        return try erase(Deadline(after: Self.patience))
    }

    /// One batch; also what is left to do once there are no more rows of the older epoch.
    ///
    /// - Returns: Whether there is more that can be done now.
    private func goOn(_ resealing: inout Resealing) throws(KeychainFailure) -> Bool {
        let (above, proof) = (resealing.number, resealing.proof)
        let call = StoreCall(
            operation: Self.operation, location: keychain.location,
            deadline: Deadline(after: Self.patience),
            now: Moment(nanoseconds: WallClock.nanoseconds))
        let outcome = try translating(Self.operation) {
            try keychain.write(call, isOfItems: false, with: resealing.keys) { access in
                let header = try keychain.currentFacts(access.store)
                return try EpochWriter(
                    writer: access.writer, header: header, state: access.state, proof: proof
                ).goOn(above: above)
            }
        }
        switch outcome {
        case .done: return false
        case .waitsForPasscode:
            resealing.waitsForPasscode = true
            return false
        case .sealed(let count, let next):
            resealing.count += count
            resealing.number = next
            return true
        }
    }

    /// After a write: one batch of an epoch change that no other call may finish. If it fails, the
    /// write is done all the same, and the next one tries again.
    ///
    /// - Parameter state: What the write has seen. Other threads may have seen something else
    ///   since, or before, and rows of keys that a state does not know look damaged to it.
    /// - Returns: How long the writer is to let others go first, in nanoseconds: it had the lock
    ///   for long, and a waiter looks every two milliseconds.
    func goOn(_ writer: RowWriter, _ state: OpenKeys) -> Int64 {
        let isChanging = state.rows.older != nil
        if !isChanging, keychain.resealedNumber == .max { keychain.resealedNumber = .min }
        if isChanging {
            // The next unlock with the passcode does the rest.
            guard keychain.resealedNumber < .max else { return 0 }
            guard state.rows.isComplete, (try? sealBatch(writer, state)) == true else {
                return Self.pause
            }
        }
        if mayEraseNow() { _ = try? erase(writer) }
        return isChanging ? Self.pause : 0
    }

    /// - Returns: Whether no row of the older epoch is left.
    private func sealBatch(_ writer: RowWriter, _ state: OpenKeys) throws -> Bool {
        let transaction = try Transaction(on: writer.connection)
        let outcome = try EpochWriter(writer: writer, header: state.facts, state: state.rows).goOn(
            above: keychain.resealedNumber)
        try transaction.commit()
        switch outcome {
        case .done: keychain.resealedNumber = .min
        case .sealed(_, let next): keychain.resealedNumber = next
        // The next unlock with the passcode does what is left.
        case .waitsForPasscode: keychain.resealedNumber = .max
        }
        return outcome == .done
    }

    // Erasing.

    private var pool: ConnectionPool { keychain.pool }

    /// A larger database is not written anew: that would keep others waiting. What was deleted in
    /// it has been overwritten with zeros.
    private static let largestRewrite = 64 << 20
    private static let erasingPatience = Duration.seconds(1)
    private static let rewritePatience = Duration.seconds(30)
    /// In nanoseconds.
    private static let erasureInterval: Int64 = 60_000_000_000

    /// Erases what the last epoch left.
    ///
    /// - Returns: Whether nothing is left to be done: not while a reader still uses the old rows.
    /// - Throws: ``KeychainFailure``: `timedOut`, `diskFull`, `inputOutput`.
    private func erase(_ deadline: Deadline) throws(KeychainFailure) -> Bool {
        try translating("erase old keys") {
            guard !pool.directory.isReadOnly, try keychain.isErasePending() else { return true }
            let held = try pool.lock.acquire(before: deadline)
            // Another process may have been quicker.
            guard try pool.isInPlace(), try keychain.isErasePending() else { return true }
            let writer = try pool.writer(deadline)
            let isErased = try erase(writer)
            _ = consume held
            return isErased
        }
    }

    /// Whether a write should see to it that old keys are erased: when it has not been looked
    /// for, and now and then while a reader is in the way.
    func mayEraseNow() -> Bool {
        let next = keychain.nextErasure
        guard next < .max else { return false }
        let now = Deadline(after: .zero).nanoseconds
        guard now >= next else { return false }
        keychain.nextErasure = now + Self.erasureInterval
        // What cannot be told now is looked for again.
        guard let isPending = try? keychain.isErasePending() else { return false }
        if !isPending { keychain.nextErasure = .max }
        return isPending
    }

    /// Like ``erase(_:)-(Deadline)``, for a holder of the lock.
    func erase(_ writer: RowWriter) throws -> Bool {
        let facts = try facts(writer)
        guard facts.older == nil else { return false }
        try publishNewest(facts)
        guard try cutLog(writer) else { return false }
        try tidyDeviceKeys(facts)
        try pool.directory.remove(OpenKeychain.erasePendingName)
        try pool.directory.sync()
        return true
    }

    private func facts(_ writer: RowWriter) throws -> KeychainHeader {
        let transaction = try ReadTransaction(on: writer.connection)
        let facts = try keychain.currentFacts(writer.reading)
        _ = consume transaction
        return facts
    }

    /// Takes the keys of older epochs out of the lock state, if they are in it. No process
    /// changes epochs now, so keys that do not fit are of no use.
    private func publishNewest(_ facts: KeychainHeader) throws {
        defer { keychain.announceLockState() }
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

    /// - Returns: false if a process still reads from the log.
    private func cutLog(_ writer: RowWriter) throws -> Bool {
        let connection = writer.connection
        let deadline = connection.deadline
        connection.deadline = Deadline(after: Self.erasingPatience)
        defer { connection.deadline = deadline }
        do throws(SystemError) {
            try connection.checkpoint(.truncate)
            let size = try pool.directory.check(file: KeychainFile.database)?.byteCount ?? 0
            if size <= Self.largestRewrite {
                connection.deadline = Deadline(after: Self.rewritePatience)
                try connection.vacuum()
                connection.deadline = Deadline(after: Self.erasingPatience)
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
    private func tidyDeviceKeys(_ facts: KeychainHeader) throws {
        if let folder = try DeviceKeyFolder(keychain.location, facts) {
            try folder.tidy(facts.newest)
        } else if facts.newest.deviceSource == .ownFile {
            throw DeviceKeyFolder.notSeen(keychain.location.deviceFolder)
        }
    }
}

/// How far the rest of an epoch change has come.
private struct Resealing {
    let keys: OpenKeys?
    let proof: PresenceProof?
    var number = Int64.min
    var count = 0
    var waitsForPasscode = false
}

extension EpochWriter {
    /// What a batch came to.
    enum Outcome: Hashable {
        /// There is no older epoch, or no longer.
        case done
        /// So many rows were looked at, and none is left up to `next`.
        case sealed(count: Int, next: Int64)
        /// Only rows are left whose values take a person.
        case waitsForPasscode
    }

    /// Seals a batch; drops the older keybag when no row is left.
    func goOn(above number: Int64) throws -> Outcome {
        guard state.older != nil else { return .done }
        guard state.isComplete else { throw RowFailure.locked }
        let outcome = try sealRows(above: number)
        if let next = outcome.next { return .sealed(count: outcome.count, next: next) }
        guard try hasOlderRows() else {
            try dropOlderKeybag()
            return .done
        }
        // Another process may have left rows below where this began.
        let isToBeginAgain = try hasOlderRows(sealable: true)
        return isToBeginAgain ? .sealed(count: outcome.count, next: .min) : .waitsForPasscode
    }
}
