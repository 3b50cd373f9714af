// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

/// Commits that SQLite does not see, because a frame before them was damaged: decision 16.
extension Connection {
    private static let operation = "examine the log"
    /// How often a log that others write to meanwhile is looked at.
    private static let attemptCount = 4
    /// After so many frames of an earlier round nothing of this one follows.
    private static let strangerLimit = 64

    /// Looks behind the end of the log; something must have been read before.
    ///
    /// SQLite takes the first frame that does not fit for the place where a power cut ended the
    /// writing. But a commit that another transaction goes on from had been brought to disk before
    /// that was begun, and everything before it. What it does not see is damage in the last
    /// transaction.
    ///
    /// - Returns: How many frames are whole before those that are lost; nil if none are.
    /// - Throws: ``SystemError``: `inputOutput`.
    package func frameCountBeforeLogDamage() throws(SystemError) -> Int? {
        for _ in 0..<Self.attemptCount {
            guard let view = try logView() else { return nil }
            guard try hasCommits(behind: view) else { return nil }
            // No writer has written them since: a writer says so before going on.
            if try logView() == view { return view.frameCount }
        }
        return nil
    }

    /// All bytes of the log.
    ///
    /// - Throws: ``SystemError``: `inputOutput`, `tooLarge` above 1 GiB.
    package func logContents() throws(SystemError) -> [UInt8] {
        let byteCount = try logByteCount()
        guard byteCount <= 1 << 30 else {
            throw SystemError(.tooLarge, during: Self.operation, path: path + "-wal")
        }
        return try readLog(byteCount, at: 0)
    }

    /// What the log and its index say.
    private struct LogView: Hashable {
        let header: [UInt8]
        /// Frames that SQLite sees.
        let frameCount: Int
        /// What frames of this round carry.
        let salts: [UInt8]
        let isBigEndian: Bool
    }

    /// - Returns: nil where nothing can be missing: no log, or one that is about to begin anew.
    private func logView() throws(SystemError) -> LogView? {
        guard try logByteCount() > LogFormat.headerByteCount, let index = try logIndex() else {
            return nil
        }
        let bytes = try readLog(LogFormat.headerByteCount, at: 0)
        if let header = LogFormat.Header(bytes.span) {
            // Other salts: taken over, and not yet written again.
            guard header.salts == index.salts else { return nil }
            return LogView(
                header: bytes, frameCount: index.frameCount, salts: header.salts,
                isBigEndian: header.isBigEndian)
        }
        // A program that has it open still reads it; for the next one that opens it, it is empty.
        guard index.frameCount == 0 else { return nil }
        let first = try readLog(
            LogFormat.frameHeaderByteCount, at: LogFormat.offset(ofFrame: 0))
        return LogView(
            header: bytes, frameCount: 0, salts: LogFormat.FrameHeader(first.span).salts,
            isBigEndian: LogFormat.isMachineBigEndian)
    }

    /// Whether behind the frames that SQLite sees there is a commit that a frame goes on from.
    private func hasCommits(behind view: LogView) throws(SystemError) -> Bool {
        let byteCount = try logByteCount()
        var number = view.frameCount
        var strangerCount = 0
        while LogFormat.offset(ofFrame: number + 2) <= byteCount,
            strangerCount <= Self.strangerLimit
        {
            let bytes = try readLog(
                LogFormat.frameHeaderByteCount, at: LogFormat.offset(ofFrame: number))
            let frame = LogFormat.FrameHeader(bytes.span)
            strangerCount = frame.salts == view.salts ? 0 : strangerCount + 1
            if strangerCount == 0, frame.isCommit, try goesOn(from: frame, number + 1, view) {
                return true
            }
            number += 1
        }
        return false
    }

    /// Whether the sum of frame `number` goes on from that of the one before it.
    private func goesOn(
        from previous: LogFormat.FrameHeader, _ number: Int, _ view: LogView
    ) throws(SystemError) -> Bool {
        let bytes = try readLog(LogFormat.frameByteCount, at: LogFormat.offset(ofFrame: number))
        let frame = LogFormat.FrameHeader(bytes.span)
        guard frame.salts == view.salts else { return false }
        var sum = previous.checksum
        sum.add(bytes.span.extracting(0..<8), isBigEndian: view.isBigEndian)
        sum.add(
            bytes.span.extracting(LogFormat.frameHeaderByteCount...), isBigEndian: view.isBigEndian)
        return sum == frame.checksum
    }

    // Through SQLite's own handles: nobody else may open what it has locks on.

    /// - Returns: nil where SQLite keeps none, or is writing it at the moment.
    private func logIndex() throws(SystemError) -> (frameCount: Int, salts: [UInt8])? {
        let database = unsafe try openDatabase(Self.operation)
        var bytes = [UInt8](repeating: 0, count: 96)
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe valet_sqlite3_log_index(database, buffer.baseAddress)
        }
        // Written twice, so that half of it is not taken for all; the rest is the machine's order.
        guard count == 96, bytes[0..<48] == bytes[48..<96], bytes[12] == 1 else { return nil }
        let number = LogFormat.number(bytes.span, at: 16)
        let frameCount = Int(LogFormat.isMachineBigEndian ? number : number.byteSwapped)
        return (frameCount, LogFormat.salts(bytes.span, at: 32))
    }

    private func logByteCount() throws(SystemError) -> Int {
        let database = unsafe try openDatabase(Self.operation)
        let count = unsafe valet_sqlite3_log_size(database)
        guard count >= 0 else {
            throw SystemError(
                .inputOutput, during: Self.operation, path: path + "-wal",
                hint: "look at the disk; `valet doctor` says more")
        }
        return Int(count)
    }

    private func readLog(_ count: Int, at offset: Int) throws(SystemError) -> [UInt8] {
        let database = unsafe try openDatabase(Self.operation)
        var bytes = [UInt8](repeating: 0, count: count)
        let code = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe valet_sqlite3_read_log(
                database, buffer.baseAddress, Int32(count), Int64(offset))
        }
        try check(code, Self.operation)
        return bytes
    }
}
