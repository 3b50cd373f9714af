// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCSQLite
package import ValetSystem

// Opens, creates and configures a database. The connection pool and the creation of a keychain use
// it.

extension Connection {
    /// What a connection may do.
    package enum Access: Hashable, Sendable {
        /// Reading and writing an existing database.
        case readWrite
        /// The same, also of pages whose checksums do not fit. What this connection writes gets
        /// checksums that fit, so it may only replace the contents as a whole.
        case repair
        /// Reading an existing database, also on a read-only file system.
        case readOnly
        /// Creating a database, which must not exist, and then reading and writing it.
        case create
    }

    /// Opens or creates the database `name` in `directory`. Takes about 0.1 ms.
    ///
    /// First checks owner, mode and kind of the file, its log and its index (`-wal`, `-shm`),
    /// through the handle of the folder and without opening them. SQLite gives all three the same
    /// mode.
    ///
    /// - Parameter deadline: When waiting ends; ``deadline`` has this value afterwards.
    /// - Throws: The codes of ``PrivateDirectory/check(file:)``; `missing`, `replaced`; for
    ///   ``Access/create`` `alreadyExists`; `notADatabase`, `corrupt`, `busy`, `readOnly`,
    ///   `diskFull`, `cannotOpen`.
    package convenience init(
        to name: String, in directory: PrivateDirectory, for access: Access,
        deadline: Deadline
    ) throws(SystemError) {
        if access == .create { try directory.createEmptyFile(name) }
        do throws(SystemError) {
            let file = try Self.file(name, in: directory)
            if access != .readOnly { try Self.checkRoomForIndex(of: name, in: directory) }
            let shared = SharedLog.of(file)
            guard shared.beginOpening(before: deadline) else {
                throw SystemError(
                    .busy, during: "open the database", path: directory.path(of: name))
            }
            defer { shared.endOpening() }
            let log = try directory.check(file: name + LogFiles.Part.log.rawValue)
            let index = try directory.check(file: name + LogFiles.Part.index.rawValue)
            try self.init(
                existing: name, in: directory, for: access, deadline: deadline,
                isImmutable: try Self.isImmutable(name, in: directory, log, index))
            do throws(SystemError) {
                try finishOpening(of: name, in: directory, as: file, for: access)
                try share(shared, in: directory)
            } catch {
                // Close it before `endOpening`: another thread must not be given its files.
                shutDown()
                throw error
            }
        } catch {
            if access == .create {
                // An empty file would look like a keychain. Report the first error.
                for suffix in ["", "-wal", "-shm"] { try? directory.remove(name + suffix) }
            }
            // The error may be about a file that is no longer there.
            try directory.checkHandle()
            guard (try? directory.isInPlace()) != false else { throw directory.replacement }
            throw Self.explained(error, directory.path(of: name))
        }
    }

    private func share(
        _ shared: SharedLog, in directory: PrivateDirectory
    ) throws(SystemError) {
        // A database that was just created has no log yet, and no other program knows it.
        guard logIdentity != nil || indexIdentity != nil else { return }
        guard shared.admit(logIdentity, indexIdentity) else { throw directory.replacement }
        sharedLog = shared
    }

    private func finishOpening(
        of name: String, in directory: PrivateDirectory, as file: FileIdentity, for access: Access
    ) throws(SystemError) {
        do throws(SystemError) {
            try configure()
            if access == .create {
                try reserveChecksums()
                try useWriteAheadLog()
            }
        } catch {
            try checkPlace(of: name, in: directory, as: file)
            // With the log of another folder, which was at the path for a moment, it looks damaged.
            if error.code == .corrupt { try noteLog(of: name, in: directory) }
            try checkLog()
            throw error
        }
        // Checked only now, because SQLite opens the log and its index by path at its first read.
        try checkPlace(of: name, in: directory, as: file)
        try noteLog(of: name, in: directory)
        try checkLog()
    }

    /// The first read writes to the index of the log. If the blocks of the file system are smaller
    /// than pages of memory, the index has no room of its own yet, and on a full disk that write
    /// would end the process. ``noteLog(of:in:)`` gives it room afterwards.
    private static func checkRoomForIndex(
        of name: String, in directory: PrivateDirectory
    ) throws(SystemError) {
        guard directory.hasSmallBlocks,
            try directory.availableByteCount() < indexByteCount
        else { return }
        throw SystemError(
            .diskFull, during: "reserve room for the index of the log",
            path: directory.path(of: name + "-shm"))
    }

