// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

extension Connection {
    /// What a connection is for.
    package enum Access: Hashable, Sendable {
        /// Reading and writing an existing database.
        case readWrite
        /// Reading an existing database, also on a file system that can only be read.
        case readOnly
        /// Creating a database that must not exist, to read and write it.
        case create
    }

    /// Opens or creates the database `name` in `directory`; costs some 0.1 ms.
    ///
    /// The file with its log and its index (`-wal`, `-shm`) is checked first, through the handle of
    /// the folder and without opening it: owner, mode, kind. SQLite gives the two the same mode.
    ///
    /// - Parameters:
    ///   - deadline: When waiting ends for opening; ``deadline`` has this value afterwards.
    ///   - cacheKibibytes: The most memory that the page cache takes.
    /// - Throws: What ``PrivateDirectory/check(file:)`` throws; `missing`, `replaced`; for
    ///   ``Access/create`` `alreadyExists`; `notADatabase`, `corrupt`, `busy`, `readOnly`,
    ///   `diskFull`, `cannotOpen`.
    package convenience init(
        to name: String, in directory: PrivateDirectory, for access: Access,
        deadline: Deadline, cacheKibibytes: Int = 8_000
    ) throws(SystemError) {
        if access == .create { try directory.createEmptyFile(name) }
        do throws(SystemError) {
            let file = try Self.file(name, in: directory)
            try self.init(existing: name, in: directory, for: access, deadline: deadline)
            do throws(SystemError) {
                try configure(cacheKibibytes: cacheKibibytes)
                if access == .create { try useWriteAheadLog() }
            } catch {
                try checkPlace(of: name, in: directory, as: file, hasRead: false)
                throw error
            }
            // Not before: SQLite finds the log and its index by their paths, too, when it first
            // reads.
            try checkPlace(of: name, in: directory, as: file, hasRead: true)
        } catch {
            if access == .create {
                // An empty file would pass for a keychain. The first error is the one to report.
                for suffix in ["", "-wal", "-shm"] { try? directory.remove(name + suffix) }
            }
            // Whatever it was: not of the file that is there now.
            guard (try? directory.isInPlace()) != false else {
                throw directory.replaced("open the database")
            }
            throw error
        }
    }

    private convenience init(
        existing name: String, in directory: PrivateDirectory, for access: Access,
        deadline: Deadline
    ) throws(SystemError) {
        let path = directory.path(of: name)
        let isImmutable = try Self.isImmutable(name, in: directory)
        try self.init(
            opening: isImmutable ? Self.immutableLocation(path) : path,
            flags: Self.flags(for: access) | (isImmutable ? SQLITE_OPEN_URI : 0),
            deadline: deadline)
        // Asked to write where it cannot, SQLite opens for reading and says nothing.
        if access != .readOnly, unsafe sqlite3_db_readonly(database, "main") != 0 {
            throw SystemError(.readOnly, during: "open the database", path: path)
        }
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

    /// Makes sure that SQLite, which was given a path, has opened what is in the folder, and notes
    /// under which numbers.
    private func checkPlace(
        of name: String, in directory: PrivateDirectory, as file: FileIdentity, hasRead: Bool
    ) throws(SystemError) {
        let operation = "open the database"
        let database = unsafe try openDatabase(operation)
        var hasMoved: Int32 = 0
        try check(
            unsafe sqlite3_file_control(
                database, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved), operation)
        // The path leads to what SQLite has open, to what was looked at, and to what is in place.
        guard hasMoved == 0 else { throw directory.replaced(operation) }
        try directory.checkPlace(of: name, as: file, during: operation)
        guard try noteOpenFiles(name, in: directory, hasRead: hasRead) else {
            throw directory.replaced(operation)
        }
    }

    /// Checks the log and its index; says whether the file alone is all there is and will be.
    ///
    /// SQLite cannot open a log that it would have to create first. If there is none, nothing is
    /// missing from the database file, and on such a file system nothing will change.
    private static func isImmutable(
        _ name: String, in directory: PrivateDirectory
    ) throws(SystemError) -> Bool {
        let log = try directory.check(file: name + "-wal")
        let index = try directory.check(file: name + "-shm")
        guard directory.isReadOnly, log == nil || index == nil else { return false }
        guard let log, log.byteCount > 0 else { return true }
        guard log.byteCount <= Self.reservedLogByteCount else { return false }
        return try directory.isBlank(name + "-wal", byteCount: Self.reservedLogByteCount)
    }

    /// Makes the database use a write-ahead log, now and whenever it is opened.
    ///
    /// Needed once: after creation, which does it, and for a file made by ``copy(to:in:)``.
    package func useWriteAheadLog() throws(SystemError) {
        let mode = try Statement("PRAGMA journal_mode = WAL", on: self).onlyText()
        guard mode == "wal" else {
            throw SystemError(.cannotOpen, during: "start the write-ahead log", path: path)
        }
    }

    private static func flags(for access: Access) -> Int32 {
        switch access {
        case .readWrite, .create: SQLITE_OPEN_READWRITE
        case .readOnly: SQLITE_OPEN_READONLY
        }
    }

    /// The path as a URI (https://www.sqlite.org/uri.html) that promises that nothing changes.
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
