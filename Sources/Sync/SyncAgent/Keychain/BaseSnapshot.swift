// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetSync
internal import ValetSystem

/// One moment of the keychain, from which the parts of a base are built while others write.
///
/// While it is open, the log of the database cannot be shortened: close it soon.
package final class BaseSnapshot {
    private let held: HeldSnapshot

    init(_ held: HeldSnapshot) { self.held = held }

    /// The record of a dot that was live at that moment, byte for byte.
    ///
    /// - Throws: ``KeychainFailure``: `damaged` if its row is damaged; `locked` if the scope was
    ///   closed since.
    package func record(_ dot: Dot, in scope: KeyScope) throws(KeychainFailure) -> SyncRecord {
        let operation = "build a base"
        guard held.isOpen else { throw KeychainFailure(.locked, during: operation) }
        let reader = RecordReader(store: held.store, keys: held.keys.rows)
        guard let record = try failing(operation, { try reader.record(dot, in: scope) }) else {
            throw KeychainFailure(
                .damaged, during: operation,
                message: "an item that other devices have is damaged here",
                hint: "run `valet doctor`; writing or removing the item mends this")
        }
        return record
    }

    /// Ends the transaction. A snapshot that is dropped ends it, too.
    package func close() { held.close() }
}
