// SPDX-License-Identifier: Apache-2.0

// How a scope's replica builds its messages: batches of what is pending, and bases of all that it
// knows. The caller encodes a draft and adds it, with its hash, in the same transaction. Rules:
// docs/SYNC.md §4.

/// What a record of a batch is made from.
package enum PendingSource: Hashable, Sendable {
    case row(SyncItemID)
    case aside(SyncItemID)
    /// The statement that the item moved to the other scope by a message.
    case moved(SyncItemID, time: UInt64, to: MessageName)
    /// The record that is kept under a dot, byte for byte.
    case dot(Dot)
}

/// A batch without its hash.
package struct BatchDraft: Sendable {
    package struct Entry: Sendable {
        package let key: SyncItemID
        /// The source of its record; nil for covers alone.
        package let source: PendingSource?
        package let covers: Set<Dot>
        package internal(set) var dot: Dot?
        package internal(set) var summary: RecordSummary?

        func isSource(of shown: RecordSource?) -> Bool {
            switch (source, shown) {
            case (.row, .row): true
            case (.dot(let built), .dot(let shown)): built == shown
            default: false
            }
        }
    }

    package let name: MessageName
    package let previous: SyncHash
    package internal(set) var table: LogTable = [:]
    package internal(set) var records: [SyncRecord] = []
    package internal(set) var entries: [Entry] = []

    /// The covers, strictly rising.
    package var covers: [Dot] { entries.reduce(into: Set()) { $0.formUnion($1.covers) }.sorted() }

    /// The batch, with the time at which it is built: milliseconds since 1970.
    package func batch(at milliseconds: UInt64) -> Batch {
        Batch(
            milliseconds: milliseconds, reads: MessageFormat.version, table: table,
            covers: covers, records: records)
    }
}

/// A base without its hash: a copy of all that the replica knows.
package struct BaseDraft: Sendable {
    package let name: MessageName
    package let previous: SyncHash
    package let table: LogTable
    package let own: [Base.OwnMessage]
    package let live: [Dot: RecordSummary]
    /// The deleted records of messages that were not read yet.
    package let cloud: Set<Dot>

    /// The base with these parts, and with the time at which it is built: milliseconds since 1970.
    package func base(at milliseconds: UInt64, parts: [SyncHash]) -> Base {
        Base(
            milliseconds: milliseconds, reads: MessageFormat.version, table: table, own: own,
            dotCount: UInt32(live.count + cloud.count), parts: parts)
    }
}

// MARK: - Batches

extension ScopeReplica {
    package var mayBuildBatch: Bool {
        (join == nil && !owesJoin || !applies(.noMessageDuringJoin)) && own.unconfirmed == nil
            && own.openBase == nil && hasRoomForLogs(adding: [])
    }

    /// Whether a table that has all known logs, those of deleted records that were not read, the
    /// own log, and the logs of `table` stays within the limit.
    func hasRoomForLogs(adding table: some Sequence<LogID>, limits: SyncLimits = SyncLimits())
        -> Bool
    {
        var logs = Set(positions.keys).union(cloud.logs.values.keys).union(table)
        logs.insert(own.id)
        return logs.count <= limits.logs
    }

    /// Whether there is something to send in a batch, or ``OwnLog/owesBatch`` requires one.
    package var hasNews: Bool {
        own.owesBatch || latestNews.contains(where: isNews)
            || pending.changed.contains(where: isNews)
            || renewals.changed.contains(where: isNews) || news.items.contains(where: isNews)
    }

    func isNews(_ key: SyncItemID) -> Bool {
        renewals[key] != nil || pending[key].map { !Self.waits($0) } == true
    }

    private mutating func listNews() {
        let latest = latestNews.union(pending.changed).union(renewals.changed)
        news.append(latest.filter(isNews).sorted())
        latestNews = []
        let (pending, renewals) = (pending, renewals)
        news.drop { key in
            renewals[key] == nil && pending[key].map { !Self.waits($0) } != true
        }
    }

    private static func waits(_ change: PendingChange) -> Bool {
        if case .moved(_, nil) = change.record { return true }
        return false
    }