    /// Adds the remedy for files that their owner may not write.
    private static func explained(_ error: SystemError, _ path: String) -> SystemError {
        guard [.readOnly, .cannotOpen].contains(error.code), error.hint == nil,
            let hint = hintOnWriting(path)
        else { return error }
        return SystemError(
            error.code, during: error.operation, path: error.path,
            cause: (error.sqliteCode, error.systemError), hint: hint)
    }

    static func hintOnWriting(_ path: String) -> String? {
        PrivateDirectory.hintOnWriting(["", "-wal", "-shm"].map { path + $0 })
    }

    /// Opens an empty database in memory, for a program that uses SQLite's functions for JSON.
    ///
    /// - Throws: `outOfMemory`.
    package static func inMemory() throws(SystemError) -> Connection {
        try Connection(
            opening: ":memory:", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY,
            deadline: .never)
    }

    private convenience init(
        existing name: String, in directory: PrivateDirectory, for access: Access,
        deadline: Deadline, isImmutable: Bool
    ) throws(SystemError) {
        let path = directory.path(of: name)
        try self.init(
            opening: isImmutable ? Self.immutableLocation(path) : path,
            flags: Self.flags(for: access) | (isImmutable ? SQLITE_OPEN_URI : 0),
            deadline: deadline, acceptsDamage: access == .repair)
        // If the file cannot be opened for writing, SQLite silently opens it for reading.
        if access != .readOnly, unsafe sqlite3_db_readonly(database, "main") != 0 {
            let reason = isImmutable ? EROFS : PrivateDirectory.reasonAgainstWriting(path)
            throw Self.refusal(of: path, reason)
        }
    }

    /// The error for a file that could be opened for reading alone.
    ///
    /// - Parameter reason: Why this process may not write it; nil if nothing forbids that.
    private static func refusal(of path: String, _ reason: Int32?) -> SystemError {
        let operation = "open the database"
        switch reason {
        case EROFS, EACCES, EPERM: return SystemError(.readOnly, during: operation, path: path)
        case let code?: return SystemError(errno: code, during: operation, path: path)
        // A disk that fails, for example. SQLite keeps the reason to itself.
        case nil: return SystemError(.inputOutput, during: operation, path: path)
        }
    }

    /// Refuses a log that does not match its index.
    private func checkLog() throws(SystemError) {
        guard try !hasWholeLog() else { return }
        throw SystemError(
            .unmatchedLog, during: "match the log with its index", path: path + "-wal",
            hint: "the log was removed or replaced while programs used the keychain: use or end "
                + "these programs, so that they save the last changes, or give those changes up "
                + "with `valet doctor --discard-log`")
    }

    private static func file(
        _ name: String, in directory: PrivateDirectory
    ) throws(SystemError) -> FileIdentity {
        guard let file = try directory.check(file: name) else {
            throw SystemError(
                .missing, during: "open the database", path: directory.path(of: name))
        }
        return file
    }

    /// Makes sure that SQLite, which opens by path, has opened the file in the folder.
    private func checkPlace(
        of name: String, in directory: PrivateDirectory, as file: FileIdentity
    ) throws(SystemError) {
        let operation = "open the database"
        let database = unsafe try openDatabase(operation)
        var hasMoved: Int32 = 0
        try check(
            unsafe sqlite3_file_control(
                database, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved), operation)
        // The file that SQLite has open must be the one that was checked and that the path leads
        // to.
        guard hasMoved == 0 else { throw directory.replacement }
        try directory.checkPlace(of: name, as: file)
    }

    /// Remembers which log and index SQLite has opened. SQLite opens them by path, and does not say
    /// which files it got: the folder may have been replaced for a moment. So this checks that
    /// descriptors of this process lead to the files that are in the folder now.
    private func noteLog(of name: String, in directory: PrivateDirectory) throws(SystemError) {
        guard unsafe valet_sqlite3_has_log(try openDatabase("open the log")) != 0 else { return }
        logIdentity = try directory.check(file: name + LogFiles.Part.log.rawValue)
        indexIdentity = try directory.check(file: name + LogFiles.Part.index.rawValue)
        let files = [logIdentity, indexIdentity].compactMap(\.self)
        // SQLite makes missing files, unless the file system is read-only.
        guard files.count == 2 || directory.isReadOnly, FileDescriptor.areOpen(files) else {
            throw directory.replacement
        }
        if directory.hasSmallBlocks, !directory.isReadOnly { try LogIndex(of: self)?.reserve() }
    }

    /// Returns true if the database file alone is complete and cannot change.
    ///
    /// On a read-only file system SQLite cannot create a missing log, and fails. Without a log, the
    /// database file is complete, and on such a file system it stays so.
    private static func isImmutable(
        _ name: String, in directory: PrivateDirectory, _ log: FileIdentity?,
        _ index: FileIdentity?
    ) throws(SystemError) -> Bool {
        guard directory.isReadOnly, log == nil || index == nil else { return false }
        guard let log, log.byteCount > 0 else { return true }
        guard log.byteCount <= Self.reservedLogByteCount else { return false }
        return try directory.isBlank(name + "-wal", byteCount: Self.reservedLogByteCount)
    }

