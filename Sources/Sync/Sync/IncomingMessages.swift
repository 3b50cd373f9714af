// SPDX-License-Identifier: Apache-2.0

// How a scope's replica takes in a message of another log: in slices, so that local writers never
// wait long. `Replica` calls this, and shows what changed. Rules: docs/SYNC.md §4.

/// A decoded message, as far as the replica needs it.
package struct IncomingMessage: Sendable {
    package let name: MessageName
    package let hash: SyncHash
    /// The records that a batch brings, or the live records of a base.
    package let records: [Dot: RecordSummary]
    /// Their dots, sorted in advance, because sorting takes too long inside a transaction.
    let order: [Dot]
    /// The dot of a base's record that is above the base's table; nil if there is none. With one,
    /// the base is invalid.
    let recordAboveTable: Dot?
    /// The deleted records: covers of a batch, the cloud of a base.
    package let deleted: [Dot]
    /// The author's positions when it built a base; nil for a batch.
    package let table: LogTable?
    /// The author's last messages in the log of a base; empty for a batch.
    let own: [Base.OwnMessage]
}

extension IncomingMessage {
    /// A batch. `summaries` has a summary for each of its records, in their order.
    package init(
        _ batch: Batch, named name: MessageName, hash: SyncHash, summaries: [RecordSummary]
    ) {
        var records: [Dot: RecordSummary] = [:]
        for (record, summary) in zip(batch.records, summaries) {
            records[Dot(log: name.log, number: name.number, tag: record.tag)] = summary
        }
        self.init(
            name: name, hash: hash, records: records, order: records.keys.sorted(),
            recordAboveTable: nil, deleted: batch.covers, table: nil, own: [])
    }

    /// A base with the contents of all its parts.
    package init(
        _ base: Base, named name: MessageName, hash: SyncHash, live: [Dot: RecordSummary],
        cloud: [Dot]
    ) {
        let order = live.keys.sorted()
        self.init(
            name: name, hash: hash, records: live, order: order,
            recordAboveTable: order.first { $0.number > base.table[$0.log]?.number ?? 0 },
            deleted: cloud, table: base.table, own: base.own)
    }

    func hasSeen(_ dot: Dot, cloud: Set<Dot>) -> Bool {
        guard let table else { return false }
        return dot.number <= table[dot.log]?.number ?? 0 || cloud.contains(dot)
    }
}

/// Why a message is not joined. Its log waits.
package enum JoinRefusal: Hashable, Sendable {
    /// A base has a live record of a message that its author had not read: it is invalid.
    case recordAboveTable(Dot)
    case tooManyLogs
    case cloudIsFull
    /// There is not enough room for the values that the message replaces.
    case replacedValuesAreFull
}

/// The limits that the replica keeps.
package struct SyncLimits: Hashable, Sendable {
    package var cloud = 65_536
    package var logs = MessageFormat.maximalLogCount
    package var records = Batch.maximalRecordCount
    package var covers = Batch.maximalCoverCount
    /// The most bytes of table, covers and records in a batch: its plaintext without the fields of
    /// 14 bytes around them.
    package var batchByteCount = MessageFormat.maximalPlaintextByteCount - 14
    package var own = Base.maximalOwnCount

    package init() {}
}

package struct JoinInProgress: Sendable {
    let message: IncomingMessage
    let cloud: Set<Dot>
    /// The live records that are not added yet.
    var additions: ArraySlice<Dot>
    /// The live records that the message may remove; nil until all additions are made.
    var candidates: ArraySlice<Dot>?
}

/// A change of the live records. The caller applies it to the records that it stores.
package enum RecordChange: Hashable, Sendable {
    /// The record is live now: keep its bytes.
    case keep(Dot)
    /// The record is not live any more. A record that `isReplaced` becomes a replaced value.
    case drop(Dot, isReplaced: Bool)
}

