// SPDX-License-Identifier: Apache-2.0

// The logs of this device: the current one, and those that it left because another copy of the
// keychain had written into them. Rules: docs/SYNC.md §5.

internal import ValetKeychainModel
internal import ValetSealing

package struct OwnLog: Sendable {
    /// A batch that is not confirmed. It is sent unchanged until it is in the store.
    package struct Unconfirmed: Sendable {
        package let name: MessageName
        package let hash: SyncHash
        let entries: [BatchDraft.Entry]
    }

    package let id: LogID
    /// The next number. It never falls: a number is used once, whatever becomes of its message.
    package internal(set) var next: UInt64 = 1
    /// The messages that are part of this log's history.
    package var built: [UInt64: SyncHash] { messages.values }
    private(set) var messages = Tracked<UInt64, SyncHash>()
    /// The bases of unknown outcome: about to be sent or sent, and not confirmed.
    var attempts: [UInt64: SyncHash] = [:]
    package internal(set) var openBase: UInt64?
    package internal(set) var unconfirmed: Unconfirmed? { didSet { hasOtherUnconfirmed = true } }
    private var hasOtherUnconfirmed = false
    /// The positions of this device when it built its last message.
    var announced: LogTable = [:]
    /// The items that moved away, with the message that brought them to the other scope.
    var awaited: [SyncItemID: MessageName] = [:]
    /// The records of this log that its own messages covered, by the message's number.
    var covers: [UInt64: [Dot]] = [:]
    /// The number up to which each other device has read this log, by the first half of the
    /// device's id.
    var named: [UInt64: UInt64] = [:]
    /// Whether the next message has to be a batch, even one without records. There are three
    /// reasons: this log follows another one; a base was given up that may have been sent; other
    /// devices need the table of this one.
    package internal(set) var owesBatch: Bool
    /// Whether a base must follow, however few bytes the batches have.
    package internal(set) var owesBase: Bool
    package internal(set) var batchesSinceBase = 0
    package internal(set) var batchByteCount = 0
    package internal(set) var baseByteCount = 0

    /// An empty log.
    ///
    /// - Parameter followsAnother: Whether it follows another log, and so begins with a batch and a
    ///   base.
    init(_ id: LogID, followsAnother: Bool = false) {
        self.id = id
        owesBatch = followsAnother
        owesBase = followsAnother
    }

    /// Passes the changed entries to `write`. After that they count as unchanged.
    mutating func takeChanges<E>(
        in scope: KeyScope, _ write: (ReplicaEntry) throws(E) -> Void
    ) throws(E) {
        for number in messages.takeChanged() {
            let facts = built[number].map { [UInt8](fields: $0, covers[number] ?? []) }
            let id = [UInt8](fields: scope, id, number)
            try write(ReplicaEntry(kind: .message, id: id, facts: facts))
        }
        guard hasOtherUnconfirmed else { return }
        let facts = unconfirmed.map { [UInt8](fields: $0) }
        try write(ReplicaEntry(kind: .unconfirmed, id: [UInt8](fields: scope, id), facts: facts))
        hasOtherUnconfirmed = false
    }

    mutating func restore(_ number: UInt64, hash: SyncHash, covers dots: [Dot]) {
        messages[number] = hash
        if !dots.isEmpty { covers[number] = dots }
    }

    mutating func add(_ draft: BatchDraft, hash: SyncHash, positions: LogTable) {
        let number = draft.name.number
        next = number + 1
        messages[number] = hash
        announced = positions
        let covered = draft.covers.filter { $0.log == id }
        if !covered.isEmpty { covers[number] = covered }
        unconfirmed = Unconfirmed(name: draft.name, hash: hash, entries: draft.entries)
        owesBatch = false
        batchesSinceBase += 1
    }

    mutating func confirmBase(number: UInt64, hash: SyncHash) {
        attempts[number] = nil
        messages[number] = hash
        owesBase = false
        batchesSinceBase = 0
        batchByteCount = 0
    }

    /// A base that was thought to have failed is in the store. If no message was built after it,
    /// the log goes on from it. Otherwise its readers need another base.
    ///
    /// - Returns: Whether the log goes on from it.
    mutating func foundBase(number: UInt64, hash: SyncHash) -> Bool {
        guard next == number + 1 else {
            attempts[number] = nil
            messages[number] = hash
            owesBase = true
            return false
        }
        confirmBase(number: number, hash: hash)
        owesBatch = false
        return true
    }

    package func isOwn(_ message: StoredMessage) -> Bool {
        let number = message.name.number
        return built[number] == message.hash || attempts[number] == message.hash
    }

    /// The last messages of this log, for a base.
    ///
    /// It includes bases of unknown outcome: otherwise a device that has read one would see two
    /// histories in this log. A batch follows such a base, so the list still ends with the message
    /// before the new base.
    func lastMessages(_ count: Int) -> [Base.OwnMessage] {
        built.merging(attempts) { built, _ in built }.sorted { $0.key < $1.key }.suffix(count)
            .map { Base.OwnMessage(number: $0.key, hashStart: $0.value.first) }
    }

    func position(before number: UInt64) -> LogPosition? {
        guard let last = built.keys.filter({ $0 < number }).max(), let hash = built[last] else {
            return nil
        }
        return LogPosition(number: last, hash: hash)
    }

    /// The first number at which this device and a copy of its keychain, which writes the same log,
    /// may have parted. Example: this device has built messages 1 to 5. The copy's message 4 names
    /// message 3 of this device as its previous one. So both know 1 to 3, and the result is 4.
    ///
    /// - Parameter foreign: The messages in the log that this device has not built.
    /// - Parameter isShown: Whether the store has the unconfirmed batch.
    func firstNotCommon(_ foreign: [StoredMessage], isShown: Bool, limits: SyncLimits) -> UInt64 {
        let bases = foreign.filter { $0.base != nil }
        let common = built.filter { number, hash in
            if foreign.contains(where: { $0.previous == hash }) { return true }
            let reaching = bases.filter { $0.reaches(number, limits) }
            return !reaching.isEmpty
                && reaching.allSatisfy { $0.ownHashStart(of: number) == hash.first }
        }
        var first = (common.keys.max() ?? 0) + 1
        if let least = foreign.map(\.name.number).min() { first = min(first, least) }
        if let unconfirmed, !isShown { first = min(first, unconfirmed.name.number) }
        return first
    }
}

