// SPDX-License-Identifier: Apache-2.0

public import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing

// What sync with the person's other devices is doing: the present state, and the sequence of states
// that `ValetKeychain.syncStateChanges` gives applications.

extension ValetKeychain {
    /// What sync with the person's other devices is doing.
    public typealias SyncState = ValetKeychainModel.SyncState

    /// The state after the last round of sync: `off` if the keychain is in no circle, `closed`
    /// before the first unlock.
    ///
    /// `valet sync run` runs the rounds. A change of a shared item makes the state `waiting` until
    /// a round has sent it.
    /// Creates nothing, does not ask the user, and reaches no store.
    /// - Throws: Like ``lockState``.
    public static var syncState: SyncState {
        get throws(KeychainFailure) { try KeychainSession.current().syncState() }
    }

    /// The state of sync now, and then after each change.
    ///
    /// Many tasks can read it at once, each as often as it likes. See ``SyncStateChanges``.
    public static var syncStateChanges: SyncStateChanges {
        SyncStateChanges { () throws(KeychainFailure) in try KeychainSession.current() }
    }

    /// The states of sync, from the current one on: ``ValetKeychain/syncStateChanges``.
    ///
    /// Each element differs from the one before. A slow reader gets only the latest state. A change
    /// arrives within a second. A waiting task does not use the cooperative thread pool: one thread
    /// watches for the whole process while any task waits.
    ///
    /// The sequence ends when the task that reads it is cancelled. It fails like
    /// ``ValetKeychain/syncState``, except that it retries while the keychain is busy.
    public struct SyncStateChanges: AsyncSequence, Sendable {
        /// A state.
        public typealias Element = SyncState
        /// Why the sequence ended.
        public typealias Failure = KeychainFailure

        private let session: @Sendable () throws(KeychainFailure) -> KeychainSession

        init(_ session: @escaping @Sendable () throws(KeychainFailure) -> KeychainSession) {
            self.session = session
        }

        /// Begins with the present state.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(session) }

        /// Reads the states one by one.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private let begin: @Sendable () throws(KeychainFailure) -> KeychainSession
            private var session: KeychainSession?
            private var signals: ItemSignals.AsyncIterator?
            private var told: SyncState?
            private var hasEnded = false

            init(_ begin: @escaping @Sendable () throws(KeychainFailure) -> KeychainSession) {
                self.begin = begin
            }

            /// Waits for the next state; nil once the task was cancelled.
            public mutating func next() async throws(KeychainFailure) -> SyncState? {
                try await next(isolation: #isolation)
            }

            /// Waits for the next state; nil once the task was cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(KeychainFailure) -> SyncState? {
                guard !hasEnded else { return nil }
                // An iterator that throws or returns nil has ended.
                hasEnded = true
                let session = if let known = self.session { known } else { try begin() }
                self.session = session
                if signals == nil {
                    // The first signal comes at once.
                    signals = try ItemWatcher.current.value.signals(of: session.store)
                        .makeAsyncIterator()
                }
                while await signals?.next(isolation: actor) != nil {
                    guard let state = try await look(session), state != told else { continue }
                    (told, hasEnded) = (state, false)
                    return state
                }
                return nil
            }

            /// - Returns: nil if the keychain is busy.
            private func look(
                _ session: KeychainSession
            ) async throws(KeychainFailure) -> SyncState? {
                do {
                    return try await offloading { () throws(KeychainFailure) in
                        try session.store.keychain.syncState()
                    }
                } catch {
                    guard error.code == .timedOut else { throw error }
                    return nil
                }
            }
        }
    }
}

extension KeychainSession {
    func syncState() throws(KeychainFailure) -> ValetKeychain.SyncState {
        try remembering { () throws(KeychainFailure) in try store.keychain.syncState() }
    }
}
