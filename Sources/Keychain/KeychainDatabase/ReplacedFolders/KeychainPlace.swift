// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetSystem

/// The place of an open keychain: its folder's path, and the files that have to be there.
///
/// SQLite opens `keychain.db`, `-wal` and `-shm` by their paths once, and never looks there again.
/// Suppose that somebody then moves the folder away and puts a backup in its place, or that a
/// cleaning program removes `-shm`. This process would go on with files that no other process has:
/// two programs would each overwrite what the other one commits.
///
/// So there is one look: do the paths still lead to the files that are open? It compares device and
/// inode, and the length of the index. ``ConnectionPool/lockForWriting(_:)`` looks at each write,
/// under the writers' lock. ``wasInPlaceRecently()`` looks before and after a read, ten times a
/// second at most. If the files are others, `SharedKeychain` closes them, opens those at the path,
/// and makes the call again, once. The second time the call fails: "it was replaced while it was in
/// use".
///
/// A key change looks once more before its commit, because it takes long and writes a device key
/// beside the database. Otherwise a look takes no part in a commit. A write that has passed its
/// look belongs to the files that it looked at, wherever they are moved while it runs.
///
/// If only the log or its index is missing, other processes have them open as well.
/// ``ConnectionPool/save(lost:_:)`` then saves what only the open files have: it checkpoints the
/// log, and removes the index at the path, so that every process opens both anew. What cannot be
/// saved is told as an error of the call, or of the process that ends.
///
/// No process may read an index that another one is about to replace. So a process makes a missing
/// log or index only under the writers' lock: ``ConnectionPool`` takes it for such an opening.
final class KeychainPlace: Sendable {
    /// What a look finds.
    enum Finding: Hashable, Sendable {
        case inPlace
        /// The path leads to another database, or to none.
        case replaced
        /// The log or its index is missing, another one, or too short.
        case lost(LogFiles.Part)
    }

    /// The path of the keychain's folder, as it was given.
    let path: String
    private let directory: PrivateDirectory
    let database: FileIdentity
    /// The log and its index; nil before the first connection has read.
    private let log = Lock<LogFiles?>(nil)
    /// When the files were last seen in their place, on the monotonic clock.
    private let lastLook = Atomic<Int64>(.min)
    /// In nanoseconds: how long a read may still use files that were replaced.
    static let lookInterval: Int64 = 100_000_000

    init(_ path: String, _ directory: PrivateDirectory, _ database: FileIdentity) {
        self.path = path
        self.directory = directory
        self.database = database
    }

    /// The log and its index; nil before the first connection has read.
    var files: LogFiles? { log.withLock { $0 } }

    /// Looks at all files. Costs three system calls.
    ///
    /// - Parameter isLocked: Whether the caller holds the writers' lock. Then the log must also
    ///   be as long as its index says.
    /// - Throws: The codes of ``PrivateDirectory/leads(to:as:)`` and
    ///   ``PrivateDirectory/identity(of:)``.
    func look(underLock isLocked: Bool = false) throws(SystemError) -> Finding {
        let finding = try find(underLock: isLocked)
        if finding != .inPlace {
            lastLook.store(.min, ordering: .relaxed)
            // A handle that other code has closed may lead anywhere.
            try directory.checkHandle()
        }
        return finding
    }

    private func find(underLock isLocked: Bool) throws(SystemError) -> Finding {
        guard try directory.leads(to: KeychainFile.database, as: database) else {
            return .replaced
        }
        guard let files else { return .inPlace }
        guard try files.isIndexInPlace() else { return .lost(.index) }
        guard try files.isLogInPlace(whole: isLocked) else { return .lost(.log) }
        return .inPlace
    }

    /// Like ``look(underLock:)``, but looks at most ten times a second.
    func wasInPlaceRecently() throws(SystemError) -> Bool {
        let (now, last) = (Deadline.now, lastLook.load(ordering: .relaxed))
        guard last == .min || now - last > Self.lookInterval else { return true }
        try directory.checkHandle()
        guard try look() == .inPlace else { return false }
        // The time before the look: the files may be replaced right after it.
        lastLook.store(now, ordering: .relaxed)
        return true
    }