/// A log that this device wrote until it found that another copy of its keychain wrote there.
package struct RetiredLog: Sendable {
    var own: OwnLog
    /// The number after the last common message. From there on, this device does not read its own
    /// messages.
    package internal(set) var firstNotCommon: UInt64
    /// Whether this device sends the live records of the log again, from ``firstNotCommon`` on.
    package internal(set) var renews: Bool
    /// The foreign messages that were read, directly or as part of a base.
    var read: Set<UInt64> = []

    /// Whether this device sends a live record of the log again.
    func isRenewed(_ dot: Dot) -> Bool { renews && dot.number >= firstNotCommon }
}

/// Why this device must take a new log.
package enum Elsewhere: Sendable {
    /// The store has messages in this device's log that this device did not build.
    case foreign([StoredMessage])
    /// The table of another device names a message of this device's log that this device did not
    /// build.
    case named(by: UInt64)
}

extension ScopeReplica {
    /// Looks at the messages of the own log in the store, before anything is joined.
    ///
    /// - Returns: Nil if this device has built all of them.
    package mutating func inspectOwnLog(_ messages: [StoredMessage]) -> Elsewhere? {
        var foreign: [StoredMessage] = []
        for message in messages {
            let number = message.name.number
            guard own.isOwn(message) else {
                foreign.append(message)
                continue
            }
            guard own.attempts[number] == message.hash, own.openBase != number,
                message.base?.isComplete == true
            else { continue }
            if own.foundBase(number: number, hash: message.hash) {
                positions[own.id] = LogPosition(number: number, hash: message.hash)
            }
        }
        return foreign.isEmpty ? nil : .foreign(foreign)
    }

