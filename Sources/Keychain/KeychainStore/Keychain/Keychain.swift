// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The calls about the keychain as a whole: its lock, passcode, recovery key, status, diagnosis,
/// repair and backups. The files of this folder have one kind of call each. ``ItemStore`` has the
/// calls about items.
package struct Keychain: Sendable {
    let store: ItemStore

    /// The id of the keychain that this process has last read at this place; nil if none.
    var lastKnownID: KeychainID? { store.slot.keychainID }

    /// Waits until every write that has begun is done, or for `duration`.
    ///
    /// Others see a commit when its writer releases the lock, not when its bytes are written.
    package func awaitWriters(atMost duration: Duration) {
        // Watchers also poll, so a missed notification does no harm.
        try? store.workOnKeys("watch the keychain") { (keys) throws(KeychainFailure) in
            try translating(
                keys.keychain.pool.awaitWriters(Deadline(after: duration)),
                during: keys.operation)
        }
    }
}

extension ItemStore {
    package var keychain: Keychain { Keychain(store: self) }
}

/// Damaged former rows: docs/FORMAT.md §8.
extension Keychain {
    /// Deletes the former rows that are damaged: those that were set aside, and those that do not
    /// open. Rows whose keys are not open stay.
    ///
    /// - Returns: The number of deleted rows.
    /// - Throws: ``KeychainFailure``: `timedOut`, `readOnly`, `diskFull`. Then nothing is deleted.
    package func purgeDamaged() throws(KeychainFailure) -> Int {
        let operation = "delete damaged former values"
        return try store.writeRows(operation) { (rows) throws(KeychainFailure) in
            var damaged: [Int64] = []
            try translating(operation) { () throws(SystemError) in
                try RowExamination(state: rows.state).forEachFormer(rows.store) {
                    (former, isIntact) in
                    if !isIntact { damaged.append(former.kept) }
                }
            }
            for kept in damaged { try rows.dropFormer(kept) }
            return damaged.count
        } ?? 0
    }

    /// The failure of a call that found no item. Its hint gives the number of damaged items that
    /// were set aside: the missing item may be among them.
    package func notFound(_ operation: String) -> KeychainFailure {
        let missing = KeychainFailure(.itemNotFound, during: operation)
        // If they cannot be counted, the failure has no hint.
        let count = try? store.inspect(operation) { (keys) throws(KeychainFailure) in
            try keys.read { (store) throws(KeychainFailure) in
                try translating(
                    RowCount.setAside(in: store.connection), during: operation)
            }
        }
        guard let count, count > 0 else { return missing }
        let items = count == 1 ? "1 damaged item was" : "\(count) damaged items were"
        return KeychainFailure(
            missing, hint: "\(items) set aside, and it may be among them: `valet doctor` says more")
    }
}
