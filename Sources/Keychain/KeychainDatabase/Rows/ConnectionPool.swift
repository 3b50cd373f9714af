// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization
internal import ValetDatabase
package import ValetKeychainModel
package import ValetSystem

/// The names of a keychain's files: docs/FORMAT.md §2.
package enum KeychainFile {
    /// The SQLite database.
    package static let database = "keychain.db"
    /// The name that the database has until it is complete.
    package static let newDatabase = "keychain.db.new"
    /// The file whose lock is held by every writer.
    package static let lock = "keychain.lock"
    /// Touched at each change of the lock state, which wakes watchers; it is empty.
    package static let state = "keychain.state"
    /// The device key, in the device folder.
    package static let deviceKey = "device.key"
}

/// The connections of this process to one keychain: idle readers, one writer, and the writers' lock
/// of all processes. ``OpenKeychain`` is the only user.
package final class ConnectionPool: Sendable {
    /// The opened folder of the keychain.
    package let directory: PrivateDirectory
    /// the writers' lock.
    package let lock: FileLock
    let place: KeychainPlace
    /// Whether damaged pages are read, too.
    private let isForRepair: Bool
    let readers = Lock<[RowConnection]>([])
    let writer = Lock<RowWriter?>(nil)
    /// Whether the first connection has found the tables and the log to be sound.
    private let isChecked = Atomic<Bool>(false)

    package static let opening = "open the keychain"
    /// Idle connections beyond this number are closed.
    private static let keptReaderCount = 8
    /// Replaying a log of this size takes about 1 ms.
    private static let longLogByteCount = 1 << 20

    /// The connections to the database that `identity` names, none of them open yet.
    package init(
        _ folder: String, _ directory: PrivateDirectory, _ identity: FileIdentity,
        _ lock: FileLock, isForRepair: Bool = false
    ) {
        self.directory = directory
        self.lock = lock
        place = KeychainPlace(folder, directory, identity)
        self.isForRepair = isForRepair
    }

    /// Other connections to the same database, which also read damaged pages.
    func forRepair() -> ConnectionPool {
        ConnectionPool(place.path, directory, place.database, lock, isForRepair: true)
    }

    deinit {
        close()
    }

    // Reading.

    /// Returns an idle connection, or opens one. Return it with ``giveBack(_:)``.
    ///
    /// - Parameter operation: The call, for failures.
    package func borrow(
        _ deadline: Deadline, for operation: String = opening
    ) throws(KeychainFailure) -> RowConnection {
        let idle = readers.withLock { $0.popLast() }
        let reader = if let idle { idle } else { try openReader(deadline, operation) }
        reader.connection.deadline = deadline
        return reader
    }

    /// Takes a reader back.
    package func giveBack(_ reader: RowConnection) {
        readers.withLock { idle in
            if idle.count < Self.keptReaderCount { idle.append(reader) }
        }
    }

    // Writing.

    /// The connection that writes; the caller holds the lock.
    package func writer(
        _ deadline: Deadline, for operation: String = opening
    ) throws(KeychainFailure) -> RowWriter {
        if let writer = writer.withLock({ $0 }) {
            writer.connection.deadline = deadline
            return writer
        }
        let new = RowWriter(try open(deadline, operation).connection)
        writer.withLock { $0 = new }
        return new
    }

    private func openReader(
        _ deadline: Deadline, _ operation: String
    ) throws(KeychainFailure) -> RowConnection {
        let hasFiles = try translating(place.hasLogFiles(), during: operation)
        guard !hasFiles, !directory.isReadOnly else { return try open(deadline, operation) }
        let held = try translating(lock.acquire(before: deadline), during: operation)
        let reader = try open(deadline, operation)
        _ = consume held
        return reader
    }

    /// Opens the database. The caller holds the writers' lock if the log or its index is missing.
    private func open(
        _ deadline: Deadline, _ operation: String
    ) throws(KeychainFailure) -> RowConnection {
        let start = Deadline.now
        let connection = try translating(operation) { () throws(SystemError) in
            try Connection(
                to: KeychainFile.database, in: directory,
                for: directory.isReadOnly ? .readOnly : isForRepair ? .repair : .readWrite,
                deadline: deadline)
        }
        if !isChecked.load(ordering: .relaxed) {
            try translating(Schema.check(connection), during: operation)
            try LogDamage(directory).check(connection, operation)
            isChecked.store(true, ordering: .relaxed)
        }
        try translating(place.admit(connection, openedSince: start), during: operation)
        return RowConnection(connection)
    }

    // Closing.

    /// Whether the process can exit without ``close()``: it has only read, and the log needs no
    /// checkpoint.
    package var isClosedByExit: Bool {
        writer.withLock { $0 == nil } && (try? place.wasInPlaceRecently()) == true && !hasLongLog
    }

    /// Checkpoints the log and closes all connections; no call may be using them. Writes nothing
    /// to a keychain that was replaced. Leaves everything open where other code has closed
    /// descriptors.
    ///
    /// - Returns: Why changes that this process has committed may be lost; nil if they are not.
    @discardableResult
    package func close() -> SystemError? {
        let hasWritten = writer.withLock { $0 != nil }
        guard hasWritten || readers.withLock({ !$0.isEmpty }) || place.files != nil else {
            return nil
        }
        guard (try? directory.checkHandle()) != nil, !ClosedDescriptors.wereFound else {
            return nil
        }
        // A checkpoint by a repair would give damaged pages of the log checksums that fit.
        let loss = isForRepair || directory.isReadOnly ? nil : settle()
        try? writer.withLock { $0.take() }?.connection.close()
        for reader in readers.withLock({ $0.take() }) { try? reader.connection.close() }
        place.forgetLog()
        return hasWritten ? loss : nil
    }

    /// How long a process that ends waits for the lock, to save what only its open log has.
    private static let patience = Duration.seconds(5)

    /// Checkpoints the log, or saves what only the open log has.
    ///
    /// A log that is in its place belongs to every process that has the keychain open. So if
    /// another one holds the lock, that one takes care of it.
    ///
    /// - Returns: Why changes are lost. A look that fails finds no loss.
    private func settle() -> SystemError? {
        guard let finding = try? place.look(), finding != .replaced else { return nil }
        let isInPlace = finding == .inPlace
        let deadline = isInPlace ? Deadline.immediately : Deadline(after: Self.patience)
        guard let held = try? lock.acquire(before: deadline) else {
            return isInPlace ? nil : lock.busy()
        }
        let loss = saveLostChanges() ?? emptyLog()
        try? writer.withLock { $0.take() }?.connection.close()
        _ = consume held
        return loss
    }

    /// - Returns: Why changes are lost.
    private func saveLostChanges() -> SystemError? {
        guard case .lost(let part)? = try? place.look(underLock: true) else { return nil }
        do {
            try save(lost: part, Deadline(after: Self.patience))
            return nil
        } catch {
            return error
        }
    }

    /// - Returns: Why changes are lost: the log was removed before it was empty.
    private func emptyLog() -> SystemError? {
        let last = writer.withLock { $0 }?.connection
        let reader = hasLongLog ? readers.withLock { $0.first }?.connection : nil
        guard let connection = last ?? reader, (try? place.look(underLock: true)) == .inPlace else {
            return nil
        }
        connection.deadline = .immediately
        empty(connection)
        return saveLostChanges()
    }

    /// Checkpoints the log when the pool closes. If that fails, the next writer does it.
    ///
    /// On a disk that is nearly full, does not truncate the log: a file may not get back the space
    /// that it has released, on some file systems not even at once.
    private func empty(_ last: Connection) {
        guard !hasTightSpace else {
            _ = try? last.checkpoint(.passive)
            return
        }
        guard (try? last.checkpoint(.truncate)) != nil else { return }
        try? last.lengthenLog(to: Connection.reservedLogByteCount)
    }

    /// Whether a program that was killed has left a long log, which slows every program that
    /// starts. A process that has only read then checkpoints it, too.
    private var hasLongLog: Bool {
        guard !directory.isReadOnly else { return false }
        let log = try? directory.check(file: KeychainFile.database + "-wal")
        return log.map { $0.byteCount >= Self.longLogByteCount } ?? false
    }

    /// In a child of `fork`: closes what was inherited, so that SQLite's table of open files is
    /// empty when the child opens them itself. The parent's connections are not affected.
    ///
    /// - Returns: false if a thread of the parent was using a connection.
    package func closeInherited() -> Bool {
        guard (try? directory.checkHandle()) != nil else { return false }
        let writers = writer.withLockIfAvailable { $0.take() }
        let idle = readers.withLockIfAvailable { $0.take() }
        guard let writers, let idle, place.forgetLog() else { return false }
        for store in idle + (writers.map { [$0.reading] } ?? []) {
            do {
                try store.connection.close()
            } catch {
                return false
            }
        }
        lock.closeInherited()
        return true
    }
}