    /// Looks at what the table of a message says about this device's log, before the message is
    /// joined.
    package mutating func inspect(_ table: LogTable, of author: UInt64) -> Elsewhere? {
        guard let named = table[own.id], named.number > 0 else { return nil }
        let hash = own.built[named.number] ?? own.attempts[named.number]
        if hash == nil, let least = own.built.keys.min(), named.number < least { return nil }
        guard hash == named.hash else { return .named(by: author) }
        own.named[author] = max(own.named[author] ?? 0, named.number)
        return nil
    }

    /// Leaves the own log, in which another copy of this keychain has written, for the log `id`.
    ///
    /// - Parameter isShown: Whether the store has the unconfirmed batch.
    package mutating func leaveLog(
        for id: LogID, because elsewhere: Elsewhere, isShown: Bool,
        limits: SyncLimits = SyncLimits()
    ) {
        precondition(join == nil, "a join was not finished")
        let old = own
        var foreign: [StoredMessage] = []
        var first: UInt64
        switch elsewhere {
        case .foreign(let messages):
            foreign = messages
            first = old.firstNotCommon(messages, isShown: isShown, limits: limits)
        case .named(let author):
            first = (old.named[author] ?? 0) + 1
            if let unconfirmed = old.unconfirmed, !isShown {
                first = min(first, unconfirmed.name.number)
            }
        }
        takeBack(old.unconfirmed, isShown: isShown)
        own = OwnLog(id, followsAnother: true)
        own.awaited = old.awaited
        hasChanged = true
        retired[old.id] = RetiredLog(own: old, firstNotCommon: first, renews: false)
        setBack(old.id, to: first)
        decideRenewal(old.id, foreign, isShown: isShown)
    }

    /// Starts a log for a device that joins the circle again, under a new id.
    package mutating func startLog(_ id: LogID) {
        precondition(own.unconfirmed == nil, "the former log has an unconfirmed message")
        let awaited = own.awaited
        own = OwnLog(id)
        own.awaited = awaited
        hasChanged = true
    }

    /// Takes over the live records of a replica of another circle: the next messages bring them to
    /// this circle. *Moved* records are left out, because they name messages of that circle.
    ///
    /// - Returns: The records that were not taken over, with their items.
    mutating func bringAnew(_ old: ScopeReplica) -> [Dot: SyncItemID] {
        var dropped: [Dot: SyncItemID] = [:]
        let renewed = old.renewals.values.values.joined().map { ($0.source, $0.summary) }
        for (dot, summary) in old.live.map({ ($0.key, $0.value) }) + renewed {
            let isKnown = renewals[summary.key]?.contains { $0.source.tag == dot.tag } == true
            if summary.moved != nil || isKnown {
                dropped[dot] = summary.key
            } else {
                let renewal = Renewal(source: dot, summary: summary, covers: [])
                renewals[summary.key, default: []].append(renewal)
            }
        }
        for (key, change) in old.pending.values {
            switch change.record {
            case .row, .aside: pending[key] = PendingChange(change.record)
            case .moved, nil: break
            }
        }
        return dropped
    }

    /// Looks at the messages of a log that this device has left. More foreign messages may show
    /// that the histories part earlier.
    package mutating func inspectRetired(
        _ log: LogID, _ messages: [StoredMessage], limits: SyncLimits = SyncLimits()
    ) {
        guard let old = retired[log] else { return }
        let foreign = messages.filter { !old.own.isOwn($0) }
        let unconfirmed = old.own.unconfirmed
        let isShown = messages.contains { $0.hash == unconfirmed?.hash }
        let first = old.own.firstNotCommon(foreign, isShown: isShown, limits: limits)
        if first < old.firstNotCommon, !foreign.isEmpty {
            retired[log]?.firstNotCommon = first
            retired[log]?.read = []
            setBack(log, to: first)
            if old.renews { renewAll(of: log) }
            own.owesBase = true
        }
        decideRenewal(log, foreign, isShown: isShown)
    }

