// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetKeychainStore
internal import ValetSealing
package import ValetSync
internal import ValetSystem

/// A keychain with its replica: docs/SYNC.md §4, docs/FORMAT.md §12.
///
/// The holder of `sync.lock` has one, and uses it on one thread at a time. It keeps the replica in
/// memory between two calls, for as long as no other process writes the tables of sync.
package final class SyncedKeychain {
    package let store: ItemStore
    /// The contents of the tables; nil while an update changes them, and after one that failed.
    private var kept: KeptReplica?

    /// How long a call lets other writers go first between two of its transactions, in nanoseconds.
    private static let pause: Int64 = 5_000_000

    /// The tables of sync of the keychain of `store`; nothing is read before it is needed.
    package init(_ store: ItemStore) { self.store = store }

    /// Runs `body` in one write transaction, which collects the local changes first.
    ///
    /// If `body` throws, nothing has changed, and the next call reads the tables anew, which takes
    /// long for many items. So `body` returns expected outcomes, such as a refused message, as its
    /// result.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain, `locked` before the
    ///   first unlock, `timedOut`, `diskFull`, `keychainDamaged` if an entry of the tables does not
    ///   open; errors of `body`.
    package func update<R>(
        _ operation: String, _ body: (SyncUpdate) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        while true {
            let written = try store.writeRows(operation) { (rows) throws(KeychainFailure) in
                try run(rows, body)
            }
            if let result = try keep(written, operation) { return result }
        }
    }

    /// Deletes all data of sync, even if it is damaged: ``SyncUpdate/end(losingUnreadable:)``.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain, `locked` before the
    ///   first unlock or if a value that no row shows is locked, `damaged`, `timedOut`, `diskFull`.
    package func end(
        _ operation: String, losingUnreadable losesUnreadable: Bool = false
    ) throws(KeychainFailure) -> UnshownValues {
        do {
            return try update(operation) { (update) throws(KeychainFailure) in
                try update.end(losingUnreadable: losesUnreadable)
            }
        } catch {
            guard error.code == .keychainDamaged else { throw error }
        }
        let done = try store.writeRows(operation) { (rows) throws(KeychainFailure) in
            let empty = try translating(
                KeptReplica(emptying: rows.store.sync), during: operation)
            let update = SyncUpdate(rows, empty)
            let values = try update.end(losingUnreadable: losesUnreadable)
            _ = try update.finish()
            return values
        }
        if let done { return done }
        throw KeychainFailure(
            .itemNotFound, during: operation, message: "there is no keychain yet",
            path: store.folder)
    }

    /// Runs `body` in one read transaction. It needs no lock of sync.
    ///
    /// - Returns: nil if there is no keychain.
    package func read<R>(
        _ operation: String, _ body: (SyncView) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        try store.readRows(operation) { (snapshot) throws(KeychainFailure) in
            let reader = RecordReader(snapshot.store, snapshot.state, during: operation)
            return try body(SyncView(reader, kept))
        }
    }

    /// Reads several notes in one transaction, in the order of `names`; nil if there is no
    /// keychain.
    package func notes(
        _ names: NoteName..., during operation: String
    ) throws(KeychainFailure) -> [[UInt8]?]? {
        try read(operation) { (view) throws(KeychainFailure) in
            var notes: [[UInt8]?] = []
            for name in names { notes.append(try view[name]) }
            return notes
        }
    }

    /// A note; nil if there is none.
    package func note(
        _ name: NoteName, during operation: String
    ) throws(KeychainFailure) -> [UInt8]? {
        try notes(name, during: operation)?[0]
    }

    /// Writes a note, or deletes it if `bytes` is nil: ``update(_:_:)``.
    package func set(
        _ note: NoteName, _ bytes: [UInt8]?, during operation: String
    ) throws(KeychainFailure) {
        try update(operation) { (update) throws(KeychainFailure) in try update.set(note, bytes) }
    }

    /// Like ``update(_:_:)``, for a `body` that begins a base. Also takes a snapshot, after the
    /// commit and before any other process writes; it is nil if it cannot be opened.
    ///
    /// - Throws: As ``update(_:_:)``.
    package func updateBeginningBase<R>(
        _ operation: String, _ body: (SyncUpdate) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> (R, HeldSnapshot?) {
        while true {
            let written = try store.writeRowsHoldingSnapshot(operation) {
                (rows) throws(KeychainFailure) in
                try run(rows, body)
            }
            let held = written?.1
            guard let result = try keep(written?.0, operation) else {
                held?.close()
                continue
            }
            return (result, held)
        }
    }

    /// The tables after a transaction, and the result of its body: nil if the transaction only
    /// collected local changes.
    private typealias Written<R> = (result: R?, kept: KeptReplica)

    private func run<R>(
        _ rows: RowTransaction, _ body: (SyncUpdate) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> Written<R> {
        let update = try begin(rows)
        guard try update.collect() else { return (nil, try update.finish()) }
        let result = try body(update)
        return (result, try update.finish())
    }

    private func begin(
        _ rows: RowTransaction
    ) throws(KeychainFailure) -> SyncUpdate {
        let tables = rows.store.sync
        let stamp = try translating(tables.readMark(), during: rows.operation).stamp
        // Taken out and consumed: a second owner would make each change copy the whole replica.
        if let known = kept.take(), known.stamp == stamp {
            return SyncUpdate(rows, consume known)
        }
        let update = SyncUpdate(rows, try KeptReplica(tables, rows.state, rows.operation))
        try update.dropStaleCopies()
        return update
    }

    /// - Returns: nil if the call has to go on in another transaction.
    private func keep<R>(
        _ written: Written<R>?, _ operation: String
    ) throws(KeychainFailure) -> R? {
        guard let written else {
            throw KeychainFailure(
                .itemNotFound, during: operation, message: "there is no keychain yet",
                path: store.folder)
        }
        kept = written.kept
        if written.result == nil { _ = Deadline(after: .seconds(1)).sleep(atMost: Self.pause) }
        return written.result
    }
}

extension HeldSnapshot {
    /// The record of a dot that was live at that moment, byte for byte.
    ///
    /// - Throws: ``KeychainFailure``: `damaged` if its row is damaged; `locked` if the scope was
    ///   closed since.
    package func record(_ dot: Dot, in scope: KeyScope) throws(KeychainFailure) -> SyncRecord {
        let operation = "build a base"
        guard isOpen else { throw KeychainFailure(.locked, during: operation) }
        let reader = RecordReader(store, keys.rows, during: operation)
        if let record = try reader.record(dot, in: scope) { return record }
        throw KeychainFailure(
            .damaged, during: operation,
            message: "an item that other devices have is damaged here",
            hint: "run `valet doctor`; writing or removing the item mends this")
    }
}

/// The name of a note that the agent or the circle keeps in the keychain, such as its roster.
package struct NoteName: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The name, at most 32 bytes of UTF-8.
    package let rawValue: String

    var id: [UInt8] { Array(rawValue.utf8) }

    package init(_ rawValue: String) {
        precondition(rawValue.utf8.count <= 32, "the name of a note is too long")
        self.rawValue = rawValue
    }

    package init(stringLiteral value: String) { self.init(value) }
}

package struct UnsendableItem: Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// Its row is damaged. Writing or deleting the item mends this.
        case damaged
        /// Its record would be larger than ``SyncRecord/maximalContentByteCount``. It stays on this
        /// device.
        case tooLarge
    }

    package let key: SyncItemID
    package let reason: Reason
}