    /// Puts what is pending into a batch, as far as it fits. A record goes with as many of its
    /// covers as fit; the other covers follow in the next batches, so that no item vanishes between
    /// two batches.
    ///
    /// - Parameter read: Makes the record; nil if the row cannot be opened now, so that the change
    ///   stays pending.
    /// - Returns: Nil if there is nothing to send.
    package mutating func draftBatch(
        limits: SyncLimits = SyncLimits(), read: (PendingSource) -> SyncRecord?
    ) -> BatchDraft? {
        precondition(mayBuildBatch, "another message is under way")
        var draft = BatchDraft(
            name: MessageName(log: own.id, number: own.next),
            previous: position(of: own.id).hash)
        draft.table = positions.filter { own.announced[$0.key] != $0.value }
        draft.table[own.id] = position(of: own.id)
        // Covers may name a log that this device has left and set back.
        var room = BatchRoom(
            limits, logCount: positions.count + retired.values.count + 1)
        listNews()
        items: for key in news.items {
            for (source, moved, covers) in news(of: key) {
                guard let source else {
                    let covers = room.take(covers)
                    guard !covers.isEmpty else { break items }
                    draft.entries.append(.init(key: key, source: nil, covers: covers))
                    continue
                }
                guard let record = read(source) else { continue }
                guard room.take(record) else { break items }
                var entry = BatchDraft.Entry(key: key, source: source, covers: room.take(covers))
                entry.dot = Dot(log: own.id, number: own.next, tag: record.tag)
                entry.summary = RecordSummary(key: key, time: record.time, moved: moved)
                draft.entries.append(entry)
                draft.records.append(record)
            }
        }
        guard !draft.entries.isEmpty || own.owesBatch else { return nil }
        for dot in draft.covers { draft.table[dot.log] = position(of: dot.log) }
        return draft
    }

    /// What a batch may say of an item. `source` is nil if there are only covers. `moved` is the
    /// message that brought the item to the other scope; nil unless the record is a *moved* one.
    private typealias News = (source: PendingSource?, moved: MessageName?, covers: Set<Dot>)

    private func news(of key: SyncItemID) -> [News] {
        var news: [News] = (renewals[key] ?? []).map {
            (.dot($0.source), $0.summary.moved, $0.covers)
        }
        guard let change = pending[key], !Self.waits(change) else { return news }
        let source: PendingSource? =
            switch change.record {
            case .row: .row(key)
            case .aside: .aside(key)
            case .moved(let time, let message?): .moved(key, time: time, to: message)
            case .moved(_, nil), nil: nil
            }
        var moved: MessageName?
        if case .moved(_, _, let message)? = source { moved = message }
        news.append((source, moved, change.covers))
        return news
    }

    /// Gives the records of a batch their dots. Its number is used from now on, whatever happens.
    ///
    /// - Returns: The former dots of records that have new dots now.
    mutating func add(_ draft: BatchDraft, hash: SyncHash) -> [Dot] {
        var dropped: [Dot] = []
        for entry in draft.entries {
            if case .dot(let source)? = entry.source {
                let rest = removeRenewal(entry.key, source)?.covers.subtracting(entry.covers) ?? []
                if !rest.isEmpty { pending[entry.key, default: .init()].covers.formUnion(rest) }
                dropped.append(source)
            } else if var change = pending[entry.key] {
                if entry.source != nil { change.record = nil }
                change.covers.subtract(entry.covers)
                let isDone = change.record == nil && change.covers.isEmpty
                pending[entry.key] = isDone ? nil : change
            }
            if let dot = entry.dot, let summary = entry.summary { addLive(dot, summary) }
        }
        positions[own.id] = LogPosition(number: draft.name.number, hash: hash)
        own.add(draft, hash: hash, positions: positions)
        return dropped
    }

    mutating func removeRenewal(_ key: SyncItemID, _ source: Dot) -> Renewal? {
        guard let index = renewals[key]?.firstIndex(where: { $0.source == source }) else {
            return nil
        }
        let renewal = renewals[key]?.remove(at: index)
        if renewals[key]?.isEmpty == true { renewals[key] = nil }
        return renewal
    }