/// The length of the log's file. Its room lets commits be cheap, and lets items be removed where
/// the disk is full.
extension ConnectionPool {
    /// The log is checkpointed when it has this many pages. With a larger number, more pages that
    /// changed several times are written to the database only once.
    private static let checkpointFrameCount = 1000
    /// While the log has fewer frames, its file is not lengthened for cheap commits.
    private static let busyFrameCount = 16
    /// With less free space, the log gets only the room that it needs.
    private static let spaceForLog = 64 << 20
    /// The space that stays free on file systems with blocks smaller than pages of memory.
    private static let spaceToOpen = 192 << 10
    /// With less free space, the log should not grow.
    private static let tightSpace = 8 << 20

    /// Restarts the log if the disk is full or nearly full. The room in its file then serves this
    /// transaction, which may be one that removes items. Freed pages are then not overwritten with
    /// zeros, because each of them would go into the log.
    ///
    /// Asks the file system ten times a second at most, and again after each write that has failed
    /// or has made the database longer.
    package func makeRoomInLog(_ writer: RowWriter) {
        let now = Deadline.now
        writer.ampleSpace = writer.lastAmpleSpace
        writer.lastAmpleSpace = nil
        if let last = writer.ampleSpace, now - last < KeychainPlace.lookInterval { return }
        let isTight = hasTightSpace
        writer.ampleSpace = isTight ? nil : now
        if isTight { _ = try? writer.connection.checkpoint(.passive) }
        guard writer.overwritesFreePages == isTight else { return }
        // If this fails, the transaction only writes more.
        try? writer.connection.overwriteFreePages(!isTight)
        writer.overwritesFreePages = !isTight
    }

