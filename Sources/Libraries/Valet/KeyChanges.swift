// SPDX-License-Identifier: Apache-2.0

public import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

// The sequence of changes of a valet's keys, for applications on Linux.

extension Valet {
    /// Returns the changes of this valet's keys after this call, made by any process. Reports keys,
    /// never values.
    ///
    ///     for try await change in try valet.keyChanges() { … }
    ///
    /// Exists only on Linux: the keychains of Apple's systems do not report changes.
    ///
    /// - Throws: `missingEntitlement`, `couldNotAccessKeychain`, also before the first unlock.
    public func keyChanges() throws(KeychainError) -> KeyChanges {
        do {
            return KeyChanges(try KeychainSession.current().changes(of: sandbox))
        } catch {
            throw KeychainError(error)
        }
    }

    /// The changes of a valet's keys, in the order in which they are noticed.
    ///
    /// A change is reported within a fraction of a second. Several writes of one key may be
    /// reported as one change, and a slow reader does not see changes that were undone in between.
    /// Writes of a locked keychain are reported once the items can be read. While any sequence is
    /// read, one thread watches for the whole process. It looks at most ten times a second; a look
    /// costs as much as counting this valet's keys.
    ///
    /// A sequence is for one reader. It ends when the task that reads it is cancelled, and fails if
    /// the keychain can no longer be read.
    public struct KeyChanges: AsyncSequence, Sendable {
        /// One change.
        public typealias Element = KeyChange
        /// Why the keychain can no longer be read.
        public typealias Failure = KeychainFailure

        private let changes: AccountChanges

        init(_ changes: AccountChanges) {
            self.changes = changes
        }

        /// Starts with the changes since the sequence was created.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(changes) }

        /// Reads the changes one after the other.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private var changes: AccountChanges.Iterator

            init(_ changes: AccountChanges) {
                self.changes = AccountChanges.Iterator(changes)
            }

            /// Waits for the next change; nil if the task is cancelled.
            public mutating func next() async throws(KeychainFailure) -> KeyChange? {
                try await next(isolation: #isolation)
            }

            /// Waits for the next change; nil if the task is cancelled.
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
    /// nil for accounts that ``Valet/allKeys()`` leaves out.
    fileprivate init?(_ change: AccountChange) {
        switch change {
        case .stored(.text(let account)) where !ServiceName.isCanary(account):
            self = .stored(key: account)
        case .removed(.text(let account)) where !ServiceName.isCanary(account):
            self = .removed(key: account)
        case .removedUnknown: self = .removedUnknown
        case .stored, .removed: return nil
        }
    }
}

/// One change of a valet's keys.
@nonexhaustive
public enum KeyChange: Hashable, Sendable {
    /// A value was stored under the key; there may have been one before.
    case stored(key: String)
    /// The value under the key was removed.
    case removed(key: String)
    /// Keys were removed whose names could never be read. `allKeys()` returns those that are left.
    case removedUnknown
}
