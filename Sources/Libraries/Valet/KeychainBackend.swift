// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// The calls of a keychain that valets need: `StoreKeychain` on Linux, `SecItemKeychain` on Apple's
/// systems and for dictionaries.
///
/// Calls with an `Authentication` are for items with an access control.
protocol KeychainBackend: Sendable {
    /// Adds an item, or gives the item with its primary key this value and keeps the rest.
    ///
    /// - Throws: `duplicateItem` if that item has another protection class.
    func set(_ item: NewItem, value: Data) throws(KeychainFailure)

    /// Adds or replaces an item with an access control. Does not ask the user; an access control
    /// for the current set of fingers binds the item to those that are enrolled now.
    ///
    /// - Throws: `duplicateItem` if the item exists with another protection class.
    func set(
        _ item: NewItem, value: Data, _ authentication: Authentication
    ) throws(KeychainFailure)

    /// The value of the item with that name; nil for an item without a value.
    ///
    /// - Throws: `itemNotFound` if there is no such item.
    func value(of name: PasswordName) throws(KeychainFailure) -> Data?

    /// The value of the item with that name and an access control; nil for an item without a value.
    /// Asks the user and waits, unless the authentication holds a proof already.
    ///
    /// - Throws: `itemNotFound` if there is no such item, or if it is bound to fingers that are no
    ///   longer enrolled; `userCancelled`, `authenticationFailed`.
    func value(
        of name: PasswordName, _ authentication: Authentication
    ) throws(KeychainFailure) -> Data?

    /// Sets all items as ``set(_:value:)`` sets one, or leaves the keychain unchanged.
    func set(_ items: [(item: NewItem, value: Data)]) throws(KeychainFailure)

    /// The values of the items with these accounts, as they were at one moment where the platform
    /// has transactions. Leaves out accounts without an item or a value.
    func values(
        of accounts: Set<String>, in service: PasswordService
    ) throws(KeychainFailure) -> [String: Data]

    /// Whether there is an item with that name. Opens no value.
    func contains(_ name: PasswordName) throws(KeychainFailure) -> Bool

    /// Whether there is an item with that name and an access control. Does not ask the user. False
    /// for an item that is bound to fingers that are no longer enrolled.
    func contains(
        _ name: PasswordName, _ authentication: Authentication
    ) throws(KeychainFailure) -> Bool

    /// The accounts of a service's items, without those that are not text; empty if there are none.
    func accounts(of service: PasswordService) throws(KeychainFailure) -> [String]

    /// The accounts of a service's items with an access control, without those that are not text;
    /// empty if there are none. Asks the user, unless the authentication holds a proof already.
    func accounts(
        of service: PasswordService, _ authentication: Authentication
    ) throws(KeychainFailure) -> [String]

    /// The items that match, at least one, in no order.
    ///
    /// - Throws: `itemNotFound` if none matches; `damaged` if values are asked for and one of the
    ///   items is damaged.
    func copy(_ query: ItemQuery, withValues: Bool) throws(KeychainFailure) -> [FoundItem]

    /// The items that match and have an access control, with their values. Asks the user once,
    /// unless the authentication holds a proof already.
    ///
    /// - Throws: `itemNotFound` if none matches; `damaged` if one of the items is damaged;
    ///   `userCancelled`, `authenticationFailed`.
    func copy(
        _ query: ItemQuery, _ authentication: Authentication
    ) throws(KeychainFailure) -> [FoundItem]

    /// The items that a SecItem dictionary without limit and return keys finds, with their values.
    ///
    /// - Throws: `itemNotFound` if none matches; `damaged` if one of the items is damaged.
    func copy(matching dictionary: [String: Any]) throws(KeychainFailure) -> [FoundItem]

    /// Deletes every item that matches.
    ///
    /// - Throws: `itemNotFound` if none matches.
    func delete(_ query: ItemQuery) throws(KeychainFailure)

    /// Makes every change of a transfer, or leaves the keychain unchanged.
    ///
    /// - Throws: `itemNotFound` if an item cannot be removed, or differs from what was read.
    func perform(_ transfer: Transfer) throws(KeychainFailure)
}

/// The common parts of both backends, with the errors of valets.
extension KeychainBackend {
    /// Deletes every item that matches, if any does.
    func deleteAny(_ query: ItemQuery) throws(KeychainError) {
        do {
            try delete(query)
        } catch  where error.code == .itemNotFound {
            return
        } catch {
            throw KeychainError(error)
        }
    }

    /// Whether the keychain works for these items. Stores the canary if it does not exist.
    func canAccess(_ items: PasswordService) -> Bool {
        let value = Data(ServiceName.canaryValue.utf8)
        return items.canAccess(
            read: { name throws(KeychainFailure) in
                try self.value(of: name).map { $0 == value }
            },
            store: { item throws(KeychainFailure) in try set(item, value: value) },
            readAll: { query throws(KeychainFailure) in
                try copy(query, withValues: true).allSatisfy { $0.value == value }
            })
    }

    /// The items that a SecItem dictionary finds, with their values.
    func find(_ dictionary: [String: Any]) throws(KeychainError) -> [FoundItem] {
        try translating { () throws(KeychainFailure) in
            try copy(matching: dictionary)
        }
    }

    /// The items that match and have an access control, with their values.
    func find(
        _ query: ItemQuery, _ authentication: Authentication
    ) throws(KeychainError) -> [FoundItem] {
        try translating { () throws(KeychainFailure) in
            try copy(query, authentication)
        }
    }

    /// The items that match, with their values.
    func find(_ query: ItemQuery) throws(KeychainError) -> [FoundItem] {
        try translating { () throws(KeychainFailure) in
            try copy(query, withValues: true)
        }
    }
}

extension KeychainFailure {
    /// Why a text cannot be returned although bytes are stored.
    static let valueIsNotUTF8 = KeychainFailure(
        .itemNotFound, during: "read an item", message: "the value is not UTF-8")
}

/// An item that a search found.
struct FoundItem {
    /// Text, bytes (`Data`) or a number.
    let account: AnyHashable
    /// Text in every item that a valet wrote.
    let service: AnyHashable
    let accessGroup: String?
    let isSynchronizable: Bool
    let protectionClass: ProtectionClass?
    /// In seconds since 2001. Together with the reference it names a version of the item.
    let modificationDate: Double?
    /// nil for an item without a value, and when no values were asked for.
    let value: Data?
    /// The persistent reference, which names the item until it is deleted.
    let reference: Data
    /// Adds the item again; empty where removing is part of a transaction.
    let dictionary: [String: Any]
}

extension FoundItem: MigratableItem {
    var accountText: String? { account.base as? String }
    var serviceText: String? { service.base as? String }
    var groupName: String? { accessGroup }
    var knownClass: ProtectionClass? { protectionClass }
}

extension Data: MigratableValue {
    func isEqual(to other: Data) -> Bool { self == other }
}

/// The changes that a migration makes in one step.
typealias Transfer = MigrationPlan<FoundItem>

/// Runs `body` with the errors of valets.
func translating<R>(_ body: () throws(KeychainFailure) -> R) throws(KeychainError) -> R {
    do {
        return try body()
    } catch {
        throw KeychainError(error)
    }
}