    /// The foreign messages of a retired log that are not joined any more: those that arrived after
    /// this device had read past their number, and the batches that follow one of them. Their
    /// records are kept as replaced values.
    package func late(in log: LogID, _ messages: [StoredMessage]) -> [StoredMessage] {
        guard let old = retired[log] else { return [] }
        let position = position(of: log)
        return messages.filter { message in
            guard !old.own.isOwn(message), !old.read.contains(message.hash.first) else {
                return false
            }
            let follows =
                message.base == nil && message.previous != position.hash
                && old.read.contains(message.previous.first)
            return message.name.number <= position.number || follows
        }
    }

    /// The numbers of the messages that this device did not build, in a log that it has left.
    package func foreign(in log: LogID, _ messages: [StoredMessage]) -> Set<UInt64> {
        guard let old = retired[log] else { return [] }
        return Set(messages.filter { !old.own.isOwn($0) }.map(\.name.number))
    }

    package mutating func keptLate(_ message: StoredMessage) {
        retired[message.name.log]?.read.insert(message.hash.first)
    }

    /// Makes the entries of an unconfirmed message pending again.
    private mutating func takeBack(_ message: OwnLog.Unconfirmed?, isShown: Bool) {
        guard let message, !isShown, applies(.unconfirmedIsTakenBack) else { return }
        for entry in message.entries {
            guard let dot = entry.dot, let summary = removeLive(dot) else {
                pending[entry.key, default: PendingChange()].covers.formUnion(entry.covers)
                continue
            }
            cloud.insert(dot)
            renew(dot, summary, covers: entry.covers)
        }
    }

    private mutating func renew(_ dot: Dot, _ summary: RecordSummary, covers: Set<Dot>) {
        let covers = covers.union([dot])
        var list = renewals[summary.key] ?? []
        if let index = list.firstIndex(where: { $0.source.tag == dot.tag }) {
            list[index].covers.formUnion(covers)
        } else {
            list.append(Renewal(source: dot, summary: summary, covers: covers))
        }
        renewals[summary.key] = list
    }

    /// Sets the position of a retired log back to the last common message. Records that were
    /// covered since then must not come back.
    private mutating func setBack(_ log: LogID, to first: UInt64) {
        guard let old = retired[log], position(of: log).number >= first,
            applies(.positionGoesBack)
        else { return }
        positions[log] = old.own.position(before: first)
        guard applies(.coversOfTheOldLog) else { return }
        for change in pending.values.values { forget(change.covers) }
        for list in renewals.values.values { for renewal in list { forget(renewal.covers) } }
        for (number, dots) in old.own.covers where number >= first { forget(dots) }
    }

    private mutating func decideRenewal(_ log: LogID, _ foreign: [StoredMessage], isShown: Bool) {
        guard let old = retired[log], !old.renews, applies(.bothHistoriesComeAnew) else { return }
        let unsent = isShown ? nil : old.own.unconfirmed?.name.number
        let hasSent = old.own.built.keys.contains {
            $0 >= old.firstNotCommon && $0 != unsent
        }
        let numbers = foreign.map(\.name.number)
        guard hasSent || Set(numbers).count < numbers.count else { return }
        retired[log]?.renews = true
        renewAll(of: log)
        renewRetired()
    }

    /// Finds the live records of a log with two histories. Looks at all live records.
    mutating func renewAll(of log: LogID) {
        guard let old = retired[log] else { return }
        for dot in live.keys where dot.log == log && old.isRenewed(dot) { toRenew.insert(dot) }
    }

    /// Turns the live records of a log with two histories into records to bring anew.
    mutating func renewRetired() {
        for dot in toRenew.sorted() {
            guard let summary = removeLive(dot) else { continue }
            cloud.insert(dot)
            renew(dot, summary, covers: [])
        }
        toRenew = []
        cloud.trim(to: positions)
    }
}
