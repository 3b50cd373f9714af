// SPDX-License-Identifier: Apache-2.0

package import ValetDatabase
package import ValetKeychainModel
package import ValetSystem

/// Commits that are lost because the log was damaged: docs/decisions/0016-damaged-log.md. The first
/// connection of a process looks for them, and `valet doctor --discard-log` discards them.
package struct LogDamage {
    private let directory: PrivateDirectory

    /// The log in the folder of a keychain.
    package init(_ directory: PrivateDirectory) {
        self.directory = directory
    }

    private static let logName = KeychainFile.database + "-wal"
    /// The name of ``discard(_:_:)`` in failures.
    package static let discarding = "discard the log"
    private static let keptLogName = logName + ".damaged"

    /// Refuses a database whose log has commits that SQLite does not see: the next write would
    /// overwrite them.
    ///
    /// - Throws: ``KeychainFailure/Code/keychainDamaged``.
    package func check(
        _ connection: Connection, _ operation: String
    ) throws(KeychainFailure) {
        let found = try translating(DamagedLog.find(on: connection), during: operation)
        guard let log = found else { return }
        let count = log.intactFrameCount
        throw KeychainFailure(
            .keychainDamaged, during: ConnectionPool.opening,
            message: "the log is damaged: changes after its frame \(count) are lost",
            path: directory.path(of: Self.logName),
            hint: "restore the folder from a copy, or run `valet doctor --discard-log`: it keeps "
                + "the log under another name, and continues without the lost changes")
    }

    /// Continues without the commits that a damaged or replaced log has lost, and keeps the log
    /// unchanged.
    ///
    /// - Parameter lock: The writers' lock.
    /// - Returns: The path of the kept log; nil, with nothing done, if the log is not damaged.
    package func discard(_ lock: FileLock, _ deadline: Deadline) throws(KeychainFailure) -> String?
    {
        let operation = Self.discarding
        let held = try translating(lock.acquire(before: deadline), during: operation)
        let wasReplaced = try discardReplaced(deadline)
        let (connection, log) = try translating(operation) { () throws(SystemError) in
            let connection = try open(deadline)
            try Schema.check(connection)
            return (connection, try DamagedLog.find(on: connection))
        }
        if let log { try keep(translating(log.contents(), during: operation)) }
        try translating(operation) { () throws(SystemError) in
            if log != nil { try connection.checkpoint(.truncate) }
            try connection.close()
        }
        _ = consume held
        return wasReplaced || log != nil ? directory.path(of: Self.keptLogName) : nil
    }

    private func open(_ deadline: Deadline) throws(SystemError) -> Connection {
        try Connection(
            to: KeychainFile.database, in: directory, for: .readWrite, deadline: deadline)
    }

    /// Discards the log that programs still have open, if its path leads to another log or to none.
    /// The log at the path is kept, and its index is made anew.
    ///
    /// - Returns: Whether there was such a log.
    private func discardReplaced(_ deadline: Deadline) throws(KeychainFailure) -> Bool {
        do {
            try open(deadline).close()
            return false
        } catch {
            guard error.code == .unmatchedLog else {
                throw KeychainFailure(error, during: Self.discarding)
            }
        }
        try keep(translating(contentsAtPath(), during: Self.discarding))
        try translating(
            directory.remove(KeychainFile.database + LogFiles.Part.index.rawValue),
            during: Self.discarding)
        return true
    }

    private func contentsAtPath() throws(SystemError) -> [UInt8] {
        let byteCount = Int(clamping: try directory.check(file: Self.logName)?.byteCount ?? 0)
        guard byteCount > 0 else { return [] }
        return try directory.withContents(of: Self.logName, maxByteCount: byteCount) {
            bytes in bytes.indices.map { bytes[$0] }
        }
    }

    /// Keeps a copy of the log, unless an earlier call has kept the same one and was killed
    /// afterwards.
    private func keep(_ log: [UInt8]) throws(KeychainFailure) {
        let isDone = try translating(Self.discarding) { () throws(SystemError) in
            if try directory.check(file: Self.keptLogName) != nil { return try isKept(log) }
            try directory.createFile(Self.keptLogName, contents: log.span)
            return true
        }
        guard isDone else {
            throw KeychainFailure(
                .inputOutput, during: Self.discarding,
                message: "an earlier damaged log is still kept",
                path: directory.path(of: Self.keptLogName), hint: "move it away, and try again")
        }
    }

    private func isKept(_ log: [UInt8]) throws(SystemError) -> Bool {
        do {
            return try directory.withContents(of: Self.keptLogName, maxByteCount: log.count) {
                (kept) in
                kept.count == log.count && kept.indices.allSatisfy { kept[$0] == log[$0] }
            }
        } catch {
            guard error.code == .tooLarge else { throw error }
            return false
        }
    }

    /// Where a discarded log is kept; nil for none.
    package func keptPath() throws(SystemError) -> String? {
        guard try directory.check(file: Self.keptLogName) != nil else { return nil }
        return directory.path(of: Self.keptLogName)
    }
}
