// SPDX-License-Identifier: Apache-2.0

// What one device knows of its circle: the replicas of both scopes, what the keychain shows of
// them, and the local changes that it collects. Rules: docs/SYNC.md §4.

package import ValetKeychainModel

/// The state of an item in the keychain when ``Replica/collect(_:)`` looks. Reading it opens no
/// row.
package enum LocalState: Hashable, Sendable {
    /// The item was deleted: its row is a tombstone.
    case absent
    /// The row does not travel: it is of this device only, or not synchronizable.
    case stays
    /// The row travels in the scope. `time` is that of its record.
    case travels(KeyScope, time: UInt64)
}

/// Where to find the bytes of a record that a row will show.
package enum RecordSource: Hashable, Sendable {
    case dot(Dot)
    /// The record was set aside: ``ReplicaChange/setAside(_:_:)``.
    case aside
    case row
}

/// A change that the caller makes to the keychain in the transaction in which the replica changes.
package enum ReplicaChange: Hashable, Sendable {
    case record(KeyScope, RecordChange)
    /// Keep a copy of the row's record: no message has brought it yet, and the row will show
    /// another one.
    case setAside(SyncItemID, KeyScope)
    /// Delete the copy that was set aside. If it `isReplaced`, it becomes a replaced value.
    case dropAside(SyncItemID, isReplaced: Bool)
    /// Keep the row's value as a replaced one if the record that is shown next differs from it. No
    /// message contains it.
    case keepUnsent(SyncItemID)
    /// Write the record into the row.
    case show(SyncItemID, KeyScope, RecordSource)
    /// Remove the row, and keep its value as a replaced one.
    case remove(SyncItemID)
}

/// What this device knows of the circle, beyond its replica.
package struct CircleView: Hashable, Sendable {
    /// The first halves of the ids of the members, and of those that left: their logs are read.
    package var readable: Set<UInt64>
    package var isLocked: Bool

    package init(readable: Set<UInt64>, isLocked: Bool) {
        (self.readable, self.isLocked) = (readable, isLocked)
    }
}

/// What one device knows of its circle.
package struct Replica: Sendable {
    /// Scope `f`.
    package var firstUnlock: ScopeReplica
    /// Scope `u`.
    package var unlocked: ScopeReplica
    var shown = Tracked<SyncItemID, Shown>()
    /// The items whose row does not travel.
    var staying = Tracked<SyncItemID, Bool>()
    /// The items whose rows are written later: when the keychain is unlocked, or when the other
    /// scope has been read further.
    var deferred = Tracked<SyncItemID, Bool>()

    package struct Shown: Hashable, Sendable {
        package let scope: KeyScope
        /// The record, or the row if no message has brought it yet.
        package let source: RecordSource
    }

    package init(log firstUnlock: LogID, _ unlocked: LogID) {
        self.firstUnlock = ScopeReplica(.afterFirstUnlock, log: firstUnlock)
        self.unlocked = ScopeReplica(.whileUnlocked, log: unlocked)
    }

    /// Starts a new circle with the live records of `old`. New messages bring them again, in logs
    /// with these ids, and nothing is known of other devices. Pending changes of `old` stay
    /// pending.
    package init(moving old: Replica, log firstUnlock: LogID, _ unlocked: LogID) {
        self.init(log: firstUnlock, unlocked)
        for scope in KeyScope.allCases {
            let dropped = self[scope].bringAnew(old[scope])
            self[scope].changedDots = dropped
        }
        for (key, shown) in old.shown.values { self.shown[key] = shown }
        for key in old.staying.values.keys { staying[key] = true }
        for key in old.deferred.values.keys { deferred[key] = true }
    }

    package var shownItems: [SyncItemID: Shown] { shown.values }

    /// Whether no message is being joined and none is unconfirmed, so that ``knows(_:)`` is right
    /// about every item.
    package var isIdle: Bool {
        KeyScope.allCases.allSatisfy {
            self[$0].join == nil && !self[$0].owesJoin && self[$0].own.unconfirmed == nil
        }
    }

    package func knows(_ key: SyncItemID) -> Bool {
        shown[key] != nil || staying[key] != nil || deferred[key] != nil
            || KeyScope.allCases.contains { self[$0].knows(key) }
    }

    package subscript(scope: KeyScope) -> ScopeReplica {
        get {
            switch scope {
            case .afterFirstUnlock: firstUnlock
            case .whileUnlocked: unlocked
            }
        }
        _modify {
            switch scope {
            case .afterFirstUnlock: yield &firstUnlock
            case .whileUnlocked: yield &unlocked
            }
        }
    }
}

