// SPDX-License-Identifier: Apache-2.0

public import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

extension Valet {
    /// What becomes of this valet's keys after this call, in whatever process; never values.
    ///
    ///     for try await change in try valet.keyChanges() { … }
    ///
    /// On Linux alone: the keychains of Apple's systems tell nobody.
    /// - Throws: `missingEntitlement`, `couldNotAccessKeychain`, also before the first unlock.
    public func keyChanges() throws(KeychainError) -> KeyChanges {
        do {
            return KeyChanges(try KeychainSession.current().changes(of: sandbox))
        } catch {
            throw KeychainError(error)
        }
    }

    /// What becomes of the keys of a valet, in the order in which it was noticed.
    ///
    /// Changes are told within a fraction of a second. A slow reader misses
    /// nothing but what was undone in between, and many writes of one key may be told as one. What
    /// is written while the keychain is locked is told once it can be read. One thread watches for
    /// the whole process, for as long as anybody waits; each look costs what counting this valet's
    /// keys costs, and comes ten times a second at most.
    ///
    /// For one reader. It ends when the task that reads it is cancelled, and fails if the keychain
    /// can no longer be read.
    public struct KeyChanges: AsyncSequence, Sendable {
        /// A change.
        public typealias Element = KeyChange
        /// Why nothing can be told any more.
        public typealias Failure = KeychainFailure

        private let changes: AccountChanges

        init(_ changes: AccountChanges) {
            self.changes = changes
        }

        /// Begins with what was written since the sequence was made.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(changes) }

        /// Reads the changes one after the other.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private var changes: AccountChanges.AsyncIterator

            init(_ changes: AccountChanges) {
                self.changes = changes.makeAsyncIterator()
            }

            /// Waits for the next change; nil once the task was cancelled.
            public mutating func next() async throws(KeychainFailure) -> KeyChange? {
                try await next(isolation: #isolation)
            }

            /// Waits for the next change; nil once the task was cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(KeychainFailure) -> KeyChange? {
                while let change = try await changes.next(isolation: actor) {
                    if let change = KeyChange(change) { return change }
                }
                return nil
            }
        }
    }
}

extension KeyChange {
    /// nil for what is none of a valet's keys: ``Valet/allKeys()``.
    fileprivate init?(_ change: AccountChange) {
        switch change {
        case .stored(.text(let account)) where account != ServiceName.canaryAccount:
            self = .stored(key: account)
        case .removed(.text(let account)) where account != ServiceName.canaryAccount:
            self = .removed(key: account)
        case .removedUnknown: self = .removedUnknown
        case .stored, .removed: return nil
        }
    }
}
