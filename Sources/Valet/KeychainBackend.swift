// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// What a valet asks of the keychain that the platform has.
protocol KeychainBackend: Sendable {
    /// Adds an item, or gives the item that has its primary key this value and keeps the rest.
    ///
    /// - Throws: `duplicateItem` if that item has another protection class.
    func set(_ item: NewItem, value: Data) throws(KeychainFailure)

    /// The same of an item that a person has to be there for. The person is not asked; where
    /// fingers count, those that are enrolled now do.
    func set(
        _ item: NewItem, value: Data, _ authentication: Authentication
    ) throws(KeychainFailure)

    /// The value of the item of that name; nil for an item without one.
    ///
    /// - Throws: `itemNotFound` if there is none.
    func value(of name: PasswordName) throws(KeychainFailure) -> Data?

    /// The value of the item of that name, which a person has to be there for; nil for an item
    /// without one. Waits for the person, unless the authentication is one already.
    ///
    /// - Throws: `itemNotFound` if there is none, also of an item that is bound to fingers which
    ///   are enrolled no longer; `userCancelled`, `authenticationFailed`.
    func value(
        of name: PasswordName, _ authentication: Authentication
    ) throws(KeychainFailure) -> Data?

    /// Sets all items as ``set(_:value:)`` sets one, or leaves the keychain as it was.
    func set(_ items: [(item: NewItem, value: Data)]) throws(KeychainFailure)

    /// The values of the items with these accounts, of one moment where the platform can; what is
    /// not there, or has no value, is missing.
    func values(
        of accounts: Set<String>, in service: PasswordService
    ) throws(KeychainFailure) -> [String: Data]

    /// Whether there is an item of that name; opens no value.
    func contains(_ name: PasswordName) throws(KeychainFailure) -> Bool

    /// The same of an item that demands a person; nobody is asked. An item that is
    /// bound to fingers which are enrolled no longer is none.
    func contains(
        _ name: PasswordName, _ authentication: Authentication
    ) throws(KeychainFailure) -> Bool

    /// The accounts of a service's items, as far as they are text; none if there are none.
    func accounts(of service: PasswordService) throws(KeychainFailure) -> Set<String>

    /// The same of items that a person has to be there for.
    func accounts(
        of service: PasswordService, _ authentication: Authentication
    ) throws(KeychainFailure) -> Set<String>

    /// The items that match, at least one, in no order.
    ///
    /// - Throws: `itemNotFound` if none matches; `damaged` if values are asked for and one of the
    ///   items is damaged.
    func copy(_ query: ItemQuery, withValues: Bool) throws(KeychainFailure) -> [FoundItem]

    /// The items with their values that match, which need a person. Asks once, unless the
    /// authentication has a proof already.
    ///
    /// - Throws: As ``copy(_:withValues:)``; `userCancelled`, `authenticationFailed`.
    func copy(
        _ query: ItemQuery, _ authentication: Authentication
    ) throws(KeychainFailure) -> [FoundItem]

    /// The items with their values that a SecItem dictionary without limit and return keys finds.
    ///
    /// - Throws: `itemNotFound` if none matches; `damaged` if one of the items is damaged.
    func copy(matching dictionary: [String: Any]) throws(KeychainFailure) -> [FoundItem]

    /// Deletes every item that matches.
    ///
    /// - Throws: `itemNotFound` if none matches.
    func delete(_ query: ItemQuery) throws(KeychainFailure)

    /// Does everything that a transfer says, or leaves the keychain as it was.
    func perform(_ transfer: Transfer) throws(TransferFailure)
}

/// An item as a search found it.
struct FoundItem {
    /// Text, bytes (`Data`) or a number.
    let account: AnyHashable
    /// Text whenever a valet wrote the item.
    let service: AnyHashable
    let accessGroup: String?
    let isSynchronizable: Bool
    let protectionClass: ProtectionClass?
    /// In seconds since 2001; with the reference, it names a version of the item.
    let modificationDate: Double?
    /// nil for an item without a value, and when no values were asked for.
    let value: Data?
    /// The persistent reference: names the item until it is deleted.
    let reference: Data
    /// What it takes to add the item again; empty where removing is part of a transaction.
    let dictionary: [String: Any]
}

/// What a migration does in one step.
struct Transfer {
    /// Items to store.
    var additions: [(item: NewItem, value: Data)] = []
    /// Items that keep their name and get the protection class and the access control of `item`.
    var changes: [(found: FoundItem, item: NewItem)] = []
    /// Items to remove.
    var removals: [FoundItem] = []

    var isEmpty: Bool { additions.isEmpty && changes.isEmpty && removals.isEmpty }
}

/// Which part of a transfer did not work.
enum TransferFailure: Error {
    /// Storing an item or changing one.
    case storing(KeychainFailure)
    /// An item could not be removed, or is no longer as it was found.
    case removing(KeychainFailure)
}
