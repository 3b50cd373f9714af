// SPDX-License-Identifier: Apache-2.0

// The keychain of a device of the model: rows, tombstones and change numbers, as the store has
// them, and the records that the replica asks it to keep.

import ValetKeychainModel

@testable import ValetSync

/// One keychain. It is a value: a copy of it is a copy of the machine.
struct ModelKeychain {
    struct Row {
        var change: UInt64
        /// Nil for a row that does not travel.
        var scope: KeyScope?
        var write: UInt64
        var time: UInt64
        var salt: RecordSalt
    }

    var rows: [SyncItemID: Row] = [:]
    var tombstones: [SyncItemID: UInt64] = [:]
    var mark: UInt64 = 0
    var replica: Replica
    /// The records that live, or are to be brought anew.
    var kept: [Dot: ModelRecord] = [:]
    /// The rows that were set aside.
    var aside: [SyncItemID: Row] = [:]
    /// The writes whose values were kept as replaced ones.
    var replaced: Set<UInt64> = []
    /// The writes whose values a local call covered, and that no former value keeps.
    var lostInSilence: Set<UInt64> = []
    /// The batch that was built and not confirmed, by scope.
    var outgoing: [KeyScope: ModelMessage] = [:]
    /// The message that is being joined, by scope.
    var joining: [KeyScope: ModelMessage] = [:]
    /// What is kept of the replica.
    var entries = ModelEntries()

    init(_ replica: Replica) { self.replica = replica }

    /// The writes whose values this keychain has of an item.
    func writes(of key: SyncItemID) -> [UInt64] {
        var writes: [UInt64] = []
        if let row = rows[key] { writes.append(row.write) }
        if let row = aside[key] { writes.append(row.write) }
        for record in kept.values where record.summary.key == key { writes.append(record.write) }
        return writes
    }

    // MARK: Local calls

    private func nextChange(repeats: Bool) -> UInt64 {
        let greatest = max(rows.values.map(\.change).max() ?? 0, tombstones.values.max() ?? 0)
        if repeats { return 1 + greatest }
        return 1 + max(greatest, mark)
    }

    mutating func write(
        _ key: SyncItemID, _ scope: KeyScope?, write: UInt64, at milliseconds: UInt64,
        flaw: ModelFlaw?
    ) {
        let time = max(milliseconds << 16, (rows[key]?.time ?? 0) + 1)
        let change = nextChange(repeats: flaw == .changeNumbersRepeat)
        tombstones[key] = nil
        rows[key] = Row(
            change: change, scope: scope, write: write, time: time,
            salt: RecordSalt(high: write, low: time))
    }

    mutating func delete(_ key: SyncItemID, flaw: ModelFlaw?) {
        let change = nextChange(repeats: flaw == .changeNumbersRepeat)
        guard rows.removeValue(forKey: key) != nil else { return }
        tombstones[key] = change
    }

    mutating func rename(
        _ key: SyncItemID, to other: SyncItemID, write: UInt64, at milliseconds: UInt64,
        flaw: ModelFlaw?
    ) {
        guard let row = rows[key], rows[other] == nil else { return }
        delete(key, flaw: flaw)
        if flaw == .renamesLeaveNoTombstone { tombstones[key] = nil }
        self.write(other, row.scope, write: write, at: milliseconds, flaw: flaw)
    }

    // MARK: Transactions of sync

    /// Takes the local changes into the replica, and drops the tombstones.
    mutating func collect() {
        var states: [(key: SyncItemID, state: LocalState)] = []
        for (key, row) in rows where row.change > mark {
            if let scope = row.scope {
                states.append((key, .travels(scope, time: row.time)))
            } else {
                states.append((key, .stays))
            }
        }
        for key in tombstones.keys { states.append((key, .absent)) }
        guard !states.isEmpty else { return }
        states.sort { $0.key < $1.key }
        let unshown = states.map { unshownWrites(of: $0.key) }
        mark = max(
            mark, rows.values.map(\.change).max() ?? 0, tombstones.values.max() ?? 0)
        tombstones = [:]
        apply(replica.collect(states), from: nil)
        for writes in unshown { lostInSilence.formUnion(writes.subtracting(replaced)) }
    }

