// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization
internal import ValetCSQLite
internal import ValetSystem

/// Files of SQLite's that somebody else has closed: docs/decisions/0049-lost-descriptors.md.
extension Connection {
    /// A file that SQLite has open, by its number.
    struct OpenFile: Hashable {
        let number: Int32
        let identity: FileIdentity
    }

    /// Whether SQLite's descriptors still are what it has opened. Three system calls.
    package var isSound: Bool {
        openFiles.allSatisfy { HeldDescriptor.leads($0.number, to: $0.identity) }
    }

    /// Finds out under which numbers SQLite has opened the database `name`, its log and its index.
    ///
    /// - Parameter hasRead: Whether SQLite has read something: before, it need not have the index.
    /// - Returns: false if it has opened another log or index than those beside the database: the
    ///   folder was replaced for a moment.
    func noteOpenFiles(
        _ name: String, in directory: PrivateDirectory, hasRead: Bool
    ) throws(SystemError) -> Bool {
        let database = unsafe try openDatabase("open the database")
        let number = unsafe valet_sqlite3_descriptor(database, SQLITE_FCNTL_FILE_POINTER)
        // Of a build of SQLite that keeps it elsewhere nothing is known.
        guard let file = try directory.check(file: name),
            HeldDescriptor.leads(number, to: file)
        else { return true }
        openFiles = [OpenFile(number: number, identity: file)]
        let logNumber = unsafe valet_sqlite3_descriptor(database, SQLITE_FCNTL_JOURNAL_POINTER)
        guard logNumber >= 0, let log = try directory.check(file: name + "-wal") else {
            return true
        }
        guard HeldDescriptor.leads(logNumber, to: log) else { return false }
        openFiles.append(OpenFile(number: logNumber, identity: log))
        guard let index = try directory.check(file: name + "-shm") else { return true }
        guard let number = Self.number(of: index, near: logNumber) else {
            return !hasRead || logNumber >= Self.largestNumber
        }
        openFiles.append(OpenFile(number: number, identity: index))
        return true
    }

    /// In a process with more open files the index is not looked for.
    private static let largestNumber: Int32 = 4096

    /// SQLite opens one index for a process, right after the first log, and does not say where.
    private static func number(of identity: FileIdentity, near start: Int32) -> Int32? {
        let start = max(3, start)
        let places = [start..<start + 64, 3..<start, start..<max(start, largestNumber)]
        for place in places {
            if let number = place.first(where: { HeldDescriptor.leads($0, to: identity) }) {
                return number
            }
        }
        return nil
    }

    private static let sparing = Mutex<Void>(())

    /// Runs `close`, which closes what SQLite has open, without touching what has taken the place
    /// of its descriptors, if somebody has closed them.
    ///
    /// All connections of the process to these files have to go before they are opened anew,
    /// because SQLite shares what it knows of a file among them.
    func sparingOthers(_ close: () -> Void) {
        guard !isSound else { return close() }
        let files = openFiles.map { file in
            valet_sqlite3_own_file(device: file.identity.device, inode: file.identity.inode)
        }
        Self.sparing.withLock { _ in
            unsafe files.withUnsafeBufferPointer { files in
                unsafe valet_sqlite3_guard_on(files.baseAddress, Int32(files.count))
                close()
                valet_sqlite3_guard_off()
            }
        }
    }
}
