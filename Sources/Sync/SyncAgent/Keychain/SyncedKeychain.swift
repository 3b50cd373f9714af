// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetKeychainStore
package import ValetSync
internal import ValetSystem

/// A keychain with its replica: docs/SYNC.md §4, docs/FORMAT.md §12.
///
/// The holder of `sync.lock` has one, and uses it on one thread at a time. It keeps the replica in
/// memory between two calls, for as long as no other process writes the tables of sync.
package final class SyncedKeychain {
    /// The keychain.
    package let store: ItemStore
    /// The contents of the tables; nil while an update changes them, and after one that failed.
    private var kept: KeptReplica?

    /// How long a call lets other writers go first between two of its transactions, in nanoseconds.
    private static let pause: Int64 = 5_000_000

    /// The tables of sync of the keychain of `store`; nothing is read before it is needed.
    package init(_ store: ItemStore) {
        self.store = store
    }

    /// Runs `body` in one write transaction, which collects the local changes first.
    ///
    /// If `body` throws, nothing has changed, and the next call reads the tables anew, which takes
    /// long for many items. So `body` returns expected outcomes, such as a refused message, as its
    /// result.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain, `locked` before the
    ///   first unlock, `timedOut`, `diskFull`, `keychainDamaged` if an entry of the tables does not
    ///   open; errors of `body`, translated.
    package func update<R>(
        _ operation: String, _ body: (SyncUpdate) throws -> R
    ) throws(KeychainFailure) -> R {
        while true {
            let written = try store.writeRows(operation) { (rows) throws(KeychainFailure) in
                try failing(operation) { try run(rows, body) }
            }
            if let result = try keep(written, operation) { return result }
        }
    }

    /// Deletes everything of sync, also if it is damaged: ``SyncUpdate/end(keeping:)``. If the
    /// tables are damaged, replaced values go as well.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain, `locked` before the
    ///   first unlock, `timedOut`, `diskFull`.
    package func end(
        _ operation: String, keeping names: Set<NoteName>
    ) throws(KeychainFailure) {
        do {
            return try update(operation) { try $0.end(keeping: names) }
        } catch {
            guard error.code == .keychainDamaged else { throw error }
        }
        let done = try store.writeRows(operation) { (rows) throws(KeychainFailure) in
            try failing(operation) {
                let update = SyncUpdate(rows, try KeptReplica(emptying: rows.store.sync))
                try update.end(keeping: names)
                _ = try update.finish()
                return true
            }
        }
        guard done == nil else { return }
        throw KeychainFailure(
            .itemNotFound, during: operation, message: "there is no keychain yet",
            path: store.location.folder)
    }

    /// Runs `body` in one read transaction. It needs no lock of sync.
    ///
    /// - Returns: nil if there is no keychain.
    /// - Throws: As ``update(_:_:)``.
    package func read<R>(
        _ operation: String, _ body: (SyncView) throws -> R
    ) throws(KeychainFailure) -> R? {
        try store.readRows(operation) { (snapshot) throws(KeychainFailure) in
            let reader = RecordReader(store: snapshot.store, keys: snapshot.state)
            return try failing(operation) { try body(SyncView(reader, kept)) }
        }
    }

    /// Like ``update(_:_:)``, for the update in which `body` begins a base: also begins to read,
    /// after the commit and before any other process writes.
    ///
    /// - Throws: As ``update(_:_:)``. An error after the commit leaves the base open:
    ///   ``ScopeReplica/abandonBase()``.
    package func updateBeginningBase<R>(
        _ operation: String, _ body: (SyncUpdate) throws -> R
    ) throws(KeychainFailure) -> (R, BaseSnapshot) {
        while true {
            let written = try store.writeRowsHoldingSnapshot(operation) {
                (rows) throws(KeychainFailure) in
                try failing(operation) { try run(rows, body) }
            }
            guard let result = try keep(written?.0, operation), let held = written?.1 else {
                written?.1.close()
                continue
            }
            return (result, BaseSnapshot(held))
        }
    }

    /// The tables after a transaction, and the result of its body; nil if it only collected.
    private typealias Written<R> = (result: R?, kept: KeptReplica)

    private func run<R>(
        _ rows: RowTransaction, _ body: (SyncUpdate) throws -> R
    ) throws -> Written<R> {
        let (update, isFresh) = try begin(rows)
        guard try update.collect() else { return (nil, try update.finish()) }
        if isFresh { try update.forgetExpired() }
        let result = try body(update)
        return (result, try update.finish())
    }

    private func begin(_ rows: RowTransaction) throws -> (SyncUpdate, isFresh: Bool) {
        let tables = rows.store.sync
        let stamp = try tables.readMark().stamp
        // Taken out and consumed: a second owner would make each change copy the whole replica.
        if let known = kept.take(), known.stamp == stamp {
            return (SyncUpdate(rows, consume known), false)
        }
        return (SyncUpdate(rows, try KeptReplica(tables, rows.state)), true)
    }

    /// - Returns: nil if the call has to go on in another transaction.
    private func keep<R>(
        _ written: Written<R>?, _ operation: String
    ) throws(KeychainFailure) -> R? {
        guard let written else {
            throw KeychainFailure(
                .itemNotFound, during: operation, message: "there is no keychain yet",
                path: store.location.folder)
        }
        kept = written.kept
        if written.result == nil { _ = Deadline(after: .seconds(1)).sleep(atMost: Self.pause) }
        return written.result
    }
}

/// The name of a note that the agent or the circle keeps in the keychain, such as its roster.
package struct NoteName: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The name, at most 32 bytes of UTF-8.
    package let rawValue: String

    var id: [UInt8] { Array(rawValue.utf8) }

    /// The note `rawValue`.
    package init(_ rawValue: String) {
        precondition(rawValue.utf8.count <= 32, "the name of a note is too long")
        self.rawValue = rawValue
    }

    /// The note `value`.
    package init(stringLiteral value: String) { self.init(value) }
}

/// An item that cannot be sent now.
package struct UnsendableItem: Hashable, Sendable {
    /// Why an item cannot be sent.
    package enum Reason: Hashable, Sendable {
        /// Its row is damaged. Writing or deleting the item mends this.
        case damaged
        /// Its record would be larger than ``SyncRecord/maximalContentByteCount``. It stays on this
        /// device.
        case tooLarge
    }

    package let key: SyncItemID
    /// Why it cannot be sent.
    package let reason: Reason
}

/// Runs `body`, and turns its error into a failure of `operation`. A ``KeychainFailure`` passes
/// unchanged.
func failing<R>(_ operation: String, _ body: () throws -> R) throws(KeychainFailure) -> R {
    do {
        return try body()
    } catch let failure as KeychainFailure {
        throw failure
    } catch let error as SystemError {
        throw KeychainFailure(error, during: operation)
    } catch {
        throw KeychainFailure(.internalFault, during: operation, message: "\(type(of: error))")
    }
}

/// The result of `body`; nil if a row is damaged.
func unlessRowDamaged<R>(_ body: () throws -> R) throws -> R? {
    do {
        return try body()
    } catch let error as SystemError where error.isDamage {
        return nil
    }
}

extension SyncTables {
    /// Calls `body` with each entry of these kinds, up to its first error.
    func eachEntry(
        _ kinds: ClosedRange<UInt8>, _ body: (SealedSyncEntry) throws -> Void
    ) throws {
        var failure: (any Error)?
        try forEachEntry(kinds) { entry in
            guard failure == nil else { return }
            do { try body(entry) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}