// MARK: - Local changes

extension Replica {
    /// Takes the local changes since the last collection into both scopes.
    ///
    /// Every transaction that takes in something from another device MUST do this first: otherwise
    /// a local write would cover records that its writer could not see. What it covers and no row
    /// showed becomes a replaced value. The writer itself has kept what the row showed.
    package mutating func collect(
        _ states: [(key: SyncItemID, state: LocalState)]
    ) -> [ReplicaChange] {
        var changes: [ReplicaChange] = []
        for (key, state) in states {
            let unshown = applies(.coveredIsKept) ? unshown(of: key) : []
            staying[key] = state == .stays ? true : nil
            shown[key] = nil
            deferred[key] = nil
            for scope in KeyScope.allCases {
                for dot in cover(key, state, in: scope) {
                    let isReplaced = unshown.contains {
                        $0.scope == scope && $0.source == .dot(dot)
                    }
                    changes.append(.record(scope, .drop(dot, isReplaced: isReplaced)))
                }
            }
            if unshown.contains(where: { $0.source == .aside }) {
                changes.append(.dropAside(key, isReplaced: true))
            }
            if case .travels(let scope, _) = state {
                shown[key] = Shown(scope: scope, source: .row)
            }
        }
        return changes
    }

    private mutating func cover(_ key: SyncItemID, _ state: LocalState, in scope: KeyScope) -> [Dot]
    {
        guard case .travels(let home, let time) = state else {
            return self[scope].coverAll(of: key, with: nil, isElsewhere: false, time: 0)
        }
        let isHome = home == scope
        return self[scope].coverAll(
            of: key, with: isHome ? .row(time: time) : nil, isElsewhere: !isHome, time: time)
    }

    /// Notes rows that are older than the replica, without sending them: records of other devices
    /// replace them.
    package mutating func notice(_ rows: [(key: SyncItemID, scope: KeyScope)]) {
        for row in rows where shown[row.key] == nil {
            shown[row.key] = Shown(scope: row.scope, source: .row)
        }
    }

    /// The items that were noticed, and that no other device has sent.
    package var unsent: [SyncItemID] {
        shown.values.filter { isUnsent($0.key, $0.value) }.map(\.key).sorted()
    }

    private func isUnsent(_ key: SyncItemID, _ shown: Shown) -> Bool {
        guard shown.source == .row else { return false }
        if case .row = self[shown.scope].pending[key]?.record { return false }
        return true
    }

}

// MARK: - Conflicts

extension Replica {
    /// A record of an item, or the copy that was set aside.
    package typealias Version = (scope: KeyScope, source: RecordSource, time: UInt64)

    /// The items that may have conflicts. Looks at all of them.
    package var itemsWithSeveralRecords: [SyncItemID] {
        let several = firstUnlock.keysOfLive.filter { key in
            unlocked.dots(of: key).count + firstUnlock.dots(of: key).count > 1
        }
        return Set(several + unlocked.keysOfLive.filter { unlocked.dots(of: $0).count > 1 })
            .union(KeyScope.allCases.flatMap { self[$0].keysOfNews }).sorted()
    }

    /// The records of an item that its row does not show and that differ from the shown one, and
    /// the copy that was set aside. None for an item without a row that travels.
    package func conflicts(of key: SyncItemID) -> [Version] {
        shown[key] == nil ? [] : unshown(of: key)
    }

    /// Whether an item has more than the record that its row shows. *Moved* records count as well.
    package func hasSeveralRecords(_ key: SyncItemID) -> Bool {
        KeyScope.allCases.reduce(0) { $0 + self[$1].recordCount(of: key) } > 1
    }

    package func shown(of key: SyncItemID) -> Shown? { shown[key] }

    package func hasAside(_ key: SyncItemID) -> Bool {
        KeyScope.allCases.contains { self[$0].hasAside(key) }
    }

