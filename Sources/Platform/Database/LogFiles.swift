// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

/// The log of a database and the log's index, `-wal` and `-shm`, as this process has them open.
///
/// SQLite opens them by their paths once, and never looks there again. If somebody removes or
/// replaces one of them, this process and those that open the database later have different files,
/// and each overwrites or never sees what the other commits
/// (docs/decisions/0047-replaced-folders.md). What changes files needs the writers' lock.
package final class LogFiles: Sendable {
    /// One of the two files.
    package enum Part: String, Sendable {
        case log = "-wal"
        /// The log's index.
        case index = "-shm"
    }

    private let directory: PrivateDirectory
    private let name: String
    private let log: FileIdentity
    private let index: FileIdentity
    /// nil if this process can only read the index.
    private let header: LogIndex?

    /// The files of `connection`, which has opened the database `name`.
    ///
    /// - Returns: nil if the connection has no log.
    package init?(
        of connection: Connection, _ name: String, in directory: PrivateDirectory
    ) throws(SystemError) {
        guard let log = connection.logIdentity, let index = connection.indexIdentity else {
            return nil
        }
        (self.directory, self.name, self.log, self.index) = (directory, name, log, index)
        header = try LogIndex(of: connection)
    }

    /// Whether another connection of this process has opened the same files.
    package func areThose(of other: Connection) -> Bool {
        other.logIdentity?.isSameFile(as: log) == true
            && other.indexIdentity?.isSameFile(as: index) == true
    }

    /// Whether the index is in its place, and not shorter than before. One system call.
    ///
    /// If the index was truncated, touching its memory would end the process.
    package func isIndexInPlace() throws(SystemError) -> Bool {
        guard let found = try find(.index) else { return false }
        return found.isSameFile(as: index) && found.byteCount >= index.byteCount
    }

    /// Whether the index is in its place, but shorter than before.
    package func isIndexCut() throws(SystemError) -> Bool {
        guard let found = try find(.index) else { return false }
        return found.isSameFile(as: index) && found.byteCount < index.byteCount
    }

    /// Whether the log is in its place. One system call.
    ///
    /// - Parameter isWhole: Whether it must also be as long as the index says: only for callers
    ///   that hold the writers' lock, because a checkpoint may shorten it.
    package func isLogInPlace(whole isWhole: Bool) throws(SystemError) -> Bool {
        guard let found = try find(.log), found.isSameFile(as: log) else { return false }
        guard isWhole, let frameCount = header?.header.frameCount, frameCount > 0 else {
            return true
        }
        return found.byteCount >= LogFormat.offset(ofFrame: frameCount)
    }

    /// Whether the log has changes that no checkpoint has written to the database file. Only for an
    /// index that was not truncated.
    package var hasChangesOfItsOwn: Bool { header?.hasChangesOfItsOwn ?? true }

    /// Removes another log from the path, unless it is empty: the next program that opens the
    /// database would write its frames, which may be older, over newer pages.
    package func removeOtherLog() throws(SystemError) {
        guard let found = try find(.log), !found.isSameFile(as: log), found.byteCount > 0 else {
            return
        }
        try directory.remove(name + Part.log.rawValue)
        try directory.sync()
    }

    /// Removes the index at the path: every process then opens log and index anew, and builds the
    /// new index from the log.
    package func removeIndex() throws(SystemError) {
        do {
            try directory.remove(name + Part.index.rawValue)
        } catch {
            guard error.code == .missing else { throw error }
        }
    }

    package func path(of part: Part) -> String { directory.path(of: name + part.rawValue) }

    private func find(_ part: Part) throws(SystemError) -> FileIdentity? {
        try directory.identity(of: name + part.rawValue)
    }
}