    private var hasTightSpace: Bool {
        (try? directory.availableByteCount()).map { $0 < Self.tightSpace } ?? false
    }

    /// Before a commit: makes sure that the database and the log have room for a later checkpoint
    /// and a later removal of items. Without that room, a transaction that makes the database
    /// longer is refused; others pass.
    ///
    /// - Throws: ``SystemError``: `diskFull`, `inputOutput`. Then the transaction must end.
    package func reserveRoom(_ writer: RowWriter) throws(SystemError) {
        guard writer.mayHaveGrown() else { return }
        let run = try writer.pageCount.start()
        let pageCount = try run.step() ? run.int64(0) : 0
        try run.finish()
        let growth = try writer.connection.reserveRoom(forPages: pageCount)
        guard growth > 0 else { return }
        writer.ampleSpace = nil
        // Where blocks are small, a program needs free space to open the keychain. The log grows as
        // much as the database.
        if directory.hasSmallBlocks,
            try directory.availableByteCount() - growth < Self.spaceToOpen
        {
            throw SystemError(
                .diskFull, during: "reserve room for the database", path: directory.path)
        }
        guard !writer.hasReserveInLog else { return }
        try writer.connection.lengthenLog(to: Connection.reservedLogByteCount)
        writer.hasReserveInLog = true
    }

    /// After a commit: keeps the log's file long enough for cheap commits, and its contents short.
    package func tendLog(_ writer: RowWriter) {
        // The transaction is already durable, so failures here are left to the next writer.
        writer.lastAmpleSpace = writer.ampleSpace
        let frameCount = writer.connection.walFrameCount
        if !writer.hasReserveInLog {
            writer.hasReserveInLog = true
            try? writer.connection.lengthenLog(to: Connection.reservedLogByteCount)
        }
        if !writer.hasRoomInLog, frameCount >= Self.busyFrameCount {
            writer.hasRoomInLog = true
            if let space = try? directory.availableByteCount(), space >= Self.spaceForLog {
                try? writer.connection.lengthenLog(to: Connection.keptLogByteCount)
            }
        }
        if frameCount >= Self.checkpointFrameCount {
            // Another program may have shortened the log since.
            writer.hasRoomInLog = false
            writer.hasReserveInLog = false
            _ = try? writer.connection.checkpoint(.passive)
        }
    }
}

extension Array {
    /// Empties the array.
    ///
    /// - Returns: The former elements.
    fileprivate mutating func take() -> [Element] {
        defer { self = [] }
        return self
    }
}
