// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCSQLite
internal import ValetSystem

/// Notices when other code has closed SQLite's descriptors:
/// docs/decisions/0049-lost-descriptors.md.
extension Connection {
    /// A descriptor of SQLite, and the file that it must lead to.
    struct OpenFile: Hashable {
        let number: Int32
        let identity: FileIdentity
    }

    /// Whether SQLite's descriptors still lead to the files that it opened. Three system calls.
    package var isSound: Bool {
        openFiles.allSatisfy { HeldDescriptor.leads($0.number, to: $0.identity) }
    }

    /// Finds SQLite's descriptors of the database `name`, its log and its index.
    ///
    /// - Parameter hasRead: Whether SQLite has read something: before that, it may not have the
    ///   index open.
    /// - Returns: false if SQLite has opened a log or an index that is not beside the database: the
    ///   folder or these files were replaced, or another connection of this process still has the
    ///   index from before.
    func noteOpenFiles(
        _ name: String, in directory: PrivateDirectory, hasRead: Bool
    ) throws(SystemError) -> Bool {
        let database = unsafe try openDatabase("open the database")
        let number = unsafe valet_sqlite3_descriptor(database, SQLITE_FCNTL_FILE_POINTER)
        // A build of SQLite with another struct: its descriptors are not checked.
        guard let file = try directory.check(file: name),
            HeldDescriptor.leads(number, to: file)
        else { return true }
        openFiles = [OpenFile(number: number, identity: file)]
        let logNumber = unsafe valet_sqlite3_descriptor(database, SQLITE_FCNTL_JOURNAL_POINTER)
        guard logNumber >= 0 else { return true }
        guard let log = try directory.check(file: name + "-wal") else { return !hasRead }
        guard HeldDescriptor.leads(logNumber, to: log) else { return false }
        openFiles.append(OpenFile(number: logNumber, identity: log))
        guard let index = try directory.check(file: name + "-shm") else {
            return !hasRead || directory.isReadOnly
        }
        (logIdentity, indexIdentity) = (log, index)
        guard let number = Self.number(of: index, near: logNumber) else {
            return !hasRead || logNumber >= Self.largestNumber
        }
        openFiles.append(OpenFile(number: number, identity: index))
        if hasRead, directory.hasSmallBlocks { try allocate(index, number) }
        return true
    }

    /// SQLite makes room for the index by one byte in each page of memory. Where the blocks of the
    /// file system are smaller, the rest has no room: to write there with the disk full would end
    /// the process.
    private func allocate(_ index: FileIdentity, _ number: Int32) throws(SystemError) {
        let code = valet_reserve(number, 0, index.byteCount)
        guard code == 0 || SystemError.Code(systemError: code) != .diskFull else {
            throw SystemError(
                errno: code, during: "reserve room for the index of the log", path: path + "-shm")
        }
    }

    /// Descriptors from here on are not searched for the index.
    private static let largestNumber: Int32 = 4096

    /// SQLite opens one index per process, right after the first log, and does not give its number.
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

    private static let sparing = Lock<Void>(())

    /// Runs `close`, which makes SQLite close its files. If other code has already closed SQLite's
    /// descriptors, their numbers may belong to other files: those are neither closed nor unlocked.
    ///
    /// All connections of the process to these files must be closed before they are opened again,
    /// because SQLite shares its state of a file among them.
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
