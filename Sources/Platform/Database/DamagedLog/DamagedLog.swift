// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

/// A write-ahead log with commits that SQLite does not see, because a frame before them was
/// damaged. ``find(on:)`` is the entry point; docs/DAMAGED-LOG.md draws the search.
package struct DamagedLog {
    /// How many times to examine a log while other processes write to it.
    private static let attemptCount = 4
    /// The search ends after this many frames of an earlier round: no frame of the current round
    /// follows.
    private static let strangerLimit = 64
    private static let partByteCount = 128 << 10

    /// How many frames precede the damage. SQLite sees these and no others.
    package let intactFrameCount: Int
    private let reader: LogReader

    /// Looks behind the end of the log. The connection must have read something before.
    ///
    /// SQLite takes the first invalid frame for the place where a power cut interrupted a write.
    /// But if another transaction follows a commit, that commit, and everything before it, was on
    /// disk before the transaction began. So an invalid frame before that commit is damage. Damage
    /// in the last transaction is not found.
    ///
    /// - Returns: nil if no commit is lost.
    /// - Throws: ``SystemError``: `inputOutput`.
    package static func find(on connection: Connection) throws(SystemError) -> DamagedLog? {
        let reader = LogReader(connection: connection)
        for _ in 0..<attemptCount {
            guard let view = try reader.view() else { return nil }
            guard try hasCommits(behind: view, reader) else { return nil }
            // Unchanged, so no writer has written these frames since: a writer updates the index
            // before it continues.
            if try reader.view() == view {
                return DamagedLog(intactFrameCount: view.frameCount, reader: reader)
            }
        }
        return nil
    }

    /// All bytes of the log.
    ///
    /// - Throws: ``SystemError``: `inputOutput`, `tooLarge` above 1 GiB.
    package func contents() throws(SystemError) -> [UInt8] {
        let byteCount = try reader.byteCount()
        guard byteCount <= 1 << 30 else { throw reader.error(.tooLarge) }
        return try reader.read(byteCount, at: 0)
    }

    /// Whether a commit that another frame continues lies behind the frames that SQLite sees.
    private static func hasCommits(
        behind view: LogReader.View, _ reader: LogReader
    ) throws(SystemError) -> Bool {
        let byteCount = try reader.byteCount()
        var number = view.frameCount
        var strangerCount = 0
        // Some thirty frames are read at a time.
        var part: (start: Int, bytes: [UInt8]) = (0, [])
        while LogFormat.offset(ofFrame: number + 2) <= byteCount,
            strangerCount <= strangerLimit
        {
            let offset = LogFormat.offset(ofFrame: number)
            if offset + LogFormat.frameHeaderByteCount > part.start + part.bytes.count {
                part = (offset, try reader.read(min(partByteCount, byteCount - offset), at: offset))
            }
            let frame = LogFormat.FrameHeader(
                part.bytes.span.extracting((offset - part.start)...))
            strangerCount = frame.salts == view.salts ? 0 : strangerCount + 1
            if strangerCount == 0, frame.isCommit, try reader.continues(frame, at: number + 1, view)
            {
                return true
            }
            number += 1
        }
        return false
    }
}

extension Connection {
    /// How many times to examine a log while other processes write to it.
    private static let attemptCount = 4

    /// Whether the log that this connection has open is the one that the index describes.
    ///
    /// It is not if the log was removed, replaced or shortened while a program had the keychain
    /// open: SQLite then finds frames of another log, or none. The last frame decides: the index
    /// has its checksum, which continues those of all frames before it.
    /// - Throws: ``SystemError``: `inputOutput`.
    package func hasWholeLog() throws(SystemError) -> Bool {
        let reader = LogReader(connection: self)
        for _ in 0..<Self.attemptCount {
            guard let index = try reader.index(), index.frameCount > 0 else { return true }
            let bytes = try reader.read(
                LogFormat.frameHeaderByteCount, at: LogFormat.offset(ofFrame: index.frameCount - 1))
            let last = LogFormat.FrameHeader(bytes.span)
            if last.salts == index.salts, last.checksum == index.checksum { return true }
            // A writer may have restarted the log since then: the index shows it.
            guard let now = try reader.index(), now != index else { return false }
        }
        return true
    }
}