    /// Takes in the files that a new connection has opened since `start`. All connections must have
    /// the same.
    ///
    /// - Throws: ``SystemError``: `replaced` if they differ from those of earlier connections.
    func admit(_ connection: Connection, openedSince start: Int64) throws(SystemError) {
        let found = try LogFiles(of: connection, KeychainFile.database, in: directory)
        let areTheSame = log.withLock { known in
            guard let known else {
                known = found
                return true
            }
            return known.areThose(of: connection)
        }
        guard areTheSame else { throw replacement }
        // Opening has just seen all files in their places.
        lastLook.store(start, ordering: .relaxed)
    }

    /// Whether the log and its index exist, so that opening the database makes neither.
    func hasLogFiles() throws(SystemError) -> Bool {
        for part in [LogFiles.Part.log, .index] {
            guard try directory.identity(of: KeychainFile.database + part.rawValue) != nil else {
                return false
            }
        }
        return true
    }

    /// Forgets the log, whose connections are closed.
    ///
    /// - Returns: false in a child of `fork`, if a thread of the parent was at it.
    @discardableResult
    func forgetLog() -> Bool { log.withLockIfAvailable { $0 = nil } != nil }

    /// The error for a keychain that is no longer at its path.
    var replacement: SystemError { Self.replacement(of: path) }

    static func replacement(of path: String) -> SystemError {
        SystemError(.replaced, during: "find the keychain", path: path, hint: "try again")
    }
}

extension ConnectionPool {
    /// Leaves files that are no longer in their place. Saves the changes that only the open log
    /// has. Afterwards every process has to open the keychain anew.
    ///
    /// - Throws: ``SystemError``: `lostChanges` if changes cannot be saved; `busy` if the lock of
    ///   writers, or a connection, is not free.
    func leave(_ deadline: Deadline) throws(SystemError) {
        guard !directory.isReadOnly, try place.look() != .replaced else { return }
        let held = try lock.acquire(before: deadline)
        if case .lost(let part) = try place.look(underLock: true) {
            try save(lost: part, deadline)
        }
        _ = consume held
    }

    /// Saves the changes that only the open files have. The caller holds the lock of writers.
    ///
    /// - Throws: ``SystemError``: `lostChanges`, `busy`.
    func save(lost part: LogFiles.Part, _ deadline: Deadline) throws(SystemError) {
        guard let files = place.files, try !save(files, deadline) else { return }
        throw SystemError(
            .lostChanges, during: "find the log", path: files.path(of: part),
            hint: "check the items that were changed last; only move or copy the whole folder")
    }

    /// The caller holds the writers' lock.
    ///
    /// - Returns: false if changes are lost.
    private func save(_ files: LogFiles, _ deadline: Deadline) throws(SystemError) -> Bool {
        guard try !files.isIndexCut() else {
            // No process may touch the memory of the rest. The log has everything.
            try files.removeIndex()
            return try files.isLogInPlace(whole: false)
        }
        guard try files.isIndexInPlace() else {
            // Other processes may have made a new index of the log, and written since.
            return try files.isLogInPlace(whole: false) || !files.hasChangesOfItsOwn
        }
        // Nobody has written to another log: the index is still that of the open one.
        let isSaved = files.hasChangesOfItsOwn ? try checkpointOpenLog(deadline) : true
        if isSaved { try files.removeOtherLog() }
        try files.removeIndex()
        return isSaved
    }

    /// - Returns: Whether the database file has all changes now.
    private func checkpointOpenLog(_ deadline: Deadline) throws(SystemError) -> Bool {
        let writer = writer.withLock { $0?.connection }
        let reader = writer == nil ? readers.withLock { $0.popLast() } : nil
        defer { if let reader { giveBack(reader) } }
        guard let connection = writer ?? reader?.connection else { throw lock.busy() }
        guard try connection.hasWholeLog() else { return false }
        connection.deadline = deadline
        try connection.checkpoint(.truncate)
        return true
    }
}
