// SPDX-License-Identifier: Apache-2.0

public import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory

extension ValetKeychain {
    /// The lock states of the keychain, from the present one on:
    /// ``ValetKeychain/lockStateChanges``.
    ///
    /// Each element differs from the one before. A slow reader gets the latest,
    /// and not what was in between. A change made by this library is told at once, in every process
    /// that may read the keychain's folder; so is the end of the time that it was unlocked
    /// for. Within half a minute: what nobody tells of, as keys that somebody removed from the
    /// kernel, and a time that ended while the machine slept.
    ///
    /// While a task waits nothing of it runs on the cooperative thread pool: one thread watches for
    /// the whole process, for as long as anybody waits.
    ///
    /// The sequence ends when the task that reads it is cancelled. It fails with what
    /// ``ValetKeychain/lockState`` throws, but for `timedOut`: a busy keychain is asked again.
    public struct LockStateChanges: AsyncSequence, Sendable {
        /// A state.
        public typealias Element = LockState
        /// Why no state can be told any more.
        public typealias Failure = KeychainFailure

        private let session: @Sendable () throws(KeychainFailure) -> KeychainSession

        init(_ session: @escaping @Sendable () throws(KeychainFailure) -> KeychainSession) {
            self.session = session
        }

        /// Begins with the present state.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(session) }

        /// Reads the states one after the other.
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

            /// Takes what was read so far, so that an iterator that throws or returns nil has
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

/// What was told of one keychain, and what there is to tell.
private struct Reading {
    var updates: AvailabilityUpdates.AsyncIterator
    /// The last one.
    var update: AvailabilityUpdates.Element?
    private var told: ValetKeychain.LockState?
    private let session: KeychainSession

    init(_ session: KeychainSession) throws(KeychainFailure) {
        self.session = session
        updates = try AvailabilityWatcher.current.value.updates(of: session.store)
            .makeAsyncIterator()
    }

    /// The state, unless it is what was told last. The same update can bring news: what a test has
    /// scripted may be another thing each time.
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