    /// Leaves room for a checksum in each page of a database that has none yet.
    func reserveChecksums() throws(SystemError) {
        let database = unsafe try openDatabase("create the database")
        var byteCount = Int32(PageChecksum.reservedByteCount)
        try check(
            unsafe sqlite3_file_control(database, "main", SQLITE_FCNTL_RESERVE_BYTES, &byteCount),
            "create the database")
    }

    /// Makes the database use a write-ahead log, now and whenever it is opened.
    ///
    /// Creation does this. A file made by ``copy(to:in:)`` needs it once.
    package func useWriteAheadLog() throws(SystemError) {
        let mode = try Statement("PRAGMA journal_mode = WAL", on: self).onlyText()
        guard mode == "wal" else {
            throw SystemError(.cannotOpen, during: "start the write-ahead log", path: path)
        }
    }

    private static func flags(for access: Access) -> Int32 {
        switch access {
        case .readWrite, .repair, .create: SQLITE_OPEN_READWRITE
        case .readOnly: SQLITE_OPEN_READONLY
        }
    }

    /// The path as a URI (https://www.sqlite.org/uri.html) that tells SQLite the file cannot
    /// change.
    private static func immutableLocation(_ path: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var escaped: [UInt8] = []
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#"):
                escaped += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: escaped.append(byte)
            }
        }
        return "file:" + String(decoding: escaped, as: UTF8.self) + "?immutable=1"
    }
}

extension Connection {
    /// Sets everything that spec/keys-and-states.md §9.4 asks for. Uses a call instead of a PRAGMA
    /// where SQLite has one, to keep opening fast.
    func configure() throws(SystemError) {
        let database = unsafe try openDatabase("configure the database")
        unsafe lowerLimits(of: database)
        for (option, value) in Self.flags {
            try check(
                unsafe valet_sqlite3_set_flag(database, option, value), "configure the database")
        }
        var keepsLog: Int32 = 1
        try check(
            unsafe sqlite3_file_control(
                database, "main", SQLITE_FCNTL_PERSIST_WAL, &keepsLog), "configure the database")
        try check(
            unsafe sqlite3_exec(database, Self.pragmas, nil, nil, nil), "configure the database")
    }

    private static var flags: [(option: Int32, value: Int32)] {
        [
            (SQLITE_DBCONFIG_DEFENSIVE, 1),
            (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
            // Closing must not write: a child or an exiting process closes without the lock.
            (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1),
            (SQLITE_DBCONFIG_ENABLE_FKEY, 0),
            (SQLITE_DBCONFIG_DQS_DML, 0),
            (SQLITE_DBCONFIG_DQS_DDL, 0),
        ]
    }

    /// The size to which a checkpoint may leave the log's file: 1,000 pages, and room for the
    /// transaction that exceeds them. A shorter file would have to grow again.
    package static let keptLogByteCount = 1080 * 4120

    /// The size of the first part of the log's index.
    private static let indexByteCount = 32 << 10

    /// The size of an empty log's file: about 30 pages, so that items can be deleted while the disk
    /// is full.
    package static let reservedLogByteCount = 128 << 10

    // A larger cache makes writers slower in large keychains (docs/decisions/0058-row-layout.md).
    // `synchronous` comes last: it is the first that reads the file, and the others must be in
    // force by then. A PRAGMA takes no bound parameter; the only interpolation is a number.
    private static let pragmas = """
        PRAGMA temp_store = MEMORY;
        PRAGMA cache_size = -8000;
        PRAGMA cell_size_check = ON;
        PRAGMA secure_delete = ON;
        PRAGMA mmap_size = 0;
        PRAGMA journal_size_limit = \(keptLogByteCount);
        PRAGMA synchronous = FULL;
        """

    /// Keeps a damaged or hostile file from making SQLite do what our statements never need.
    private func lowerLimits(of database: OpaquePointer) {
        unsafe sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 32 << 20)
        unsafe sqlite3_limit(database, SQLITE_LIMIT_SQL_LENGTH, 64 << 10)
        unsafe sqlite3_limit(database, SQLITE_LIMIT_COLUMN, 200)
        unsafe sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0)
        unsafe sqlite3_limit(database, SQLITE_LIMIT_WORKER_THREADS, 0)
        unsafe sqlite3_limit(database, SQLITE_LIMIT_TRIGGER_DEPTH, 8)
    }
}