    private func unshown(of key: SyncItemID) -> [Version] {
        var shownDot: Dot?
        if case .dot(let dot)? = shown[key]?.source { shownDot = dot }
        return KeyScope.allCases.flatMap { scope in
            candidates(of: key, in: scope).filter {
                $0.moved == nil && $0.source != .row && $0.dot.tag != shownDot?.tag
            }.sorted { $0.dot < $1.dot }.map { (scope, $0.source, $0.time) }
        }
    }

    /// Deletes a conflict on all devices.
    package mutating func drop(
        _ source: RecordSource, of key: SyncItemID, in scope: KeyScope
    ) -> [ReplicaChange] {
        switch source {
        case .row: return []
        case .aside:
            guard self[scope].hasAside(key) else { return [] }
            dropAside(of: key, in: scope)
            return [.dropAside(key, isReplaced: true)]
        case .dot(let dot):
            guard self[scope].drop(dot, of: key) else { return [] }
            return [.record(scope, .drop(dot, isReplaced: true))]
        }
    }

    private mutating func dropAside(of key: SyncItemID, in scope: KeyScope) {
        self[scope].dropPendingRecord(of: key)
        // If the item came from the other scope, its *moved* record there would wait for ever for
        // the copy to be sent. The shown record has brought the item to this scope as well.
        for other in KeyScope.allCases where other != scope && !self[other].isAwaiting(key) {
            guard case .moved(let time, nil)? = self[other].pending[key]?.record else { continue }
            if let shown = shown[key], shown.scope == scope, case .dot(let dot) = shown.source,
                self[scope].live[dot] != nil
            {
                let message = MessageName(log: dot.log, number: dot.number)
                self[other].pending[key]?.record = .moved(time: time, to: message)
            } else {
                self[other].dropPendingRecord(of: key)
            }
        }
    }
}

// MARK: - Messages

extension Replica {
    /// Joins at most `count` more records of the message that was begun in the scope, and shows
    /// what changed.
    ///
    /// - Returns: Whether the join is finished.
    package mutating func continueJoin(
        in scope: KeyScope, atMost count: Int, _ circle: CircleView,
        _ changes: inout [ReplicaChange]
    ) -> Bool {
        var records: [RecordChange] = []
        let (isFinished, keys) = self[scope].continueJoin(atMost: count, &records)
        changes += records.map { .record(scope, $0) }
        show(keys, circle, &changes)
        if isFinished { showDeferred(circle, &changes) }
        return isFinished
    }

    /// Shows the deferred items. Called after an unlock, after a message of the other scope, and
    /// after a change of members.
    package mutating func showDeferred(_ circle: CircleView, _ changes: inout [ReplicaChange]) {
        guard !deferred.isEmpty else { return }
        let keys = Set(deferred.values.keys)
        for key in keys { deferred[key] = nil }
        show(keys, circle, &changes)
    }

    /// Gives the pending records the dots of the message that was built.
    package mutating func add(
        _ draft: BatchDraft, hash: SyncHash, in scope: KeyScope, _ circle: CircleView,
        _ changes: inout [ReplicaChange]
    ) {
        for dot in self[scope].add(draft, hash: hash) {
            changes.append(.record(scope, .drop(dot, isReplaced: false)))
        }
        for entry in draft.entries {
            guard let dot = entry.dot else { continue }
            changes.append(.record(scope, .keep(dot)))
            if case .aside(let key)? = entry.source {
                changes.append(.dropAside(key, isReplaced: false))
            }
            if shown[entry.key]?.scope == scope, entry.isSource(of: shown[entry.key]?.source) {
                shown[entry.key] = Shown(scope: scope, source: .dot(dot))
            }
        }
        for other in KeyScope.allCases where other != scope {
            self[other].awaitConfirmation(of: draft)
        }
        show(Set(draft.entries.map(\.key)), circle, &changes)
    }

    package mutating func confirm(in scope: KeyScope) {
        guard let message = self[scope].confirmBatch() else { return }
        for other in KeyScope.allCases where other != scope { self[other].release(message) }
    }
}

// MARK: - What is shown

extension Replica {
    /// A record that may be shown, with the fields that decide.
    private struct Candidate: Comparable {
        let scope: KeyScope
        let source: RecordSource
        let time: UInt64
        let dot: Dot
        let moved: MessageName?

        static func < (left: Candidate, right: Candidate) -> Bool {
            left.time != right.time ? left.time < right.time : left.dot < right.dot
        }
    }

