// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel

// What one device knows of one scope of its circle. `Replica` has two of these; joining, building
// and the change to a new log are in files of their own. Rules: docs/SYNC.md §4. An example of each
// word, such as dot, cover and cloud: docs/GLOSSARY.md.

/// Names an item in one keychain by a number, which stays the same when the keys of the keychain
/// change.
package struct SyncItemID: Hashable, Comparable, Sendable {
    package let number: Int64

    package init(_ number: Int64) { self.number = number }

    package static func < (left: SyncItemID, right: SyncItemID) -> Bool {
        left.number < right.number
    }
}

/// The facts about a record that the replica needs. It never sees a value, so it can work on
/// records of a closed scope.
package struct RecordSummary: Hashable, Sendable {
    package let key: SyncItemID
    package let time: UInt64
    /// The message that brought the item to the other scope; set in *moved* records alone.
    package let moved: MessageName?

    package init(key: SyncItemID, time: UInt64, moved: MessageName? = nil) {
        (self.key, self.time, self.moved) = (key, time, moved)
    }
}

/// A local change of an item that is in no message yet.
package struct PendingChange: Hashable, Sendable {
    package enum Record: Hashable, Sendable {
        /// The row, which is read when the message is built.
        case row(time: UInt64)
        /// A copy of the row's record: the row shows another one by now.
        case aside(time: UInt64)
        /// The item went to the other scope. The message that brought it there is set once it is
        /// confirmed; until then the change waits.
        case moved(time: UInt64, to: MessageName?)
    }

    /// The new record; nil for a deletion.
    package var record: Record?
    package var covers: Set<Dot> = []
    /// Whether the change covers a record that is not a *moved* one.
    var coversItem = false

    init(_ record: Record? = nil, covers: Set<Dot> = []) {
        (self.record, self.covers) = (record, covers)
    }
}

/// A record that this device brings again, because it came in a log with two histories.
package struct Renewal: Hashable, Sendable {
    /// The dot under which the record's bytes are kept.
    package let source: Dot
    package let summary: RecordSummary
    /// The dots that the new record covers; `source` is one of them.
    package var covers: Set<Dot>
}

