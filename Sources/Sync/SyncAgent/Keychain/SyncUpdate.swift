// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetSealing
package import ValetSync
internal import ValetSystem

/// A write transaction of sync. It ends with the call that lends it.
///
/// `Sending`, `RowUpdates` and `KeptVersions` have its larger verbs.
package final class SyncUpdate {
    /// The keychain's replica; nil without a circle.
    ///
    /// While the replica is being changed, no call of this object may be made but
    /// ``record(_:in:)-(PendingSource,_)``.
    package var replica: Replica?
    /// Whether scope `u` is closed.
    package var isLocked: Bool { rows.state.isLocked }
    /// The time: milliseconds since 1970.
    package var milliseconds: UInt64 { UInt64(max(0, rows.now.logicalTime >> 16)) }
    /// The bytes of the unconfirmed messages.
    package var outgoing: [KeyScope: [UInt8]]
    /// The items that could not be sent since the update began, because they are damaged or too
    /// large.
    package internal(set) var unsendable: [UnsendableItem] = []

    let rows: RowTransaction
    var replaced: ReplacedList
    /// Up to which change number local changes were collected.
    private(set) var mark: Int64
    /// The tags of records whose bytes follow from rows.
    var tagsOfRows: Set<UInt64> = []
    /// Whether an entry was written or deleted.
    var hasWritten = false
    private let former: KeptReplica
    private var notes: [NoteName: [UInt8]?] = [:]
    private var noteError: (any Error)?

    var tables: SyncTables { rows.store.sync }
    var reader: RecordReader { RecordReader(store: rows.store, keys: rows.state) }

    init(_ rows: RowTransaction, _ kept: consuming KeptReplica) {
        self.rows = rows
        replica = kept.replica
        kept.replica = nil
        outgoing = kept.outgoing
        replaced = kept.replaced
        kept.replaced = ReplacedList()
        mark = kept.mark
        former = kept
    }

    /// Lends the sync secret of a scope.
    ///
    /// - Returns: nil if the scope is closed, or the keychain has no such secret.
    package func withSecret<R>(
        _ scope: KeyScope, _ body: (borrowing SyncSecret) throws -> R
    ) throws -> R? {
        guard let secret = rows.state.syncSecret(scope) else { return nil }
        return try body(secret)
    }

    // MARK: Entries

    /// Writes an entry, over an earlier one of its name.
    func put(_ head: SyncEntryHead, facts: [UInt8], secret: SecretValue? = nil) throws {
        try tables.put(rows.state.seal(head, facts: facts, secret: secret))
        hasWritten = true
    }

    /// Deletes an entry, if there is one.
    func delete(_ kind: UInt8, _ id: [UInt8]) throws {
        try tables.delete(kind, id)
        hasWritten = true
    }

    // MARK: Collecting and writing

    /// The most local changes that one transaction collects.
    private static let collectedCount = 2_000

    /// Takes local changes into the replica, and deletes tombstones.
    ///
    /// - Returns: Whether all were collected. If not, another transaction goes on.
    func collect() throws -> Bool {
        guard replica != nil else { return true }
        let changed = try changedRows()
        guard let last = changed.last else {
            // Rows that are written now are collected.
            if mark < 0 { mark = 0 }
            return true
        }
        var states: [(key: SyncItemID, state: LocalState)] = []
        for case .row(let row) in changed.map(\.row) {
            let state = row.localState
            guard state == .absent else {
                states.append((try key(in: row.place), state))
                continue
            }
            if let number = try tables.item(in: row.place) {
                states.append((SyncItemID(number), .absent))
            }
            try rows.delete(row)
        }
        for (key, _) in states { try tables.delete(EntryKind.aside, ReplicaEntry.id(of: key)) }
        let changes = replica?.collect(states.sorted { $0.key < $1.key }) ?? []
        mark = last.change
        hasWritten = true
        try apply(changes, bringing: [:])
        return changed.count < Self.collectedCount
    }

    private func changedRows() throws -> [(row: FoundRow, change: Int64)] {
        var changed: [(FoundRow, Int64)] = []
        let run = try tables.changed.start()
        try run.bind(mark, at: 1)
        while try run.step() {
            let change = run.int64(SyncTables.changeColumn)
            // Rows that sync has written share a number. Collecting a part of them would hide the
            // others.
            guard changed.count < Self.collectedCount || change == changed.last?.1 else { break }
            changed.append((try FoundRow(run), change))
        }
        return changed
    }

    /// The number of the item in a place. Gives it one if it has none.
    func key(in place: ItemPlace) throws -> SyncItemID {
        if let number = try tables.item(in: place) { return SyncItemID(number) }
        hasWritten = true
        return SyncItemID(try tables.addItem(in: place))
    }

    /// The most numbers that one transaction looks at.
    private static let numberCount = 2_000

    /// Frees the numbers of items of which nothing is known any more, such as deleted ones. Looks
    /// at the next numbers after `number`. Does nothing while a message is under way.
    ///
    /// - Returns: The last number that it looked at; nil if there are no more.
    package func forgetUnusedNumbers(after number: Int64) throws -> Int64? {
        guard let replica, replica.isIdle else { return nil }
        let numbers = try tables.items(after: number, count: Self.numberCount)
        for number in numbers {
            let key = SyncItemID(number)
            let isUsed =
                try replica.knows(key) || replaced.entries[key] != nil
                || tables.entry(EntryKind.aside, ReplicaEntry.id(of: key)) != nil
            guard !isUsed else { continue }
            try tables.deleteItem(number)
            hasWritten = true
        }
        return numbers.count < Self.numberCount ? nil : numbers.last
    }

    /// Writes what has changed.
    ///
    /// - Returns: The new contents of the tables.
    func finish() throws -> KeptReplica {
        try replica?.takeChanges { entry in
            guard let facts = entry.facts else { return try delete(entry.kind.rawValue, entry.id) }
            try put(SyncEntryHead(entry.kind.rawValue, entry.id), facts: facts)
        }
        for scope in KeyScope.allCases where outgoing[scope] != former.outgoing[scope] {
            if let message = outgoing[scope] {
                try put(SyncEntryHead(EntryKind.outgoing, [scope.rawValue]), facts: message)
            } else {
                try delete(EntryKind.outgoing, [scope.rawValue])
            }
        }
        try writeNotes()
        var kept = former
        kept.replica = replica
        replica = nil
        kept.outgoing = outgoing
        kept.replaced = replaced
        kept.mark = mark
        guard hasWritten else { return kept }
        kept.stamp = .random(in: .min ... .max)
        try tables.write(mark: mark, stamp: kept.stamp)
        return kept
    }

    // MARK: Circle

    /// Begins a replica, in a keychain that has none.
    ///
    /// - Parameter sendsItems: Whether the items that the keychain has become pending, with the
    ///   next update, as for the founder of a circle. If not, items of other devices replace them,
    ///   and their values are kept as replaced ones; ``sendUnsent()`` then sends the rest.
    package func begin(_ replica: Replica, sendsItems: Bool) throws {
        precondition(self.replica == nil, "the keychain has a replica")
        self.replica = replica
        // Below all numbers: rows of an earlier circle may have the number 0.
        mark = -1
        hasWritten = true
        guard !sendsItems else { return }
        var isLast = false
        while !isLast {
            let changed = try changedRows()
            isLast = changed.count < Self.collectedCount
            for case .row(let row) in changed.map(\.row) {
                switch row.localState {
                case .absent: try rows.delete(row)
                case .stays: break
                case .travels(let scope, _):
                    self.replica?.notice([(try key(in: row.place), scope)])
                }
            }
            mark = changed.last?.change ?? max(0, mark)
        }
    }

    /// Goes on in a new circle of the same store: all live records are brought anew, in logs with
    /// these ids, and nothing is known of other devices. Conflicts stay.
    package func move(to firstUnlock: LogID, _ unlocked: LogID) throws {
        guard let old = replica else { return }
        try deleteMessages()
        for kind in ReplicaEntry.Kind.allCases where kind != .record {
            try tables.deleteAll(kind.rawValue)
        }
        replica = Replica(moving: old, log: firstUnlock, unlocked)
    }

    private func deleteMessages() throws {
        outgoing = [:]
        for kind in [EntryKind.incoming, EntryKind.incomingPart] { try tables.deleteAll(kind) }
        hasWritten = true
    }

    /// Deletes everything of sync, except replaced values and the notes of these names. Items stay.
    package func end(keeping names: Set<NoteName>) throws {
        try deleteMessages()
        for kind in EntryKind.ofCircle { try tables.deleteAll(kind) }
        replica = nil
        for name in names where notes[name] == nil {
            // A note that cannot be read is useless.
            notes[name] = .some(try unlessRowDamaged { try readNote(name) } ?? nil)
        }
        notes = notes.filter { names.contains($0.key) }
        try tables.deleteAll(EntryKind.note)
    }

    /// The number of travelling items that no message has brought: those that are older than the
    /// replica, and that the circle lacks.
    package func unsentCount() throws -> Int { replica?.unsent.count ?? 0 }

    /// Makes the items pending that ``unsentCount()`` counts.
    package func sendUnsent() throws {
        let states = try (replica?.unsent ?? []).compactMap { key in
            try reader.row(of: key).map { (key: key, state: $0.localState) }
        }
        let changes = replica?.collect(states) ?? []
        try apply(changes, bringing: [:])
    }

    // MARK: The message that is being joined

    /// The bytes of the message that is being joined in a scope.
    ///
    /// If a join was broken off, the replica has forgotten it, and the message is still here: it is
    /// begun again, before anything else is read or built. That brings nothing twice.
    package func incoming(_ scope: KeyScope) throws -> [UInt8]? {
        try tables.entry(EntryKind.incoming, [scope.rawValue]).map(rows.state.openFacts)
    }

    /// A part of the base that is being joined.
    package func incomingPart(_ index: Int, _ scope: KeyScope) throws -> [UInt8]? {
        try tables.entry(EntryKind.incomingPart, partID(index, scope)).map(rows.state.openFacts)
    }

    /// Keeps the message to join next. With nil, after the join, removes it and its parts.
    package func setIncoming(_ message: [UInt8]?, _ scope: KeyScope) throws {
        if let message {
            return try put(SyncEntryHead(EntryKind.incoming, [scope.rawValue]), facts: message)
        }
        replica?[scope].forgetBrokenJoin()
        guard try tables.entry(EntryKind.incoming, [scope.rawValue]) != nil else { return }
        try delete(EntryKind.incoming, [scope.rawValue])
        try tables.deleteAll(EntryKind.incomingPart, beginningWith: scope.rawValue)
    }

    /// Keeps a part of the base to join.
    package func setIncomingPart(_ part: [UInt8], _ index: Int, _ scope: KeyScope) throws {
        try put(SyncEntryHead(EntryKind.incomingPart, partID(index, scope)), facts: part)
    }

    private func partID(_ index: Int, _ scope: KeyScope) -> [UInt8] {
        var id = [scope.rawValue]
        id.append(bigEndian: UInt32(index))
        return id
    }

    // MARK: Notes

    /// A note of the agent or the circle, sealed; at most 16 MiB.
    ///
    /// If the note cannot be read, the update fails at its end.
    package subscript(note: NoteName) -> [UInt8]? {
        get {
            if let known = notes[note] { return known }
            do {
                return try readNote(note)
            } catch {
                noteError = error
                return nil
            }
        }
        set { notes[note] = .some(newValue) }
    }

    private func readNote(_ note: NoteName) throws -> [UInt8]? {
        try tables.entry(EntryKind.note, note.id).map(rows.state.openFacts)
    }

    private func writeNotes() throws {
        if let noteError { throw noteError }
        for (note, bytes) in notes {
            if let bytes {
                try put(SyncEntryHead(EntryKind.note, note.id), facts: bytes)
            } else {
                try delete(EntryKind.note, note.id)
            }
        }
    }
}
