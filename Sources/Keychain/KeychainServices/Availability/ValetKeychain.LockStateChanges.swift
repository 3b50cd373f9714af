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
            private enum Progress {
                case notBegun(@Sendable () throws(KeychainFailure) -> KeychainSession)
                case reading(Reading)
                case ended
            }

            private var progress: Progress

            init(_ session: @escaping @Sendable () throws(KeychainFailure) -> KeychainSession) {
                progress = .notBegun(session)
            }

            /// Waits for the next state; nil once the task was cancelled.
            public mutating func next() async throws(KeychainFailure) -> LockState? {
                try await next(isolation: #isolation)
            }

            /// Waits for the next state; nil once the task was cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(KeychainFailure) -> LockState? {
                guard var reading = try begin() else { return nil }
                repeat {
                    if let state = try reading.news() {
                        progress = .reading(reading)
                        return state
                    }
                    reading.update = await reading.updates.next(isolation: actor)
                } while reading.update != nil
                return nil
            }

            /// Takes the progress out of the iterator, so that one that throws or returns nil has
            /// ended.
            private mutating func begin() throws(KeychainFailure) -> Reading? {
                let progress = progress
                self.progress = .ended
                switch progress {
                case .ended: return nil
                case .reading(let reading): return reading
                case .notBegun(let session): return try Reading(session())
                }
            }
        }
    }
}

/// The updates of one keychain, and the state that was delivered last.
private struct Reading {
    var updates: AvailabilityUpdates.AsyncIterator
    /// The latest update.
    var update: AvailabilityUpdates.Element?
    private var told: ValetKeychain.LockState?
    private let session: KeychainSession

    init(_ session: KeychainSession) throws(KeychainFailure) {
        self.session = session
        updates = try AvailabilityWatcher.current.value.updates(of: session.store)
            .makeAsyncIterator()
    }

    /// The state, if it differs from the one that was delivered last. One update can bring several,
    /// because a test may script another state each time.
    mutating func news() throws(KeychainFailure) -> ValetKeychain.LockState? {
        switch update.map(session.scripted) {
        case .success(let found)?:
            let state = found.state
            guard state != told else { return nil }
            told = state
            return state
        case .failure(let failure)?:
            guard failure.code == .timedOut else { throw failure }
            return nil
        case nil: return nil
        }
    }
}
