// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeychainStore

/// A keychain with what it knows of its circle: docs/SYNC.md §4, docs/FORMAT.md §12.
///
/// The holder of `sync.lock` has one, and uses it on one thread at a time. It keeps the replica in
/// memory between two calls, for as long as no other process writes the tables of sync.
package final class SyncedKeychain {
    /// The keychain.
    package let store: ItemStore

    /// The tables of sync of the keychain of `store`; nothing is read before it is needed.
    package init(_ store: ItemStore) {
        self.store = store
    }

    /// Runs `body` in one write transaction, which collects the local changes first.
    ///
    /// If `body` throws, nothing has changed, and the next call reads the tables anew, which takes
    /// long for many items. So `body` returns what is expected, such as a message that is refused,
    /// as its result.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain, `locked` before the
    ///   first unlock, `timedOut`, `diskFull`, `keychainDamaged` if an entry of the tables does not
    ///   open; what `body` throws, translated.
    package func update<R>(
        _ operation: String, _ body: (SyncUpdate) throws -> R
    ) throws(KeychainFailure) -> R {
        throw KeychainFailure(.internalFault, during: operation)
    }

    /// Runs `body` in one read transaction. It needs no lock of sync.
    ///
    /// - Returns: nil if there is no keychain.
    /// - Throws: As ``update(_:_:)``.
    package func read<R>(
        _ operation: String, _ body: (SyncView) throws -> R
    ) throws(KeychainFailure) -> R? {
        throw KeychainFailure(.internalFault, during: operation)
    }

    /// Like ``update(_:_:)``, for the update in which `body` begins a base: also begins to read,
    /// after the commit and before any other process writes.
    ///
    /// - Throws: As ``update(_:_:)``. An error after the commit leaves the base open:
    ///   ``ScopeReplica/abandonBase()``.
    package func updateBeginningBase<R>(
        _ operation: String, _ body: (SyncUpdate) throws -> R
    ) throws(KeychainFailure) -> (R, BaseSnapshot) {
        throw KeychainFailure(.internalFault, during: operation)
    }
}