    /// The writes whose values a local call covers and the row did not show.
    private func unshownWrites(of key: SyncItemID) -> Set<UInt64> {
        var writes = Set(kept.values.filter { $0.summary.key == key }.map(\.write))
        if let row = aside[key] { writes.insert(row.write) }
        if case .dot(let dot)? = replica.shownItems[key]?.source, let record = kept[dot] {
            writes.remove(record.write)
        }
        // *Moved* records have no value.
        writes.remove(0)
        return writes
    }

    /// Makes the changes that the replica asks for.
    ///
    /// - Returns: The items whose rows were removed.
    @discardableResult
    mutating func apply(_ changes: [ReplicaChange], from message: ModelMessage?) -> [SyncItemID] {
        var removed: [SyncItemID] = []
        for change in changes {
            switch change {
            case .record(let scope, .keep(let dot)):
                if let record = message?.record(dot) { kept[dot] = record }
                if let record = kept[dot] { entries.keep(record.summary, dot, scope) }
            case .record(let scope, .drop(let dot, let isReplaced)):
                entries.drop(dot, scope)
                guard let record = kept.removeValue(forKey: dot) else { continue }
                if isReplaced { replaced.insert(record.write) }
            case .setAside(let key, _): aside[key] = rows[key]
            case .dropAside(let key, let isReplaced):
                guard let row = aside.removeValue(forKey: key) else { continue }
                if isReplaced { replaced.insert(row.write) }
            case .keepUnsent(let key): if let row = rows[key] { replaced.insert(row.write) }
            case .show(let key, let scope, .dot(let dot)):
                guard let record = kept[dot] else { continue }
                rows[key] = Row(
                    change: nextShown(), scope: scope, write: record.write,
                    time: record.summary.time, salt: record.record.salt)
            case .show(let key, _, .aside):
                guard var row = aside.removeValue(forKey: key) else { continue }
                row.change = nextShown()
                rows[key] = row
            case .show(_, _, .row): break
            case .remove(let key):
                if let row = rows.removeValue(forKey: key) { replaced.insert(row.write) }
                removed.append(key)
            }
        }
        return removed
    }

    /// The mark moves past what sync writes.
    private mutating func nextShown() -> UInt64 {
        mark = nextChange(repeats: false)
        return mark
    }

    /// Makes the record that a batch brings; nil if it cannot be read now.
    func record(_ source: PendingSource) -> ModelRecord? {
        switch source {
        case .row(let key): rows[key].map { Self.record(key, $0) }
        case .aside(let key): aside[key].map { Self.record(key, $0) }
        case .dot(let dot): kept[dot]
        case .moved(let key, let time, let message):
            ModelRecord(
                0, RecordSummary(key: key, time: time, moved: message),
                salt: RecordSalt(high: message.log.low ^ message.number, low: time))
        }
    }

    private static func record(_ key: SyncItemID, _ row: Row) -> ModelRecord {
        ModelRecord(row.write, RecordSummary(key: key, time: row.time), salt: row.salt)
    }
}

/// A rule for the keychain that a test leaves out.
enum ModelFlaw: CaseIterable {
    /// A change number may repeat after the newest item is deleted.
    case changeNumbersRepeat
    /// A renamed item leaves no tombstone.
    case renamesLeaveNoTombstone
    /// Another device's records are taken in before local changes are collected.
    case joinsBeforeCollecting
    /// A batch is built a second time after a crash, instead of being sent as it was.
    case forgetsUnconfirmed
    /// A device writes on in a log in which a copy of its keychain has written.
    case writesOnInSharedLog
}
