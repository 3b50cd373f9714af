// SPDX-License-Identifier: Apache-2.0

public import KeychainModel
internal import KeychainStore
internal import SecretMemory

extension Keychain {
    /// The lock states of the keychain, from the present one on: ``Keychain/lockStateChanges``.
    ///
    /// Each element differs from the one before. Who is slow to ask for the next gets the latest,
    /// and not what was in between. A change made by this library is told at once, in every process
    /// that may read the keychain's folder; so is the end of the time that it was unlocked
    /// for. Within half a minute: what nobody tells of, as keys that somebody removed from the
    /// kernel, and a time that ended while the machine slept.
    ///
    /// While a task waits nothing of it runs on the cooperative thread pool: one thread watches for
    /// the whole process, for as long as anybody waits.
    ///
    /// The sequence ends when the task that reads it is cancelled. It fails with what
    /// ``Keychain/lockState`` throws, but for `timedOut`: a busy keychain is asked again.
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
                case reading(AvailabilityUpdates.AsyncIterator, last: LockState?)
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
                var (updates, last) = try begin()
                while let update = await updates?.next(isolation: actor) {
                    switch update {
                    case .success(let found):
                        let state = LockState(found.state)
                        if state == last { continue }
                        last = state
                        if let updates { progress = .reading(updates, last: last) }
                        return state
                    case .failure(let failure):
                        if failure.code == .timedOut { continue }
                        progress = .ended
                        throw failure
                    }
                }
                progress = .ended
                return nil
            }

            private mutating func begin() throws(KeychainFailure) -> (
                AvailabilityUpdates.AsyncIterator?, LockState?
            ) {
                let progress = progress
                self.progress = .ended
                switch progress {
                case .ended: return (nil, nil)
                case .reading(let updates, let last): return (updates, last)
                case .notBegun(let session):
                    let store = try session().store
                    let updates = try AvailabilityWatcher.current.value.updates(of: store)
                    return (updates.makeAsyncIterator(), nil)
                }
            }
        }
    }
}
