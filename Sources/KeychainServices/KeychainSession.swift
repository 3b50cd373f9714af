// SPDX-License-Identifier: Apache-2.0

package import KeychainModel
package import KeychainStore
package import SecretMemory

/// One application's view of one keychain: the typed request that everything else is made of.
///
/// Every call is synchronous, safe from every thread and process, and done by its deadline.
/// What fails is also remembered as ``KeychainFailure/last``.
package struct KeychainSession: Sendable {
    package let caller: Caller

    /// The session of this process: its keychain, its application identifier.
    package static func current() throws(KeychainFailure) -> KeychainSession {
        throw KeychainFailure(.unimplemented, during: "open the keychain")
    }

    /// A session in the keychain of this process on behalf of another application.
    package static func current(
        onBehalfOf applicationIdentifier: String, accessGroups: [AccessGroup] = []
    ) throws(KeychainFailure) -> KeychainSession {
        throw KeychainFailure(.unimplemented, during: "open the keychain")
    }

    /// Adds an item and returns it with its attributes (and without its value).
    ///
    /// - Throws: `duplicateItem`, `missingEntitlement`, `valueTooLarge`, `passcodeNotSet` and
    ///   whatever keeps the keychain from working.
    @discardableResult
    package func add(_ item: NewItem, value: SecretValue?) throws(KeychainFailure) -> StoredItem {
        throw KeychainFailure(.unimplemented, during: "add an item")
    }

    /// Adds an item, or gives the item that has its primary key this value and keeps the rest.
    ///
    /// - Throws: `duplicateItem` if that item has another protection class.
    package func set(_ item: NewItem, value: SecretValue) throws(KeychainFailure) {
        throw KeychainFailure(.unimplemented, during: "set an item")
    }

    /// Adds all items and removes those named, or does nothing at all.
    package func add(
        _ items: [(item: NewItem, value: SecretValue?)], removing: [PersistentReference]
    ) throws(KeychainFailure) {
        throw KeychainFailure(.unimplemented, during: "add items")
    }

    /// The items that match: at least one, at most the query's limit.
    ///
    /// - Throws: `itemNotFound` if none matches.
    package func copy(
        _ query: ItemQuery, _ parts: ItemParts
    ) throws(KeychainFailure) -> [StoredItem] {
        throw KeychainFailure(.unimplemented, during: "read items")
    }

    /// The value of the first item that matches: the fast path.
    ///
    /// - Returns: nil for an item that has no value.
    /// - Throws: `itemNotFound` if none matches.
    package func value(of query: ItemQuery) throws(KeychainFailure) -> SecretValue? {
        throw KeychainFailure(.unimplemented, during: "read an item")
    }

    /// Whether an item matches; opens no value.
    package func contains(_ query: ItemQuery) throws(KeychainFailure) -> Bool {
        throw KeychainFailure(.unimplemented, during: "look for an item")
    }

    /// Changes every item that matches, or none; returns how many.
    ///
    /// - Throws: `itemNotFound` if none matches, `duplicateItem` if a primary key is taken.
    @discardableResult
    package func update(
        _ query: ItemQuery, _ changes: ItemChanges, value: SecretValue? = nil
    ) throws(KeychainFailure) -> Int {
        throw KeychainFailure(.unimplemented, during: "update items")
    }

    /// Deletes every item that matches; returns how many.
    ///
    /// - Throws: `itemNotFound` if none matches.
    @discardableResult
    package func delete(_ query: ItemQuery) throws(KeychainFailure) -> Int {
        throw KeychainFailure(.unimplemented, during: "delete items")
    }

    /// What there is to know about the keychain; creates nothing.
    package func status() throws(KeychainFailure) -> KeychainStatus {
        throw KeychainFailure(.unimplemented, during: "read the keychain's status")
    }

    /// Checks files, keys and every row; changes nothing.
    package func diagnose() -> [Finding] {
        []
    }
}
