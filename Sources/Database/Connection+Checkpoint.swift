// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

extension Connection {
    /// How far a checkpoint goes.
    package enum CheckpointMode: Hashable, Sendable {
        /// Takes over what no reader stands in the way of; waits for no one.
        case passive
        /// Takes over everything and empties the log; waits for readers until the deadline.
        case truncate
    }

    /// What a checkpoint found and did, in frames (pages) of the log.
    package struct CheckpointResult: Hashable, Sendable {
        /// Frames in the log.
        package let frameCount: Int
        /// Frames of them that the database file has now.
        package let takenOverCount: Int
    }

    /// Moves committed pages from the log into the database file. Belongs under the lock file.
    ///
    /// - Throws: ``SystemError``: `busy` if a reader (``CheckpointMode/truncate``) or another
    ///   checkpoint stood in the way until the deadline, `misuse` inside a transaction.
    @discardableResult
    package func checkpoint(_ mode: CheckpointMode) throws(SystemError) -> CheckpointResult {
        let database = unsafe try openDatabase("take over the log")
        var frameCount: Int32 = 0
        var takenOverCount: Int32 = 0
        let code = unsafe sqlite3_wal_checkpoint_v2(
            database, "main", Self.number(of: mode), &frameCount, &takenOverCount)
        try check(code, "take over the log")
        let result = CheckpointResult(
            frameCount: Int(max(0, frameCount)), takenOverCount: Int(max(0, takenOverCount)))
        walFrameCount = result.frameCount
        return result
    }

    /// Appends zeros to the log's file until it is `byteCount` bytes long; belongs under the lock
    /// file, after a transaction.
    ///
    /// A commit that makes the file longer costs the file system half as much again as one that
    /// writes over what is there. Zeros are no frames: a reader of the log ends before them.
    /// - Throws: ``SystemError``: `diskFull`, `inputOutput`; the log is sound nevertheless.
    package func lengthenLog(to byteCount: Int) throws(SystemError) {
        let database = unsafe try openDatabase("lengthen the log")
        let zeros = [UInt8](repeating: 0, count: 64 << 10)
        let code = unsafe zeros.withUnsafeBytes { zeros in
            unsafe valet_sqlite3_lengthen_log(
                database, zeros.baseAddress, Int32(zeros.count), Int64(byteCount))
        }
        try check(code, "lengthen the log")
    }

    private static func number(of mode: CheckpointMode) -> Int32 {
        switch mode {
        case .passive: SQLITE_CHECKPOINT_PASSIVE
        case .truncate: SQLITE_CHECKPOINT_TRUNCATE
        }
    }
}
