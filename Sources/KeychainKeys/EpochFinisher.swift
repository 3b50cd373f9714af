// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeybag
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetLockState
internal import ValetSealing
package import ValetSystem

/// Finishes an epoch change from wherever it stopped: docs/FORMAT.md §4.4, steps 3 to 5. The call
/// that began the change finishes it. If that call ended early, the next unlock finishes it, and
/// every write seals one batch.
package struct EpochFinisher {
    private static let operation = "change the keys"
    /// The pause between two batches, in which other writers can take the lock, in nanoseconds.
    private static let pause: Int64 = 5_000_000
    /// How long one batch waits for the lock.
    private static let patience = Duration.seconds(5)
    /// How many batches in a row may time out. The program that holds the lock also seals rows, so
    /// the change makes progress all the same.
    private static let attemptLimit = 12

    private let keychain: OpenKeychain

    /// A finisher for the epoch change of `keychain`.
    package init(keychain: OpenKeychain) {
        self.keychain = keychain
    }

    /// Continues an epoch change until `deadline`.
    ///
    /// - Parameters:
    ///   - begun: The change that the caller has begun; nil, as in an unlock, for a change that
    ///     another call has left.
    ///   - progress: Called with the number of rows looked at.
    /// - Returns: Whether nothing is left to do.
    /// - Throws: ``KeychainFailure``: `locked`, `timedOut`, `diskFull`, `inputOutput`. Completed
    ///   batches stay.
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
            // Entries of sync are sealed before the rows, and are not counted.
            if progressed.count > 0 { progress(progressed.count) }
            guard deadline.sleep(atMost: Self.pause) else { return false }
        }
        guard !progressed.waitsForPasscode else { return false }
        return try erase(Deadline(after: Self.patience))
    }

    /// Seals one batch. When no row of the older epoch is left, drops its keybag.
    ///
    /// - Returns: Whether more can be done now.
    private func goOn(_ resealing: inout Resealing) throws(KeychainFailure) -> Bool {
        let (above, proof) = (resealing.number, resealing.proof)
        let call = StoreCall(
            operation: Self.operation, location: keychain.location,
            deadline: Deadline(after: Self.patience),
            now: Moment(nanoseconds: WallClock.nanoseconds))
        let outcome = try translating(Self.operation) {
            try keychain.write(call, for: .keys(resealing.keys)) { access in
                let header = try keychain.currentHeader(access.store)
                return try EpochMigration(
                    writer: access.writer, header: header, state: access.state, proof: proof
                ).goOn(above: above, entry: keychain.resealedEntry(in: header.newest.epoch))
            }
        }
        switch outcome {
        case .done: return false
        case .sealedEntries(let next, let epoch):
            keychain.noteResealed(entry: next, in: epoch)
            return true
        case .waitsForPasscode:
            resealing.waitsForPasscode = true
            return false
        case .sealed(let count, let next):
            resealing.count += count
            resealing.number = next
            return true
        }
    }

    /// Seals one batch after a write, in case no other call finishes the change. If the batch
    /// fails, the write still counts, and the next write tries again.
    ///
    /// - Parameter state: The keys that the write has used. Keys of another moment would not do:
    ///   rows of an epoch that they lack look damaged.
    /// - Returns: The pause, in nanoseconds, that the writer makes for other writers. It held the
    ///   lock for long, and waiting processes poll every two milliseconds.
    func goOn(_ writer: RowWriter, _ state: OpenKeys) -> Int64 {
        let isChanging = state.rows.older != nil
        if !isChanging, keychain.resealedNumber == .max { keychain.resealedNumber = .min }
        if isChanging {
            // Only rows that need the passcode are left: the next unlock seals them.
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
        let outcome = try EpochMigration(writer: writer, header: state.header, state: state.rows)
            .goOn(
                above: keychain.resealedNumber,
                entry: keychain.resealedEntry(in: state.header.newest.epoch))
        try transaction.commit()
        switch outcome {
        case .done: keychain.resealedNumber = .min
        case .sealedEntries(let next, let epoch): keychain.noteResealed(entry: next, in: epoch)
        case .sealed(_, let next): keychain.resealedNumber = next
        // The next unlock has the passcode, and seals the remaining rows.
        case .waitsForPasscode: keychain.resealedNumber = .max
        }
        return outcome == .done
    }

    // Erasing.

    private var pool: ConnectionPool { keychain.pool }

    /// A larger database is not rewritten, because other writers would wait for it. SQLite has
    /// overwritten its deleted rows with zeros.
    private static let largestRewrite = 64 << 20
    private static let erasingPatience = Duration.seconds(1)
    private static let rewritePatience = Duration.seconds(30)
    /// In nanoseconds.
    private static let erasureInterval: Int64 = 60_000_000_000

    /// Erases the remains of the last epoch from the log, the database and the device keys.
    ///
    /// - Returns: Whether nothing is left to do: false while a reader still uses the old rows.
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

    /// Whether a write should try to erase old keys: at the first write, and once a minute while a
    /// reader prevents it.
    func mayEraseNow() -> Bool {
        let next = keychain.nextErasure
        guard next < .max else { return false }
        let now = Deadline(after: .zero).nanoseconds
        guard now >= next else { return false }
        let (later, isNever) = now.addingReportingOverflow(Self.erasureInterval)
        keychain.nextErasure = isNever ? .max : later
        // If the marker cannot be checked now, a later write checks again.
        guard let isPending = try? keychain.isErasePending() else { return false }
        if !isPending { keychain.nextErasure = .max }
        return isPending
    }

    /// Like ``erase(_:)-(Deadline)``, for a holder of the lock.
    func erase(_ writer: RowWriter) throws -> Bool {
        let header = try header(writer)
        guard header.older == nil else { return false }
        try publishNewest(header)
        guard try cutLog(writer) else { return false }
        try tidyDeviceKeys(header)
        try pool.directory.remove(OpenKeychain.erasePendingName)
        try pool.directory.sync()
        return true
    }

    private func header(_ writer: RowWriter) throws -> KeychainHeader {
        let transaction = try ReadTransaction(on: writer.connection)
        let header = try keychain.currentHeader(writer.reading)
        _ = consume transaction
        return header
    }

    /// Removes the keys of older epochs from the lock state. The caller holds the writers' lock, so
    /// no process can change epochs now, and keys of other epochs have no use.
    private func publishNewest(_ header: KeychainHeader) throws {
        defer { keychain.announceLockState() }
        guard let lockState = header.lockState else {
            return try header.sharedLockState.lock(all: true)
        }
        let reading = lockState.current(expecting: header.marks)
        switch reading {
        case .beforeFirstUnlock(.otherEpoch): try lockState.lock(all: true)
        case .locked(_, .otherEpoch): try lockState.lock(all: false)
        case .unlocked, .locked, .beforeFirstUnlock, .unknown: break
        }
        guard let newest = reading.keys?.keys(of: header.newest.epoch) else { return }
        try lockState.replaceOpenKeys(expecting: header.marks, with: [newest])
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

    /// Gives the device key in use its usual name, and erases the outdated ones.
    private func tidyDeviceKeys(_ header: KeychainHeader) throws {
        if let folder = try DeviceKeyFolder(keychain.location, header) {
            try folder.tidy(header.newest)
        } else if header.newest.deviceSource == .ownFile {
            throw DeviceKeyFolder.notSeen(keychain.location.deviceFolder)
        }
    }
}

/// The progress of an epoch change.
private struct Resealing {
    let keys: OpenKeys?
    let proof: PresenceProof?
    var number = Int64.min
    var count = 0
    var waitsForPasscode = false
}

extension EpochMigration {
    /// The result of one batch.
    enum Outcome: Hashable {
        /// There is no older epoch any more.
        case done
        /// No entry of sync of the older epoch is left up to number `next`.
        case sealedEntries(next: Int64, in: Epoch)
        /// The batch looked at `count` rows. No row of the older epoch is left up to number `next`.
        case sealed(count: Int, next: Int64)
        /// The only rows left are those whose values require the user's presence.
        case waitsForPasscode
    }

    /// Seals a batch; drops the older keybag when neither an entry nor a row is left.
    func goOn(above number: Int64, entry: Int64) throws -> Outcome {
        guard state.older != nil else { return .done }
        guard state.isComplete else { throw RowFailure.locked }
        // Rows come first: entries say nothing of the names of items that have rows.
        var count = 0
        if entry == .min || entry == .max {
            let outcome = try sealRows(above: number)
            if let next = outcome.next { return .sealed(count: outcome.count, next: next) }
            count = outcome.count
        }
        if entry != .max {
            // A keychain without a circle ends its change with the rows.
            let next = try sealEntries(above: entry)
            guard next == .max else {
                return .sealedEntries(next: next, in: header.newest.epoch)
            }
        }
        guard try hasOlderRows() else {
            try dropOlderKeybag()
            return .done
        }
        // Another process may have left rows with lower numbers than this one began with.
        let isToBeginAgain = try hasOlderRows(sealable: true)
        return isToBeginAgain ? .sealed(count: count, next: .min) : .waitsForPasscode
    }
}
