// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeychainStore
internal import ValetSecretMemory

extension KeychainSession {
    /// What becomes of the items of `service` after this call; nothing that is written later is
    /// missed.
    ///
    /// Blocks as every call does.
    /// - Throws: ``KeychainFailure``: `locked` before the first unlock, `missingEntitlement`, and
    ///   whatever keeps the keychain from working.
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

/// The changes of a service's items: a slow reader is told less often, and misses nothing but
/// what was undone in between. For one reader.
package struct AccountChanges: AsyncSequence, Sendable {
    /// A change.
    package typealias Element = AccountChange
    /// Why nothing can be told any more.
    package typealias Failure = KeychainFailure

    fileprivate let session: KeychainSession
    fileprivate let service: PasswordService
    fileprivate let signals: ItemSignals
    fileprivate let snapshot: ServiceSnapshot

    /// Begins with what was written since the sequence was made.
    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// Reads the changes one after the other.
    package struct AsyncIterator: AsyncIteratorProtocol {
        private let session: KeychainSession
        private let service: PasswordService
        private var signals: ItemSignals.AsyncIterator
        private var snapshot: ServiceSnapshot
        /// The last one is told first.
        private var found: [AccountChange] = []
        private var hasFailed = false

        fileprivate init(_ changes: AccountChanges) {
            session = changes.session
            service = changes.service
            signals = changes.signals.makeAsyncIterator()
            snapshot = changes.snapshot
        }

        /// Waits for the next change; nil once the task was cancelled.
        package mutating func next() async throws(KeychainFailure) -> AccountChange? {
            try await next(isolation: #isolation)
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
            let (session, service, before) = (session, service, snapshot)
            let result = await offloading {
                Result { () throws(KeychainFailure) in
                    var snapshot = before
                    let changes = try session.store.changes(
                        since: &snapshot, of: service, for: session.caller)
                    return (snapshot, changes)
                }
            }
            switch result {
            case .success(let (snapshot, changes)):
                self.snapshot = snapshot
                found = changes.reversed()
            case .failure(let failure):
                // Busy, or locked as before the first unlock: the next signal brings the news.
                guard ![.timedOut, .locked].contains(failure.code) else { return }
                hasFailed = true
                throw failure
            }
        }
    }
}
