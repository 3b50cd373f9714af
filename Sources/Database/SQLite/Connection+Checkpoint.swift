// SPDX-License-Identifier: Apache-2.0

internal import CSQLite

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
    /// - Throws: ``DatabaseError``: `busy` if a reader (``CheckpointMode/truncate``) or another
    ///   checkpoint stood in the way until the deadline, `misuse` inside a transaction.
    @discardableResult
    package func checkpoint(_ mode: CheckpointMode) throws(DatabaseError) -> CheckpointResult {
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

    private static func number(of mode: CheckpointMode) -> Int32 {
        switch mode {
        case .passive: SQLITE_CHECKPOINT_PASSIVE
        case .truncate: SQLITE_CHECKPOINT_TRUNCATE
        }
    }
}