    /// Remembers `draft`, a batch of the other scope, as the message that brought there the items
    /// that have moved from this scope.
    mutating func awaitConfirmation(of draft: BatchDraft) {
        for entry in draft.entries where entry.summary?.moved == nil && entry.dot != nil {
            if case .moved(_, nil)? = pending[entry.key]?.record {
                own.awaited[entry.key] = draft.name
            }
        }
    }

    /// Notes that the unconfirmed batch is in the store.
    ///
    /// - Returns: The batch's name; nil if none was unconfirmed.
    mutating func confirmBatch() -> MessageName? {
        guard let name = own.unconfirmed?.name else { return nil }
        own.unconfirmed = nil
        return name
    }

    /// Releases the *moved* records that wait for the confirmation of `message`.
    mutating func release(_ message: MessageName) {
        for (key, awaited) in own.awaited where awaited == message {
            own.awaited[key] = nil
            if case .moved(let time, nil)? = pending[key]?.record {
                pending[key]?.record = .moved(time: time, to: message)
            }
        }
    }
}

private struct BatchRoom {
    private var bytes: Int
    private var records: Int
    private var covers: Int

    /// Tables come first: there is room for all logs.
    init(_ limits: SyncLimits, logCount: Int) {
        bytes = limits.batchByteCount - EncodedTable.byteCount(logCount)
        records = limits.records
        covers = limits.covers
    }

    mutating func take(_ wanted: Set<Dot>) -> Set<Dot> {
        let count = max(0, min(wanted.count, covers, bytes / EncodedTable.dotByteCount))
        covers -= count
        bytes -= EncodedTable.dotByteCount * count
        return count == wanted.count ? wanted : Set(wanted.sorted().prefix(count))
    }

    mutating func take(_ record: SyncRecord) -> Bool {
        guard records > 0, record.byteCount <= bytes else { return false }
        records -= 1
        bytes -= record.byteCount
        return true
    }
}

// MARK: - Bases

extension ScopeReplica {
    /// Whether a base may be begun: no pending change has to go into a batch first.
    ///
    /// A pending change that covers nothing is no obstacle: a base neither has its record nor
    /// deletes anything for it. So an item that is too large to travel does not prevent a base.
    package var mayBeginBase: Bool {
        guard mayBuildBatch, join == nil, !own.owesBatch else { return false }
        let hasCovers = pending.values.values.contains { !$0.covers.isEmpty || $0.coversItem }
        return !hasCovers && renewals.isEmpty || !applies(.baseBringsNothingNew)
    }

    /// Takes the number of a base, and a copy of everything that the base contains.
    package mutating func beginBase(limits: SyncLimits = SyncLimits()) -> BaseDraft {
        precondition(mayBeginBase, "something is pending")
        let name = MessageName(log: own.id, number: own.next)
        own.next += 1
        own.openBase = name.number
        var table = positions
        table[own.id] = position(of: own.id)
        // A deleted record may belong to a log that was never read, or that was forgotten.
        for dot in cloud.dots where table[dot.log] == nil { table[dot.log] = .start }
        return BaseDraft(
            name: name, previous: position(of: own.id).hash, table: table,
            own: own.lastMessages(limits.own), live: live, cloud: cloud.dots)
    }

    /// Remembers the hash of the open base, before it is sent.
    package mutating func sendBase(hash: SyncHash) {
        guard let number = own.openBase else { return }
        own.attempts[number] = hash
    }

    package mutating func confirmBase(_ draft: BaseDraft) {
        guard own.openBase == draft.name.number, let hash = own.attempts[draft.name.number] else {
            return
        }
        own.openBase = nil
        own.confirmBase(number: draft.name.number, hash: hash)
        own.announced = draft.table
        positions[own.id] = LogPosition(number: draft.name.number, hash: hash)
    }

    /// Gives up the open base: its number is used, and nothing else has changed. If it may have
    /// been sent, a batch and another base follow: a device that has read the first base can join
    /// no later batch, and a base's list of own messages ends with the message before that base.
    package mutating func abandonBase() {
        guard let number = own.openBase else { return }
        own.openBase = nil
        guard own.attempts[number] != nil else { return }
        own.owesBatch = true
        own.owesBase = true
    }
}
