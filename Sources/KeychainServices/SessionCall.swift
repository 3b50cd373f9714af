// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeychainStore

/// A call for items, as a ``CallScript`` is told of it.
package enum SessionCall: Hashable, Sendable {
    /// Adds an item.
    case add(NewItem)
    /// Adds an item or replaces its value.
    case set(NewItem)
    /// Adds an item or replaces what a query finds.
    case replace(ItemQuery, NewItem)
    /// Adds, sets or changes items, and deletes others.
    case transfer([NewItem])
    /// Reads items, with their values or without.
    case copy(ItemQuery, readsValues: Bool)
    /// Reads the values of the items with these accounts.
    case values(Set<String>, PasswordService)
    /// Looks whether an item is there.
    case contains(ItemQuery)
    /// Changes items.
    case update(ItemQuery, ItemChanges)
    /// Deletes items.
    case delete(ItemQuery)
}

/// What comes before, or instead of, each call of a session: scripted failures, in tests.
///
/// Only ``KeychainSession/init(_:_:script:)`` takes one, and the session of a process has none.
package protocol CallScript: AnyObject, Sendable {
    /// Does `body`, which is `call`, or fails in its place.
    func perform<R>(
        _ call: SessionCall, in session: KeychainSession, _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R

    /// What can be found out about the keychain of `session`, as one would say it that is in the
    /// state of the calls. As calls do, it takes its time.
    func look(in session: KeychainSession) throws(KeychainFailure) -> KeychainAvailability

    /// `found`, as a keychain would say it that is in the state of the calls. Waits for nothing.
    func changed(
        _ found: Result<KeychainAvailability, KeychainFailure>, in session: KeychainSession
    ) -> Result<KeychainAvailability, KeychainFailure>

    /// A script that does on every thread what this one does in the task that asks.
    var ofThisTask: any CallScript { get }
}