/// The live and the deleted records of one scope, as far as this device knows.
///
/// It is a value: a caller changes a copy, writes the difference in a transaction, and keeps the
/// copy after the commit.
package struct ScopeReplica: Sendable {
    package let scope: KeyScope
    /// The position in each log: V.
    package internal(set) var positions: LogTable = [:] { didSet { hasChanged = true } }
    package private(set) var live: [Dot: RecordSummary] = [:]
    /// The dots of `live` by item.
    private var dotsByKey: [SyncItemID: Set<Dot>] = [:]
    /// The dots of records that were deleted before this device has read their messages.
    var cloud = Cloud()
    /// The local changes that no message has yet.
    var pending = Tracked<SyncItemID, PendingChange>()
    /// The records that the next message brings again.
    var renewals = Tracked<SyncItemID, [Renewal]>()
    /// The items of ``pending`` and ``renewals``, in the order in which batches take them.
    var news = NewsQueue()
    /// The items of ``pending`` and ``renewals`` that are not in ``news`` yet.
    var latestNews: Set<SyncItemID> = []
    package internal(set) var join: JoinInProgress?
    /// Whether a join was interrupted: its message is joined anew before anything else.
    package internal(set) var owesJoin = false
    package internal(set) var own: OwnLog { didSet { hasOwnChanged = true } }
    /// The logs that this device wrote before ``own``.
    var retired = Tracked<LogID, RetiredLog>()
    /// The live records of ``retired`` logs that will be brought anew.
    var toRenew: Set<Dot> = []
    /// The records that became live or ceased to be live since this was last taken, with their
    /// items.
    var changedDots: [Dot: SyncItemID] = [:]
    var hasChanged = true
    var hasOwnChanged = true
    #if SYNC_RULES
        var omitted: Rule?
    #endif

    package init(_ scope: KeyScope, log: LogID) {
        self.scope = scope
        own = OwnLog(log)
    }

    package func position(of log: LogID) -> LogPosition { positions[log] ?? .start }

    /// Whether anything is known of an item, apart from messages under way.
    func knows(_ key: SyncItemID) -> Bool {
        !dots(of: key).isEmpty || pending[key] != nil || renewals[key] != nil
            || own.awaited[key] != nil
    }

    /// How many changes the store may not have: those that no batch has yet, and those of a batch
    /// that is not confirmed.
    package var pendingCount: Int {
        pending.values.count + renewals.values.count + (own.unconfirmed?.entries.count ?? 0)
    }

    package var retiredLogs: Set<LogID> { Set(retired.values.keys) }

    /// The summary of an item's record; nil if the record is neither live nor a renewal.
    package func summary(of dot: Dot, _ key: SyncItemID) -> RecordSummary? {
        live[dot] ?? renewal(of: dot, key)
    }

    /// The renewal of a record of an item; nil if there is none.
    package func renewal(of dot: Dot, _ key: SyncItemID) -> RecordSummary? {
        renewals[key]?.first { $0.source == dot }?.summary
    }

    /// The records of an item that this device keeps: live ones, and renewals.
    package func keptDots(of key: SyncItemID) -> [Dot] {
        dots(of: key).sorted() + (renewals[key] ?? []).map(\.source)
    }

    /// How many records an item has: live ones, renewals, and the one of a pending change.
    func recordCount(of key: SyncItemID) -> Int {
        dots(of: key).count + (renewals[key]?.count ?? 0) + (pending[key]?.record == nil ? 0 : 1)
    }

    /// The items of which something waits to be sent, unordered.
    var keysOfNews: [SyncItemID] { Array(pending.values.keys) + Array(renewals.values.keys) }

    /// Whether a copy of the item waits to be sent.
    package func hasAside(_ key: SyncItemID) -> Bool {
        if case .aside = pending[key]?.record { true } else { false }
    }

    /// Whether the *moved* record of an item waits for a message that was built already.
    func isAwaiting(_ key: SyncItemID) -> Bool { own.awaited[key] != nil }

    /// The items that have live records, unordered.
    var keysOfLive: [SyncItemID] { Array(dotsByKey.keys) }

    package func dots(of key: SyncItemID) -> Set<Dot> { dotsByKey[key] ?? [] }

    /// Whether the message of the record was not read yet.
    func isAhead(_ dot: Dot) -> Bool { dot.number > position(of: dot.log).number }

    /// Whether this device knows of the record, alive or deleted.
    ///
    /// Records that pending changes cover are at or below `positions`, or in the cloud.
    func hasSeen(_ dot: Dot) -> Bool { !isAhead(dot) || live[dot] != nil || cloud.contains(dot) }

    mutating func addLive(_ dot: Dot, _ summary: RecordSummary) {
        live[dot] = summary
        dotsByKey[summary.key, default: []].insert(dot)
        changedDots[dot] = summary.key
        if retired[dot.log]?.isRenewed(dot) == true { toRenew.insert(dot) }
    }

    /// Returns the summary of the removed record; nil if it was not live.
    @discardableResult
    mutating func removeLive(_ dot: Dot) -> RecordSummary? {
        guard let summary = live.removeValue(forKey: dot) else { return nil }
        dotsByKey[summary.key]?.remove(dot)
        changedDots[dot] = summary.key
        if dotsByKey[summary.key]?.isEmpty == true { dotsByKey[summary.key] = nil }
        return summary
    }

    /// Whether a live record or a renewal of an item has the tag `tag`.
    func hasEqualRecord(of key: SyncItemID, tag: UInt64) -> Bool {
        dots(of: key).contains { $0.tag == tag }
            || renewals[key]?.contains { $0.source.tag == tag } == true
    }

    /// Puts the dots of deleted records into the cloud, unless their messages were read.
    mutating func forget(_ dots: some Sequence<Dot>) {
        guard applies(.cloudOfCovers) else { return }
        for dot in dots where isAhead(dot) { cloud.insert(dot) }
    }
}

extension ScopeReplica {
    /// Takes a record away, live or a renewal: its item's pending change covers it.
    ///
    /// - Returns: false if the record is neither.
    mutating func drop(_ dot: Dot, of key: SyncItemID) -> Bool {
        var covers: Set<Dot> = [dot]
        if removeLive(dot) != nil {
            forget(covers)
        } else if let renewal = removeRenewal(key, dot) {
            covers = renewal.covers
            changedDots[dot] = key
        } else {
            return false
        }
        if !covers.isEmpty { pending[key, default: PendingChange()].covers.formUnion(covers) }
        return true
    }

