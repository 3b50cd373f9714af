// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// The log and the index that the connections of this process to one database share.
///
/// SQLite opens the index of a database once per process and shares it with every later connection,
/// even if its path leads to another file by then. So one thread at a time opens or closes a
/// database, and a new connection may stay only if its path leads to the files that are open.
// Sendable because only the thread that has the turn uses what changes.
final class SharedLog: @unchecked Sendable {
    private struct Holder {
        weak var log: SharedLog?
    }

    /// By process, and by device and inode of the database. A child of `fork` closes what it
    /// inherited before it opens anything.
    private static let all = Lock<[[UInt64]: Holder]>([:])

    private let turn = FairLock()
    private let process = ProcessGeneration.current
    private var connectionCount = 0
    private var log: FileIdentity?
    private var index: FileIdentity?

    static func of(_ database: FileIdentity) -> SharedLog {
        all.withLock { all in
            let key = [ProcessGeneration.current, database.device, database.inode]
            if let known = all[key]?.log { return known }
            all = all.filter { $0.value.log != nil }
            let new = SharedLog()
            all[key] = Holder(log: new)
            return new
        }
    }

    /// Waits until no other thread opens or closes the database.
    ///
    /// - Returns: false once the deadline has passed.
    func beginOpening(before deadline: Deadline) -> Bool { turn.acquire(before: deadline) }

    func endOpening() { turn.release() }

    /// Takes in a connection that was opened in this turn.
    ///
    /// - Returns: false if it has to be closed again: the path does not lead to the files that
    ///   SQLite has open.
    func admit(_ log: FileIdentity?, _ index: FileIdentity?) -> Bool {
        if connectionCount == 0 { (self.log, self.index) = (log, index) }
        guard Self.areSame(log, self.log), Self.areSame(index, self.index) else { return false }
        connectionCount += 1
        return true
    }

    /// Runs `body`, which closes a connection that was taken in.
    func closing(_ body: () -> Void) {
        // In a child of `fork`, no other thread closes inherited connections, and a thread of the
        // parent may have had the turn.
        let isInherited = process != ProcessGeneration.current
        if !isInherited { _ = turn.acquire(before: .never) }
        body()
        connectionCount -= 1
        if !isInherited { turn.release() }
    }

    private static func areSame(_ one: FileIdentity?, _ other: FileIdentity?) -> Bool {
        guard let one, let other else { return one == nil && other == nil }
        return one.isSameFile(as: other)
    }
}