/// A read transaction of sync. It ends when the call that passes it to `body` returns.
package final class SyncView {
    package var isLocked: Bool { reader.keys.isLocked }

    let reader: RecordReader
    private var kept: KeptReplica?

    init(_ reader: RecordReader, _ kept: KeptReplica?) throws(KeychainFailure) {
        self.reader = reader
        let stamp = try translating(reader.tables.readMark(), during: reader.operation).stamp
        if kept?.stamp == stamp { self.kept = kept }
    }

    /// The keychain's replica; nil without a circle. Reading it takes long for many items, unless
    /// this process has just written it.
    package var replica: Replica? {
        get throws(KeychainFailure) {
            if let kept { return kept.replica }
            let fresh = try KeptReplica(reader.tables, reader.keys, reader.operation)
            kept = fresh
            return fresh.replica
        }
    }

    package subscript(note: NoteName) -> [UInt8]? {
        get throws(KeychainFailure) { try reader.facts(EntryKind.note, note.id) }
    }

    /// How many items have changed here since the replica last took in local changes.
    package var uncollectedCount: Int {
        get throws(KeychainFailure) {
            try translating(reader.tables.uncollectedCount(), during: reader.operation)
        }
    }

    /// Opens a conflict with its value.
    ///
    /// - Returns: nil if it is closed now, damaged, or gone.
    package func content(of conflict: Conflict.ID) throws(KeychainFailure) -> RecordContent? {
        try reader.content(of: conflict)
    }
}

