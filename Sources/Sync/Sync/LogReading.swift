// SPDX-License-Identifier: Apache-2.0

// Which messages of a log are read next, which are missing, and when a base is due: decisions over
// the list of a store's messages. Rules: docs/SYNC.md §5.

/// A message in the store whose header is valid.
package struct StoredMessage: Hashable, Sendable {
    package struct StoredBase: Hashable, Sendable {
        package let own: [Base.OwnMessage]
        /// How far its author had read each log.
        package let table: LogTable
        package let isComplete: Bool

        package init(own: [Base.OwnMessage], table: LogTable, isComplete: Bool) {
            (self.own, self.table, self.isComplete) = (own, table, isComplete)
        }
    }

    package let name: MessageName
    package let hash: SyncHash
    package let previous: SyncHash
    /// The fields of a base; nil for a batch.
    package let base: StoredBase?

    package init(name: MessageName, hash: SyncHash, previous: SyncHash, base: StoredBase?) {
        (self.name, self.hash) = (name, hash)
        (self.previous, self.base) = (previous, base)
    }

    /// Whether the list of own messages of a base reaches back to the message `number`.
    func reaches(_ number: UInt64, _ limits: SyncLimits) -> Bool {
        guard let own = base?.own, name.number > number else { return false }
        return own.count < limits.own || own.first.map { $0.number <= number } ?? false
    }

    /// The first 8 bytes of the hash of the message `number` in the history of a base's log.
    func ownHashStart(of number: UInt64) -> UInt64? {
        base?.own.first { $0.number == number }?.hashStart
    }
}

package enum ReadChoice: Hashable, Sendable {
    case join(StoredMessage)
    case done
    /// There are messages, but none continues what was read: wait for a base.
    case waits
    case twoHistories
}

extension ScopeReplica {
    /// Chooses the message of a log that is read next.
    ///
    /// - Parameter last: The number of the last message to read, in a log of a device that has
    ///   left.
    package func choose(
        from messages: [StoredMessage], of log: LogID, upTo last: UInt64 = .max,
        limits: SyncLimits = SyncLimits()
    ) -> ReadChoice {
        let position = position(of: log)
        let old = retired[log]
        let ahead = messages.filter { message in
            let isOwnLater =
                message.name.number >= old?.firstNotCommon ?? .max
                && old?.own.isOwn(message) == true && applies(.ownIsNotReadAgain)
            return message.name.number > position.number && message.name.number <= last
                && !isOwnLater
        }
        guard !ahead.isEmpty else { return .done }
        let bases = ahead.filter { $0.base?.isComplete == true }
        let fitting = bases.filter {
            old != nil || !contradicts($0, position, limits) || !applies(.basesContradict)
        }
        if let base = fitting.max(by: { ($0.name, $0.hash) < ($1.name, $1.hash) }) {
            return .join(base)
        }
        let batches = ahead.filter { message in
            guard message.base == nil else { return false }
            if message.previous == position.hash || !applies(.batchesFollow) { return true }
            return old?.own.built.values.contains(message.previous) == true
        }
        if let batch = batches.min(by: { ($0.name, $0.hash) < ($1.name, $1.hash) }) {
            return .join(batch)
        }
        return bases.isEmpty ? .waits : .twoHistories
    }

    private func contradicts(
        _ base: StoredMessage, _ position: LogPosition, _ limits: SyncLimits
    ) -> Bool {
        guard position.number > 0, base.reaches(position.number, limits) else { return false }
        return base.ownHashStart(of: position.number) != position.hash.first
    }