    /// Takes the record of a pending change away. What the change covers stays covered.
    mutating func dropPendingRecord(of key: SyncItemID) {
        pending[key]?.record = nil
        if pending[key]?.covers.isEmpty == true { pending[key] = nil }
    }

    /// Turns the live records of an item into covers of its pending change.
    ///
    /// - Parameter record: The new record of this scope; nil if the item has none in it.
    /// - Parameter isElsewhere: Whether the item has a record in the other scope now.
    /// - Parameter time: The time of the change.
    mutating func coverAll(
        of key: SyncItemID, with record: PendingChange.Record?, isElsewhere: Bool, time: UInt64
    ) -> [Dot] {
        var change = pending[key] ?? PendingChange()
        let dots = dots(of: key)
        let renewed = renewals[key] ?? []
        let coversItem =
            dots.contains { live[$0]?.moved == nil }
            || renewed.contains { $0.summary.moved == nil }
        // On other devices the row would vanish if a *moved* record were deleted before the other
        // scope was read.
        if isElsewhere, !coversItem, pending[key] == nil, applies(.movedStays) { return [] }
        for dot in dots { removeLive(dot) }
        forget(dots)
        change.covers.formUnion(dots)
        for renewal in renewed { change.covers.formUnion(renewal.covers) }
        renewals[key] = nil
        change.coversItem = change.coversItem || coversItem
        change.record = record
        if isElsewhere, change.coversItem, applies(.movedIsLeft) {
            change.record = .moved(time: time, to: nil)
        }
        let isEmpty = change.record == nil && change.covers.isEmpty
        pending[key] = isEmpty ? nil : change
        return Array(dots) + renewed.map(\.source)
    }
}

/// The rules of the replica and of the logs that a test can leave out, to see that the model
/// notices. Only a test of this module can omit one: ``ScopeReplica/omitted`` is internal, and a
/// release has neither it nor these names (`scripts/check-libraries` looks).
enum Rule {
    /// If a record is deleted before its message was read, its dot goes into the cloud.
    case cloudOfCovers
    /// A class change leaves a record in the scope that the item came from.
    case movedIsLeft
    /// A write in one scope does not cover *moved* records of the other.
    case movedStays
    /// What a local write covers and no row showed becomes a replaced value.
    case coveredIsKept
    /// A row stays as it is while its item is on its way to the other scope.
    case rowStaysWhileMoving
    /// Rows of class 1 are left alone while the keychain is locked.
    case lockedRowsStay
    /// The greatest record of an item is shown.
    case greatestIsShown
    /// A base adds only records that were not seen.
    case baseAddsUnseen
    /// A base removes records that its author had seen and does not hold.
    case baseRemovesSeen
    /// A base has no live record above its table.
    case recordsAtOrBelowTable
    /// No message is built before a join is finished.
    case noMessageDuringJoin
    /// Pending changes go into a batch before a base.
    case baseBringsNothingNew
    /// A batch is joined only if it follows the last message that was read.
    case batchesFollow
    /// A base that contradicts what was read of its log is not joined.
    case basesContradict
    /// The contents of an unconfirmed message become pending again when its log is left.
    case unconfirmedIsTakenBack
    /// The position of a log that is left goes back to the last common message.
    case positionGoesBack
    /// Records that were covered after the last common message go into the cloud.
    case coversOfTheOldLog
    /// Live records of a log with two histories are brought anew.
    case bothHistoriesComeAnew
    /// A device does not read its own messages of a log that it left.
    case ownIsNotReadAgain
}

#if SYNC_RULES
    extension Rule: CaseIterable, Sendable {}

    extension ScopeReplica {
        func applies(_ rule: Rule) -> Bool { rule != omitted }
    }
#else
    extension ScopeReplica {
        @inline(__always) func applies(_ rule: Rule) -> Bool { true }
    }
#endif

extension Replica {
    @inline(__always) func applies(_ rule: Rule) -> Bool { firstUnlock.applies(rule) }
}