/// Reads the log and its index through SQLite's own handles: closing any other descriptor of these
/// files would drop SQLite's locks.
private struct LogReader {
    let connection: Connection

    private let operation = "examine the log"

    init(connection: Connection) {
        self.connection = connection
    }

    /// The state of the log and its index.
    struct View: Hashable {
        let header: [UInt8]
        /// How many frames SQLite sees.
        let frameCount: Int
        /// The salts in the frames of this round.
        let salts: [UInt8]
        let isBigEndian: Bool
    }

    /// - Returns: nil if no commit can be missing: no log, or a log that is about to restart.
    func view() throws(SystemError) -> View? {
        guard try byteCount() > LogFormat.headerByteCount, let index = try self.index() else {
            return nil
        }
        let bytes = try read(LogFormat.headerByteCount, at: 0)
        if let header = LogFormat.Header(bytes.span) {
            // Other salts: the log was checkpointed, and not yet written again.
            guard header.salts == index.salts else { return nil }
            return View(
                header: bytes, frameCount: index.frameCount, salts: header.salts,
                isBigEndian: header.isBigEndian)
        }
        // The header is damaged. A process that has the log open can still read it. The next one to
        // open it sees an empty log.
        guard index.frameCount == 0 else { return nil }
        let first = try read(
            LogFormat.frameHeaderByteCount, at: LogFormat.offset(ofFrame: 0))
        return View(
            header: bytes, frameCount: 0, salts: LogFormat.FrameHeader(first.span).salts,
            isBigEndian: LogFormat.isMachineBigEndian)
    }

    /// Whether the checksum of frame `number` continues that of the frame before it.
    func continues(
        _ previous: LogFormat.FrameHeader, at number: Int, _ view: View
    ) throws(SystemError) -> Bool {
        let bytes = try read(LogFormat.frameByteCount, at: LogFormat.offset(ofFrame: number))
        let frame = LogFormat.FrameHeader(bytes.span)
        guard frame.salts == view.salts else { return false }
        var sum = previous.checksum
        sum.add(bytes.span.extracting(0..<8), isBigEndian: view.isBigEndian)
        sum.add(
            bytes.span.extracting(LogFormat.frameHeaderByteCount...), isBigEndian: view.isBigEndian)
        return sum == frame.checksum
    }

    /// - Returns: nil if SQLite has no index, or is writing it now.
    func index() throws(SystemError) -> Index? {
        guard let index = try LogIndex(of: connection) else { return nil }
        // SQLite writes the header twice: the copies differ while it writes. Numbers are in the
        // machine's byte order.
        let (first, second) = index.headers
        let bytes = first.bytes
        guard first == second, bytes[12] == 1 else { return nil }
        let number = LogFormat.number(bytes.span, at: 16)
        let frameCount = Int(LogFormat.isMachineBigEndian ? number : number.byteSwapped)
        return Index(
            frameCount: frameCount, salts: LogFormat.salts(bytes.span, at: 32),
            checksum: LogFormat.Checksum(
                bytes.span, at: 24, isBigEndian: LogFormat.isMachineBigEndian))
    }

    /// What the index says of the log.
    struct Index: Equatable {
        let frameCount: Int
        let salts: [UInt8]
        /// The checksum of the last frame.
        let checksum: LogFormat.Checksum
    }

    func byteCount() throws(SystemError) -> Int {
        let database = unsafe try connection.openDatabase(operation)
        let count = unsafe valet_sqlite3_log_size(database)
        guard count >= 0 else {
            throw error(.inputOutput, hint: "check the disk; `valet doctor` says more")
        }
        return Int(count)
    }

    func read(_ count: Int, at offset: Int) throws(SystemError) -> [UInt8] {
        let database = unsafe try connection.openDatabase(operation)
        var bytes = [UInt8](repeating: 0, count: count)
        let code = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe valet_sqlite3_read_log(
                database, buffer.baseAddress, Int32(count), Int64(offset))
        }
        try connection.check(code, operation)
        return bytes
    }

    func error(_ code: SystemError.Code, hint: String? = nil) -> SystemError {
        SystemError(code, during: operation, path: connection.path + "-wal", hint: hint)
    }
}