/// The contents of the tables of sync, in memory: `SyncedKeychain` keeps it between two updates.
struct KeptReplica {
    var stamp: Int64
    /// Up to which change number local changes were collected.
    var mark: Int64
    /// nil in no circle.
    var replica: Replica?
    var outgoing: [KeyScope: [UInt8]]
}

/// The kinds of entries: docs/FORMAT.md §12.2. Those up to 7 are ``ReplicaEntry/Kind``.
enum EntryKind {
    static let record = ReplicaEntry.Kind.record.rawValue
    static let ofReplica: ClosedRange<UInt8> = 1...7
    /// A copy that was set aside, by the item's number.
    static let aside: UInt8 = 8
    /// The unconfirmed message of a scope.
    static let outgoing: UInt8 = 9
    /// The message that is being joined in a scope.
    static let incoming: UInt8 = 10
    /// A part of the base that is being joined, by scope and index.
    static let incomingPart: UInt8 = 11
    /// A note, by its name.
    static let note = SyncTables.noteKind

    /// Everything that a circle needs, except notes.
    static let ofCircle: [UInt8] = Array(ofReplica) + [aside, outgoing, incoming, incomingPart]
}

extension KeptReplica {
    private static let reading = "read what is known of the circle"

    /// Reads the tables, which takes long for many items.
    ///
    /// - Throws: ``KeychainFailure``: `keychainDamaged` if an entry does not open, or the entries
    ///   do not fit together; `locked` before the first unlock.
    init(
        _ tables: SyncTables, _ keys: RowKeys, _ operation: String
    ) throws(KeychainFailure) {
        do {
            try self.init(tables, keys)
        } catch {
            throw error.isDamage ? Self.damage : KeychainFailure(error, during: operation)
        }
    }

    private init(_ tables: SyncTables, _ keys: RowKeys) throws(SystemError) {
        (mark, stamp) = try tables.readMark()
        var restoration = ReplicaRestoration()
        outgoing = [:]
        try tables.forEachEntry(EntryKind.ofReplica) { (entry) throws(SystemError) in
            guard let kind = ReplicaEntry.Kind(rawValue: entry.head.kind) else { return true }
            let facts = try keys.openFacts(entry)
            try soundly { () throws(SyncError) in
                try restoration.add(
                    kind, id: entry.head.id, of: SyncItemID(entry.head.item), facts: facts)
            }
            return true
        }
        var owesJoin: Set<KeyScope> = []
        for scope in KeyScope.allCases {
            let id = [scope.rawValue]
            if try tables.entry(EntryKind.incoming, id) != nil { owesJoin.insert(scope) }
            guard let entry = try tables.entry(EntryKind.outgoing, id) else { continue }
            outgoing[scope] = try keys.openFacts(entry)
        }
        do { replica = try restoration.finish(owesJoin: owesJoin) } catch {
            throw .row(.damagedContent)
        }
    }

    /// Reads only the mark, for a keychain whose tables are about to be emptied.
    init(emptying tables: SyncTables) throws(SystemError) {
        (mark, stamp) = try tables.readMark()
        outgoing = [:]
    }

    static var damage: KeychainFailure {
        KeychainFailure(
            .keychainDamaged, during: reading,
            message: "what the keychain knows of its circle is damaged; the items are not",
            hint: "run `valet sync leave --here`, and join the circle again")
    }
}

/// Runs `body` on bytes that this keychain has written, so malformed bytes count as damage.
func soundly<R>(_ body: () throws(SyncError) -> R) throws(SystemError) -> R {
    do { return try body() } catch { throw .row(.damagedContent) }
}
