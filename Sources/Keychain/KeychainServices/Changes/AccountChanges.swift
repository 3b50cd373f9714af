// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeychainStore
internal import ValetSealing

// The changes of a service's items, made by any process. `Valet.keyChanges()` reports them by key.

extension KeychainSession {
    /// The changes of the items of `service` after this call. Misses no later write.
    ///
    /// Blocks like every call.
    /// - Throws: ``KeychainFailure``: `locked` before the first unlock, `missingEntitlement`, and
    ///   any failure of the keychain itself.
    package func changes(
        of service: PasswordService
    ) throws(KeychainFailure) -> AccountChanges {
        try remembering { () throws(KeychainFailure) in
            let signals = try ItemWatcher.current.value.signals(of: store)
            let snapshot = try store.snapshot(of: service, for: caller)
            return AccountChanges(
                session: self, service: service, signals: signals, snapshot: snapshot)
        }
    }
}

/// The changes of a service's items, for one reader. A slow reader gets fewer changes, and misses
/// only those that were undone in between.
package struct AccountChanges: Sendable {
    fileprivate let session: KeychainSession
    fileprivate let service: PasswordService
    fileprivate let signals: ItemSignals
    fileprivate let snapshot: ServiceSnapshot

    package struct Iterator {
        private let changes: AccountChanges
        private var signals: ItemSignals.AsyncIterator
        private var snapshot: ServiceSnapshot
        /// Changes that are not delivered yet, the next one last.
        private var found: [AccountChange] = []
        private var hasFailed = false

        /// Begins with the writes since `changes` was made.
        package init(_ changes: AccountChanges) {
            self.changes = changes
            signals = changes.signals.makeAsyncIterator()
            snapshot = changes.snapshot
        }

        /// Waits for the next change; nil once the task was cancelled.
        package mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(KeychainFailure) -> AccountChange? {
            while !hasFailed {
                if let change = found.popLast() { return change }
                guard await signals.next(isolation: actor) != nil else { return nil }
                try await look()
            }
            return nil
        }

        private mutating func look() async throws(KeychainFailure) {
            let (session, service, before) = (changes.session, changes.service, snapshot)
            do {
                let (snapshot, changes) = try await offloading { () throws(KeychainFailure) in
                    var snapshot = before
                    let changes = try session.store.changes(
                        since: &snapshot, of: service, for: session.caller)
                    return (snapshot, changes)
                }
                self.snapshot = snapshot
                found = changes.reversed()
            } catch {
                // The keychain is busy, or before its first unlock: look again at the next signal.
                guard ![.timedOut, .locked].contains(error.code) else { return }
                hasFailed = true
                throw error
            }
        }
    }
}