extension ScopeReplica {
    /// Begins to join a message. No other message is joined, and none is built, before the join is
    /// finished.
    ///
    /// - Parameter room: How many more replaced values can be kept.
    /// - Returns: Why it cannot be joined; nil once the join has begun.
    package mutating func begin(
        _ message: IncomingMessage, room: Int = .max, limits: SyncLimits = SyncLimits()
    ) -> JoinRefusal? {
        // A join that a failure has interrupted begins again below, which adds nothing twice. If it
        // is refused now, it stays, so that no message is built on half of it.
        if let dot = message.recordAboveTable, applies(.recordsAtOrBelowTable) {
            return .recordAboveTable(dot)
        }
        let ahead = message.deleted.filter { isAhead($0) && !self.cloud.contains($0) }
        let logs = Set(message.table.map { Array($0.keys) } ?? []).union([message.name.log])
            .union(ahead.map(\.log))
        guard hasRoomForLogs(adding: logs, limits: limits) else { return .tooManyLogs }
        guard self.cloud.count + ahead.count <= limits.cloud else { return .cloudIsFull }
        let cloud = message.table == nil ? [] : Set(message.deleted)
        let isRoomy =
            live.count <= room
            || removalCandidates(message).count { isRemoved($0, by: message, cloud) } <= room
        guard isRoomy else { return .replacedValuesAreFull }
        join = JoinInProgress(message: message, cloud: cloud, additions: message.order[...])
        owesJoin = false
        return nil
    }

    /// Forgets an interrupted join, which then does not continue.
    package mutating func forgetBrokenJoin() {
        if join == nil { owesJoin = false }
    }

    /// Joins at most `count` more records.
    ///
    /// All additions come before all removals: a record that comes under a new dot is added before
    /// its old dot is removed, so no value is missing between two slices.
    ///
    /// - Returns: Whether the join is finished, and the items whose records changed.
    mutating func continueJoin(
        atMost count: Int, _ changes: inout [RecordChange]
    ) -> (isFinished: Bool, keys: Set<SyncItemID>) {
        guard var join else { return (true, []) }
        var keys: Set<SyncItemID> = []
        var left = count
        while left > 0, let dot = join.additions.popFirst() {
            left -= 1
            guard isNew(dot, join.message), let summary = join.message.records[dot] else {
                continue
            }
            addLive(dot, summary)
            changes.append(.keep(dot))
            keys.insert(summary.key)
        }
        if join.additions.isEmpty, join.candidates == nil {
            join.candidates = removalCandidates(join.message)[...]
        }
        var looks = count * Self.looksPerRecord
        while left > 0, looks > 0, let dot = join.candidates?.popFirst() {
            looks -= 1
            guard isRemoved(dot, by: join.message, join.cloud), let summary = removeLive(dot)
            else { continue }
            left -= 1
            let isReplaced = summary.moved == nil && !hasEqualRecord(of: summary.key, tag: dot.tag)
            changes.append(.drop(dot, isReplaced: isReplaced))
            keys.insert(summary.key)
        }
        guard join.additions.isEmpty, join.candidates?.isEmpty == true else {
            self.join = join
            return (false, keys)
        }
        finish(join.message)
        return (true, keys)
    }

    private func isNew(_ dot: Dot, _ message: IncomingMessage) -> Bool {
        if message.table == nil { return !cloud.contains(dot) && live[dot] == nil }
        return applies(.baseAddsUnseen) ? !hasSeen(dot) : live[dot] == nil
    }

    /// How many records a slice looks at for each one that it may change.
    private static let looksPerRecord = 64
    /// Up to this number, records are sorted, so that tests with a seed are repeatable. Sorting
    /// more takes too long.
    private static let sortedCount = 8_192

    private func removalCandidates(_ message: IncomingMessage) -> [Dot] {
        guard message.table != nil else { return message.deleted }
        guard applies(.baseRemovesSeen) else { return [] }
        return live.count <= Self.sortedCount ? live.keys.sorted() : Array(live.keys)
    }

    private func isRemoved(_ dot: Dot, by message: IncomingMessage, _ cloud: Set<Dot>) -> Bool {
        guard live[dot] != nil else { return false }
        guard message.table != nil else { return true }
        return message.records[dot] == nil && message.hasSeen(dot, cloud: cloud)
    }

    private mutating func finish(_ message: IncomingMessage) {
        forget(message.deleted)
        for (log, position) in message.table ?? [:]
        where position.number > self.position(of: log).number {
            positions[log] = position
            cloud.noteRead(log)
        }
        positions[message.name.log] = LogPosition(number: message.name.number, hash: message.hash)
        cloud.noteRead(message.name.log)
        noteRead(message)
        cloud.trim(to: positions)
        join = nil
        renewRetired()
    }

    /// Remembers which messages of a retired log of this device were read.
    private mutating func noteRead(_ message: IncomingMessage) {
        guard retired[message.name.log] != nil else { return }
        retired[message.name.log]?.read.insert(message.hash.first)
        for own in message.own { retired[message.name.log]?.read.insert(own.hashStart) }
    }
}