    private enum Outcome {
        case show(Candidate)
        case nothing
        case unchanged
    }

    private func candidates(of key: SyncItemID, in scope: KeyScope) -> [Candidate] {
        let replica = self[scope]
        var found: [Candidate] = []
        func add(_ source: RecordSource, _ time: UInt64, _ dot: Dot, _ moved: MessageName?) {
            found.append(
                Candidate(scope: scope, source: source, time: time, dot: dot, moved: moved))
        }
        for dot in replica.dots(of: key) {
            guard let summary = replica.live[dot] else { continue }
            add(.dot(dot), summary.time, dot, summary.moved)
        }
        for renewal in replica.renewals[key] ?? [] {
            let (dot, summary) = (renewal.source, renewal.summary)
            add(.dot(dot), summary.time, dot, summary.moved)
        }
        let next = Dot(log: replica.own.id, number: .max, tag: .max)
        switch replica.pending[key]?.record {
        case .row(let time): add(.row, time, next, nil)
        case .aside(let time): add(.aside, time, next, nil)
        case .moved, nil: break
        }
        return found
    }

    private func outcome(for key: SyncItemID, _ circle: CircleView) -> Outcome {
        var shown: [Candidate] = []
        var moved: [Candidate] = []
        for scope in [KeyScope.whileUnlocked, .afterFirstUnlock] {
            let all = candidates(of: key, in: scope)
            let isCandidate = applies(.greatestIsShown)
            guard let greatest = isCandidate ? all.max() : all.first else { continue }
            if greatest.moved == nil { return .show(greatest) }
            moved += all.filter { $0.moved != nil }
            if let best = all.filter({ $0.moved == nil }).max() { shown.append(best) }
        }
        if let first = shown.first { return .show(first) }
        return moved.contains { isAwaited($0, circle) } ? .unchanged : .nothing
    }

    private func isAwaited(_ candidate: Candidate, _ circle: CircleView) -> Bool {
        guard let message = candidate.moved, applies(.rowStaysWhileMoving) else { return false }
        guard circle.readable.contains(message.log.high) else { return false }
        let other: KeyScope = candidate.scope == .whileUnlocked ? .afterFirstUnlock : .whileUnlocked
        return self[other].position(of: message.log).number < message.number
    }

    mutating func show(
        _ keys: Set<SyncItemID>, _ circle: CircleView, _ changes: inout [ReplicaChange]
    ) {
        for key in keys.sorted() where staying[key] == nil { show(key, circle, &changes) }
    }

    private mutating func show(
        _ key: SyncItemID, _ circle: CircleView, _ changes: inout [ReplicaChange]
    ) {
        let current = shown[key]
        switch outcome(for: key, circle) {
        case .unchanged:
            deferred[key] = true
        case .nothing:
            guard let current else { return }
            if isClosed(current.scope, circle) { return deferred[key] = true }
            shown[key] = nil
            changes.append(.remove(key))
        case .show(let candidate):
            let new = Shown(scope: candidate.scope, source: candidate.source)
            guard new != current else { return }
            if isClosed(candidate.scope, circle) || isClosed(current?.scope, circle) {
                return deferred[key] = true
            }
            replace(current, by: new, key, &changes)
        }
    }

    private func isClosed(_ scope: KeyScope?, _ circle: CircleView) -> Bool {
        circle.isLocked && scope == .whileUnlocked && applies(.lockedRowsStay)
    }

    private mutating func replace(
        _ current: Shown?, by new: Shown, _ key: SyncItemID, _ changes: inout [ReplicaChange]
    ) {
        if let current, current.scope == new.scope, case .dot(let old) = current.source,
            case .dot(let dot) = new.source, old.tag == dot.tag
        {
            shown[key] = new
            return
        }
        if let current, current.source == .row,
            case .row(let time) = self[current.scope].pending[key]?.record
        {
            self[current.scope].pending[key]?.record = .aside(time: time)
            changes.append(.setAside(key, current.scope))
        } else if let current, isUnsent(key, current) {
            changes.append(.keepUnsent(key))
        }
        shown[key] = new
        changes.append(.show(key, new.scope, new.source))
        if new.source == .aside, case .aside(let time) = self[new.scope].pending[key]?.record {
            self[new.scope].pending[key]?.record = .row(time: time)
            shown[key] = Shown(scope: new.scope, source: .row)
        }
    }
}
