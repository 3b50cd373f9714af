// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainModel
package import ValetSystem

/// The log or its index was removed or replaced while this process had it open: by a program that
/// cleans up, a restore, a copy (docs/decisions/0047-replaced-folders.md). ``SharedKeychain``
/// checks for this before it opens the keychain anew.
package struct LostLog: Sendable {
    /// Whether commits are lost that were only in the log.
    package let areChangesLost: Bool
    private let path: String

    fileprivate init(_ path: String, areChangesLost: Bool) {
        self.path = path
        self.areChangesLost = areChangesLost
    }

    /// The failure of a call.
    package func failure(during operation: String) -> KeychainFailure {
        let change =
            areChangesLost
            ? "the last changes before that are lost" : "the call has changed nothing"
        return KeychainFailure(
            .inputOutput, during: operation,
            message: "the file was removed or replaced while it was in use; \(change)", path: path,
            hint: areChangesLost
                ? "check the items that were changed last; only move or copy the whole folder"
                : "try again; only move or copy the whole folder")
    }
}

extension ConnectionPool {
    /// If the log or its index is no longer in its place, checkpoints the log, to save changes that
    /// only processes with the old files open can still read. The keychain must then be opened
    /// anew.
    ///
    /// - Returns: nil if both are in their place, or the whole folder was replaced.
    /// - Throws: ``SystemError``: `busy` if the lock of writers, or a connection, is not free.
    package func settleLostLog(_ deadline: Deadline) throws(SystemError) -> LostLog? {
        guard let files = logFiles.withLock({ $0 }), !directory.isReadOnly,
            try directory.isInPlace(KeychainFile.database, as: identity), try files.lost() != nil
        else { return nil }
        let held = try lock.acquire(before: deadline)
        guard let part = try files.lost() else { return nil }
        let areChangesLost = try !saveChanges(of: files, deadline)
        _ = consume held
        return LostLog(files.path(of: part), areChangesLost: areChangesLost)
    }

    /// The caller holds the lock of writers.
    ///
    /// - Returns: false if changes are lost.
    private func saveChanges(
        of files: LogFiles, _ deadline: Deadline
    ) throws(SystemError) -> Bool {
        if try files.isIndexCut() {
            // No process may use the rest of the index. The log has everything.
            try files.removeIndex()
            return try files.isLogInPlace()
        }
        guard try files.isIndexInPlace() else {
            // Other processes have opened a new index, and may have written since.
            return try files.isLogInPlace() || !files.hasChangesOfItsOwn
        }
        if try withIdleConnection({ (own) throws(SystemError) in
            guard try own.hasWholeLog() else { return false }
            // The index still describes the log that this process has open: no process has written
            // to another one. Afterwards it describes an empty log, which fits any other log.
            try files.removeOtherLog()
            own.deadline = deadline
            try own.checkpoint(.truncate)
            return true
        }) {
            return true
        }
        if try files.fitsLogAtPath() { return true }
        // The log that the index describes is gone.
        try files.removeIndex()
        return false
    }

    private func withIdleConnection<R>(
        _ body: (Connection) throws(SystemError) -> R
    ) throws(SystemError) -> R {
        // The caller holds the lock of writers.
        if let writer = writer.withLock({ $0 }) { return try body(writer.connection) }
        guard let reader = readers.withLock({ $0.popLast() }) else { throw lock.busy() }
        defer { giveBack(reader) }
        return try body(reader.connection)
    }
}