    /// The logs in which a new reader, which begins with nothing, could not get to the position of
    /// this device.
    ///
    /// - Parameter messages: The messages of members, by log.
    package func unreachable(in messages: [LogID: [StoredMessage]]) -> [LogID] {
        var reached: [LogID: Set<SyncHash>] = [:]
        for message in messages.values.joined() {
            guard let base = message.base, base.isComplete else { continue }
            reached[message.name.log, default: []].insert(message.hash)
            for (log, position) in base.table { reached[log, default: []].insert(position.hash) }
        }
        return positions.filter { log, position in
            if position.number == 0 { return false }
            return !isReached(position.hash, reached[log] ?? [], messages[log] ?? [])
        }.map(\.key).sorted()
    }

    /// Whether the store has lost messages of the own log, so that readers of the log cannot get to
    /// its last confirmed message.
    ///
    /// - Parameter messages: The messages of the own log in the store.
    package func hasLost(from messages: [StoredMessage]) -> Bool {
        let confirmed = own.built.filter { $0.key != own.unconfirmed?.name.number }
        guard let last = confirmed.max(by: { $0.key < $1.key }) else { return false }
        let bases = messages.filter { $0.base?.isComplete == true }.map(\.hash)
        return !isReached(last.value, Set(bases), messages)
    }

    /// Whether a chain of batches leads to the message `hash`, from a reached message or from the
    /// start of the log.
    private func isReached(
        _ hash: SyncHash, _ reached: Set<SyncHash>, _ messages: [StoredMessage]
    ) -> Bool {
        var hash = hash
        let byHash = Dictionary(messages.map { ($0.hash, $0) }) { first, _ in first }
        for _ in 0...messages.count {
            if reached.contains(hash) || hash == .zero { return true }
            guard let message = byHash[hash], message.base == nil else { return false }
            hash = message.previous
        }
        return false
    }

    package static let batchByteCountWithoutBase = 1 << 20
    package static let batchesWithoutBase = 1_000

    /// Whether a base is due, by the number or size of the batches, or because one is owed.
    package var isBaseDue: Bool {
        own.owesBase || own.batchesSinceBase > Self.batchesWithoutBase
            || own.batchByteCount > max(Self.batchByteCountWithoutBase, own.baseByteCount / 2)
    }

    package mutating func countBatch(byteCount: Int) { own.batchByteCount += byteCount }

    package mutating func countBase(byteCount: Int) { own.baseByteCount = byteCount }

    /// Makes a base due: the store has lost messages of this log, or somebody needs all of it.
    package mutating func oweBase() { own.owesBase = true }

    /// Whether the owner of a log with two histories does not know yet which history was read here.
    /// The owner learns that from the table of a batch, and then begins a new log.
    package func owesNews(of log: LogID) -> Bool {
        let position = position(of: log)
        return position.number > 0 && own.announced[log] != position && !own.owesBatch
    }

    /// Makes a batch due. Its table has all logs that were read, and a new member learns from that
    /// table how far to read.
    package mutating func oweTable() {
        own.announced = [:]
        own.owesBatch = true
    }
}

/// States that are reported only after an hour, because messages may still be on their way.
package struct LastingStates<Name: Hashable & Sendable>: Sendable {
    private var since: [Name: UInt64] = [:]

    package init() {}

    /// Takes the names of the states of this moment, and returns those that have lasted for
    /// `duration`.
    package mutating func update(
        _ names: some Sequence<Name>, at milliseconds: UInt64, duration: UInt64 = 3_600_000
    ) -> Set<Name> {
        var next: [Name: UInt64] = [:]
        for name in names { next[name] = min(since[name] ?? milliseconds, milliseconds) }
        since = next
        return Set(next.filter { milliseconds - $0.value >= duration }.keys)
    }
}

extension ScopeReplica {
    /// The messages that members have read and this device has not. If that lasts, the store
    /// withholds them.
    package func missing(in tables: some Sequence<LogTable>) -> Set<MessageName> {
        var missing: Set<MessageName> = []
        for table in tables {
            for (log, position) in table
            where log != own.id && position.number > self.position(of: log).number {
                missing.insert(MessageName(log: log, number: position.number))
            }
        }
        return missing
    }
}
