// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetSealing
package import ValetSync
internal import ValetSystem

/// A write transaction of sync. It ends with the call that lends it.
///
/// Its larger methods are in `RecordReader.swift` and `RowUpdates.swift`.
package final class SyncUpdate {
    /// The keychain's replica; nil without a circle.
    ///
    /// While the replica is being changed, call no method of this object except
    /// ``record(_:in:)-(PendingSource,_)``.
    package var replica: Replica?
    package var isLocked: Bool { rows.state.isLocked }
    /// The time: milliseconds since 1970.
    package var milliseconds: UInt64 { UInt64(max(0, rows.now.logicalTime >> 16)) }
    package var outgoing: [KeyScope: [UInt8]]
    /// The items that could not be sent since the update began, because they are damaged or too
    /// large.
    package internal(set) var unsendable: [UnsendableItem] = []

    let rows: RowTransaction
    /// The change number up to which local changes were collected.
    private(set) var mark: Int64
    /// The tags of records whose bytes follow from rows.
    var tagsOfRows: Set<UInt64> = []
    var hasWritten = false
    private var stamp: Int64
    private let formerOutgoing: [KeyScope: [UInt8]]

    var operation: String { rows.operation }
    var tables: SyncTables { rows.store.sync }
    var reader: RecordReader { RecordReader(rows.store, rows.state, during: operation) }

    init(_ rows: RowTransaction, _ kept: consuming KeptReplica) {
        self.rows = rows
        (stamp, mark) = (kept.stamp, kept.mark)
        // With a second owner, each change would copy the whole replica.
        replica = kept.replica.take()
        (outgoing, formerOutgoing) = (kept.outgoing, kept.outgoing)
    }

    /// Lends the sync secret of a scope.
    ///
    /// - Returns: nil if the scope is closed, or the keychain has no such secret.
    package func withSecret<R>(
        _ scope: KeyScope, _ body: (borrowing SyncSecret) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        guard let secret = rows.state.syncSecret(scope) else { return nil }
        return try body(secret)
    }

    // MARK: Entries

    /// Writes an entry, over an earlier one of its name.
    func put(
        _ head: SyncEntryHead, facts: [UInt8], secret: SecretValue? = nil
    ) throws(KeychainFailure) {
        try translating(operation) { () throws(SystemError) in
            try tables.put(rows.state.seal(head, facts: facts, secret: secret))
        }
        hasWritten = true
    }

    private func set(_ kind: UInt8, _ id: [UInt8], _ facts: [UInt8]?) throws(KeychainFailure) {
        guard let facts else { return try delete(kind, id) }
        try put(SyncEntryHead(kind, id), facts: facts)
    }

    func delete(_ kind: UInt8, _ id: [UInt8]) throws(KeychainFailure) {
        try translating(tables.delete(kind, id), during: operation)
        hasWritten = true
    }

    private func deleteAll(_ kind: UInt8) throws(KeychainFailure) {
        try translating(tables.deleteAll(kind), during: operation)
    }

    private func changedRows() throws(KeychainFailure) -> [(row: FoundRow, change: Int64)] {
        try translating(
            tables.changedRows(above: mark, count: Self.collectedCount), during: operation)
    }

    // MARK: Collecting and writing

    private static let collectedCount = 2_000

    /// Takes local changes into the replica, and deletes tombstones.
    ///
    /// - Returns: Whether all were collected. If not, another transaction goes on.
    /// - Throws: `locked` for a row whose item is gone, or so it says, and whose names are closed
    ///   now. Nothing may be taken in before such a row is collected.
    func collect() throws(KeychainFailure) -> Bool {
        guard replica != nil else { return true }
        let changed = try changedRows()
        guard let last = changed.last else {
            // Rows that are written now are collected.
            if mark < 0 { mark = 0 }
            return true
        }
        var states: [(key: SyncItemID, state: LocalState)] = []
        for case .row(let row) in changed.map(\.row) where try !isFalselyGone(row) {
            let state = row.localState
            guard state == .absent else {
                states.append((try key(in: row.place), state))
                continue
            }
            let number = try translating(tables.item(in: row.place), during: operation)
            if let number { states.append((SyncItemID(number), .absent)) }
            try rows.delete(row)
        }
        let former = try shownContents(of: states.map(\.key))
        let changes = replica?.collect(states.sorted { $0.key < $1.key }) ?? []
        mark = last.change
        hasWritten = true
        try apply(changes, bringing: [:], overwriting: former)
        return changed.count < Self.collectedCount
    }

    /// What the rows of these items showed before they were written here, as far as it is known:
    /// of items of which another record has the same value.
    private func shownContents(
        of keys: [SyncItemID]
    ) throws(KeychainFailure) -> [SyncItemID: RecordContent] {
        var found: [SyncItemID: RecordContent] = [:]
        for key in keys where replica?.hasSeveralRecords(key) == true {
            guard let shown = replica?.shown(of: key) else { continue }
            found[key] = try reader.content(
                of: Conflict.ID(key: key, scope: shown.scope, source: shown.source))
        }
        return found
    }

    /// Deletes copies that were set aside and that no pending change names.
    func dropStaleCopies() throws(KeychainFailure) {
        guard let replica else { return }
        let stale = try translating(operation) { () throws(SystemError) in
            var stale: [[UInt8]] = []
            try tables.forEachEntry(EntryKind.aside...EntryKind.aside) { entry in
                if !replica.hasAside(SyncItemID(entry.head.item)) { stale.append(entry.head.id) }
                return true
            }
            return stale
        }
        for id in stale { try delete(EntryKind.aside, id) }
    }

    /// Whether a row says that its item was deleted or does not travel, and its names disprove it.
    /// To collect such a row would delete the item on all devices.
    ///
    /// - Throws: `locked` if the names are closed, and can neither prove nor disprove it.
    private func isFalselyGone(_ row: SealedRow) throws(KeychainFailure) -> Bool {
        if case .travels = row.localState { return false }
        // The row of a change comes without its names.
        guard let whole = try translating(rows.store.row(in: row.place), during: operation) else {
            return true
        }
        guard !rows.state.isLocked(whole.header) else { throw KeychainFailure.lockedCircle }
        return rows.state.isForged(whole)
    }

    /// The number of the item in a place. Gives it one if it has none.
    func key(in place: ItemPlace) throws(KeychainFailure) -> SyncItemID {
        try translating(operation) { () throws(SystemError) in
            if let number = try tables.item(in: place) { return SyncItemID(number) }
            hasWritten = true
            return SyncItemID(try tables.addItem(in: place))
        }
    }

    private static let numberCount = 2_000

    /// Frees the numbers of items of which nothing is known any more, such as deleted ones. Looks
    /// at the next numbers after `number`. Does nothing while a message is under way.
    ///
    /// - Returns: The last number that it looked at; nil if there are no more.
    package func forgetUnusedNumbers(after number: Int64) throws(KeychainFailure) -> Int64? {
        guard let replica, replica.isIdle else { return nil }
        return try translating(operation) { () throws(SystemError) in
            let numbers = try tables.items(after: number, count: Self.numberCount)
            for number in numbers {
                let key = SyncItemID(number)
                guard !replica.knows(key),
                    try tables.entry(EntryKind.aside, ReplicaEntry.id(of: key)) == nil
                else { continue }
                try tables.deleteItem(number)
                hasWritten = true
            }
            return numbers.count < Self.numberCount ? nil : numbers.last
        }
    }

    /// Writes what has changed.
    ///
    /// - Returns: The new contents of the tables.
    func finish() throws(KeychainFailure) -> KeptReplica {
        try replica?.takeChanges { (entry) throws(KeychainFailure) in
            try set(entry.kind.rawValue, entry.id, entry.facts)
        }
        for scope in KeyScope.allCases where outgoing[scope] != formerOutgoing[scope] {
            try set(EntryKind.outgoing, [scope.rawValue], outgoing[scope])
        }
        if hasWritten {
            stamp = .random(in: .min ... .max)
            try translating(tables.write(mark: mark, stamp: stamp), during: operation)
        }
        return KeptReplica(
            stamp: stamp, mark: mark, replica: replica.take(), outgoing: outgoing)
    }

    // MARK: Circle

    /// Begins a replica, in a keychain that has none.
    ///
    /// - Parameter sendsItems: Whether the keychain's existing items become pending with the next
    ///   update, as for the founder of a circle. If not, items of other devices replace them, and
    ///   their values become former ones; ``sendUnsent()`` then sends the rest.
    package func begin(_ replica: Replica, sendsItems: Bool) throws(KeychainFailure) {
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
            for case .row(let row) in changed.map(\.row) where try !isFalselyGone(row) {
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

    /// Moves the replica to a new circle in the same store. The replica brings all live records
    /// anew, in logs with these ids, and knows nothing of other devices. Conflicts stay.
    package func move(to firstUnlock: LogID, _ unlocked: LogID) throws(KeychainFailure) {
        guard let old = replica else { return }
        try deleteMessages()
        for kind in ReplicaEntry.Kind.allCases where kind != .record {
            try deleteAll(kind.rawValue)
        }
        replica = Replica(moving: old, log: firstUnlock, unlocked)
    }

    private func deleteMessages() throws(KeychainFailure) {
        outgoing = [:]
        for kind in [EntryKind.incoming, EntryKind.incomingPart] { try deleteAll(kind) }
        hasWritten = true
    }

    /// Deletes everything of sync. Items and former values stay; values that no row shows become
    /// former ones.
    ///
    /// - Parameter losesUnreadable: Whether values that cannot be read are given up.
    /// - Throws: As ``keepUnshown(losingUnreadable:)``.
    @discardableResult
    package func end(
        losingUnreadable losesUnreadable: Bool = false
    ) throws(KeychainFailure) -> UnshownValues {
        let values = try keepUnshown(losingUnreadable: losesUnreadable)
        try deleteMessages()
        for kind in EntryKind.ofCircle { try deleteAll(kind) }
        replica = nil
        try deleteAll(EntryKind.note)
        return values
    }

    /// Makes those travelling items pending that are older than the replica and that the circle
    /// lacks.
    package func sendUnsent() throws(KeychainFailure) {
        var states: [(key: SyncItemID, state: LocalState)] = []
        for key in replica?.unsent ?? [] {
            if let row = try reader.row(of: key) { states.append((key, row.localState)) }
        }
        let changes = replica?.collect(states) ?? []
        try apply(changes, bringing: [:], overwriting: [:])
    }

    // MARK: The message that is being joined

    /// The bytes of the message that is being joined in a scope.
    ///
    /// If a join was broken off, the replica has forgotten it, but the message is still here. The
    /// join then begins again, before anything else is read or built. That brings nothing twice.
    package func incoming(_ scope: KeyScope) throws(KeychainFailure) -> [UInt8]? {
        try reader.facts(EntryKind.incoming, [scope.rawValue])
    }

    package func incomingPart(
        _ index: Int, _ scope: KeyScope
    ) throws(KeychainFailure) -> [UInt8]? {
        try reader.facts(EntryKind.incomingPart, partID(index, scope))
    }

    /// Keeps the message to join next. With nil, after the join, removes it and its parts.
    package func setIncoming(_ message: [UInt8]?, _ scope: KeyScope) throws(KeychainFailure) {
        if message != nil { return try set(EntryKind.incoming, [scope.rawValue], message) }
        replica?[scope].forgetBrokenJoin()
        guard try reader.entry(EntryKind.incoming, [scope.rawValue]) != nil else { return }
        try delete(EntryKind.incoming, [scope.rawValue])
        try translating(
            tables.deleteAll(EntryKind.incomingPart, beginningWith: scope.rawValue),
            during: operation)
    }

    package func setIncomingPart(
        _ part: [UInt8], _ index: Int, _ scope: KeyScope
    ) throws(KeychainFailure) {
        try set(EntryKind.incomingPart, partID(index, scope), part)
    }

    private func partID(_ index: Int, _ scope: KeyScope) -> [UInt8] {
        [UInt8](fields: scope, UInt32(index))
    }

    // MARK: Notes

    /// A note of the agent or the circle, sealed; at most 16 MiB.
    package subscript(note: NoteName) -> [UInt8]? {
        get throws(KeychainFailure) { try reader.facts(EntryKind.note, note.id) }
    }

    /// Writes a note, or deletes it.
    package func set(_ note: NoteName, _ bytes: [UInt8]?) throws(KeychainFailure) {
        try set(EntryKind.note, note.id, bytes)
    }
}
