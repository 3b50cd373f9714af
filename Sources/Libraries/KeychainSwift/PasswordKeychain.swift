// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// The calls of a keychain that `KeychainSwift` needs: `StorePasswords` on Linux,
/// `SecItemPasswords` on Apple's systems.
protocol PasswordKeychain: Sendable {
    /// Stores `value` and the class of `item` in the item that `query` finds, or adds `item` if it
    /// finds none. Deletes all other items that `query` finds. At every moment the old value or the
    /// new one exists.
    func set(
        _ item: NewItem, value: Data, replacing query: ItemQuery
    ) throws(KeychainFailure)

    /// The value of the first item that matches; nil for an item without a value.
    ///
    /// - Throws: `itemNotFound` if no item matches.
    func value(_ query: ItemQuery) throws(KeychainFailure) -> Data?

    /// The persistent reference of the first item that matches.
    ///
    /// - Throws: `itemNotFound` if no item matches.
    func reference(_ query: ItemQuery) throws(KeychainFailure) -> Data

    /// The accounts of all items that match, without those that are not text.
    ///
    /// - Throws: `itemNotFound` if no item matches.
    func accounts(_ query: ItemQuery) throws(KeychainFailure) -> [String]

    /// Deletes every item that matches.
    ///
    /// - Throws: `itemNotFound` if no item matches.
    func delete(_ query: ItemQuery) throws(KeychainFailure)
}
