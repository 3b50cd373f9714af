// SPDX-License-Identifier: Apache-2.0

public import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing

// The sequence of lock states that `ValetKeychain.lockStateChanges` gives applications.

extension ValetKeychain {
    /// The lock states of the keychain, from the current one on:
    /// ``ValetKeychain/lockStateChanges``.
    ///
    /// Each element differs from the one before. A slow reader gets only the latest state. Changes
    /// made by this library arrive at once in every process that may read the keychain's folder,
    /// and so does the end of a limited unlock. Changes that no process announces arrive within
    /// half a minute: keys that were removed from the kernel, and a limit that ended while the
    /// machine slept.
    ///
    /// A waiting task does not use the cooperative thread pool: one thread watches for the whole
    /// process while any task waits.
    ///
    /// The sequence ends when the task that reads it is cancelled. It fails like
    /// ``ValetKeychain/lockState``, except that it asks a busy keychain again.
    public struct LockStateChanges: AsyncSequence, Sendable {
        /// A state.
        public typealias Element = LockState
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
            private var updates: AvailabilityUpdates.AsyncIterator?
            private var update: AvailabilityUpdates.Element?
            private var told: LockState?
            private var hasEnded = false

            init(_ begin: @escaping @Sendable () throws(KeychainFailure) -> KeychainSession) {
                self.begin = begin
            }

            /// Waits for the next state; nil once the task was cancelled.
            public mutating func next() async throws(KeychainFailure) -> LockState? {
                try await next(isolation: #isolation)
            }

            /// Waits for the next state; nil once the task was cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(KeychainFailure) -> LockState? {
                guard !hasEnded else { return nil }
                // An iterator that throws or returns nil has ended.
                hasEnded = true
                let session = if let known = self.session { known } else { try begin() }
                self.session = session
                if updates == nil {
                    updates = try AvailabilityWatcher.current.value.updates(of: session.store)
                        .makeAsyncIterator()
                }
                repeat {
                    if let state = try state(in: session), state != told {
                        (told, hasEnded) = (state, false)
                        return state
                    }
                    update = await updates?.next(isolation: actor)
                } while update != nil
                return nil
            }

            /// The state of the latest update; nil without an update, and if the keychain was busy.
            /// One update can give several states, because a test may script another state for
            /// each call.
            private func state(
                in session: KeychainSession
            ) throws(KeychainFailure) -> LockState? {
                switch update.map(session.scripted) {
                case .success(let found)?: return found.state
                case .failure(let failure)? where failure.code != .timedOut: throw failure
                case .failure?, nil: return nil
                }
            }
        }
    }
}
