// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// What the class asks of the keychain that the platform has.
protocol PasswordKeychain: Sendable {
    /// Gives the item that `query` finds the value and the class of `item`, or adds `item`; deletes
    /// what else `query` finds. There is no moment without the old value or the new one.
    func set(
        _ item: NewItem, value: Data, replacing query: ItemQuery
    ) throws(KeychainFailure)

    /// The value of the first item that matches; nil for an item without one.
    ///
    /// - Throws: `itemNotFound` if there is none.
    func value(_ query: ItemQuery) throws(KeychainFailure) -> Data?

    /// The persistent reference of the first item that matches.
    ///
    /// - Throws: `itemNotFound` if there is none.
    func reference(_ query: ItemQuery) throws(KeychainFailure) -> Data

    /// The accounts of all items that match, as far as they are text.
    ///
    /// - Throws: `itemNotFound` if no item matches.
    func accounts(_ query: ItemQuery) throws(KeychainFailure) -> [String]

    /// Deletes every item that matches.
    ///
    /// - Throws: `itemNotFound` if there is none.
    func delete(_ query: ItemQuery) throws(KeychainFailure)
}
