// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// The calls of a keychain that valets need: `StoreKeychain` on Linux, `SecItemKeychain` on Apple's
/// systems and for dictionaries.
///
/// Items with an access control need an `Authentication`. With one, calls that return values or
/// accounts ask the user and wait, unless it holds a proof already; no other call asks.
protocol KeychainBackend: Sendable {
    /// Adds an item, or gives the item with its primary key this value and keeps the rest. An
    /// access control for the current set of fingers binds the item to those that are enrolled now.
    ///
    /// - Throws: `duplicateItem` if that item has another protection class.
    func set(
        _ item: NewItem, value: Data, _ authentication: Authentication?
    ) throws(KeychainFailure)

    /// The value of the item with that name; nil for an item without a value.
    ///
    /// - Throws: `itemNotFound` if there is no such item, or if it is bound to fingers that are no
    ///   longer enrolled; `userCancelled`, `authenticationFailed`.
    func value(
        of name: PasswordName, _ authentication: Authentication?
    ) throws(KeychainFailure) -> Data?

    /// Sets all items as ``set(_:value:_:)`` sets one, or leaves the keychain unchanged.
    func set(_ items: [(item: NewItem, value: Data)]) throws(KeychainFailure)

    /// The values of the items with these accounts, as they were at one moment where the platform
    /// has transactions. Leaves out accounts without an item or a value.
    func values(
        of accounts: Set<String>, in service: PasswordService
    ) throws(KeychainFailure) -> [String: Data]

    /// Whether there is an item with that name. Opens no value. False for an item that is bound to
    /// fingers that are no longer enrolled.
    func contains(
        _ name: PasswordName, _ authentication: Authentication?
    ) throws(KeychainFailure) -> Bool

    /// The accounts of a service's items, without those that are not text; empty if there are none.
    func accounts(
        of service: PasswordService, _ authentication: Authentication?
    ) throws(KeychainFailure) -> [String]

    /// The items that match, at least one, in no order. Asks the user once.
    ///
    /// - Throws: `itemNotFound` if none matches; `damaged` if values are asked for and one of the
    ///   items is damaged; `userCancelled`, `authenticationFailed`.
    func copy(
        _ query: ItemQuery, withValues: Bool, _ authentication: Authentication?
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

extension KeychainBackend {
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
                try self.value(of: name, nil).map { $0 == value }
            },
            store: { item throws(KeychainFailure) in try set(item, value: value, nil) },
            readAll: { query throws(KeychainFailure) in
                try copy(query, withValues: true, nil).allSatisfy { $0.value == value }
            })
    }

    func find(_ dictionary: [String: Any]) throws(KeychainError) -> [FoundItem] {
        try translating { () throws(KeychainFailure) in
            try copy(matching: dictionary)
        }
    }

    func find(
        _ query: ItemQuery, _ authentication: Authentication? = nil
    ) throws(KeychainError) -> [FoundItem] {
        try translating { () throws(KeychainFailure) in
            try copy(query, withValues: true, authentication)
        }
    }
}

extension KeychainFailure {
    static let valueIsNotUTF8 = KeychainFailure(
        .itemNotFound, during: "read an item", message: "the value is not UTF-8")
}

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
    /// A dictionary that adds the item again; empty where removing is part of a transaction.
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

typealias Transfer = MigrationPlan<FoundItem>

func translating<R>(_ body: () throws(KeychainFailure) -> R) throws(KeychainError) -> R {
    do {
        return try body()
    } catch {
        throw KeychainError(error)
    }
}
