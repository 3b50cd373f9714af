// SPDX-License-Identifier: Apache-2.0

// Copies or moves items into a valet: the public calls, the rules about queries, and the transfer
// that changes all items or none.

public import Foundation
internal import ValetAppleKeychainRequests
internal import ValetKeychainModel

extension Valet {
    /// Copies the generic passwords that a query finds into this valet, as `compactMap` changes
    /// them.
    ///
    /// - Parameters:
    ///   - query: A SecItem dictionary that names `kSecClassGenericPassword` and no access control.
    ///     The migration sets `kSecMatchLimit` and the `kSecReturn…` keys.
    ///   - compactMap: Called for each account that has a value. Returns the key and value to
    ///     store, or nil to leave the item out. An account may be text, `Data` or a number, and may
    ///     be empty. An empty value ends the migration before the first call.
    /// - Throws: ``MigrationError``; ``KeychainError/itemNotFound`` if nothing is found, and other
    ///   ``KeychainError``s; the errors of `compactMap`. The keychain is unchanged then.
    public func migrateObjects(
        matching query: [String: AnyHashable],
        compactMap: (MigratableKeyValuePair<AnyHashable>) throws -> MigratableKeyValuePair<String>?
    ) throws {
        try migrate(try backend.find(try Migration.dictionary(query)), removing: false) {
            try Migration.pair($0, $1, compactMap)
        }
    }

    /// Copies the generic passwords that a query finds into this valet.
    ///
    /// - Parameters:
    ///   - query: A SecItem dictionary that names `kSecClassGenericPassword` and no access control.
    ///     The migration sets `kSecMatchLimit` and the `kSecReturn…` keys.
    ///   - removeOnCompletion: Whether to remove the copied items from their old place.
    /// - Throws: ``MigrationError``; ``KeychainError/itemNotFound`` if nothing is found, and other
    ///   ``KeychainError``s. The keychain is unchanged then.
    public func migrateObjects(
        matching query: [String: AnyHashable], removeOnCompletion: Bool
    ) throws {
        try migrate(try backend.find(try Migration.dictionary(query)), removing: removeOnCompletion)
    }

    /// Copies the items of another valet into this one, as `compactMap` changes them.
    ///
    /// - Parameters:
    ///   - valet: Another valet. This valet itself is refused: it has the keys already.
    ///   - compactMap: Called for each account that has a value. Returns the key and value to
    ///     store, or nil to leave the item out. An account may be text, `Data` or a number, and may
    ///     be empty. An empty value ends the migration before the first call.
    /// - Throws: ``MigrationError``; ``KeychainError/itemNotFound`` if nothing is found, and other
    ///   ``KeychainError``s; the errors of `compactMap`. The keychain is unchanged then.
    public func migrateObjects(
        from valet: Valet,
        compactMap: (MigratableKeyValuePair<AnyHashable>) throws -> MigratableKeyValuePair<String>?
    ) throws {
        try migrate(try backend.find(valet.query), removing: false) {
            try Migration.pair($0, $1, compactMap)
        }
    }

    /// Copies the items of another valet into this one.
    ///
    /// From a valet with the same explicitly set identifier and another accessibility, migrate
    /// with removal: the items change their accessibility in place, all or none. Without removal
    /// each key would exist twice, which is refused.
    ///
    /// Items without a value stay where they are. The canary of ``canAccessKeychain()`` is not
    /// copied, and is removed with the other items.
    ///
    /// - Parameters:
    ///   - valet: Another valet. This valet itself is refused: it has the keys already.
    ///   - removeOnCompletion: Whether to remove the copied items from the other valet.
    /// - Throws: ``MigrationError``; ``KeychainError/itemNotFound`` if nothing is found, and other
    ///   ``KeychainError``s. The keychain is unchanged then.
    public func migrateObjects(from valet: Valet, removeOnCompletion: Bool) throws {
        try migrate(try backend.find(valet.query), removing: removeOnCompletion)
    }

    /// Copies the items that this valet stored with the retired accessibility "always".
    ///
    /// - Parameter removeOnCompletion: Whether to remove the old items.
    /// - Throws: The errors of ``migrateObjects(from:removeOnCompletion:)``.
    public func migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion: Bool) throws {
        let items = try retired(.always)
        try migrate(items, removing: removeOnCompletion)
    }

    /// Copies the items that this valet stored with the retired accessibility "always, this device
    /// only".
    ///
    /// - Parameter removeOnCompletion: Whether to remove the old items.
    /// - Throws: The errors of ``migrateObjects(from:removeOnCompletion:)``.
    public func migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(
        removeOnCompletion: Bool
    ) throws {
        let items = try retired(.alwaysThisDeviceOnly)
        try migrate(items, removing: removeOnCompletion)
    }

    /// The items that this valet stored with a retired accessibility.
    ///
    /// On macOS, if the service names the accessibility, the service alone selects the items: the
    /// system may have given them another class since then, or they may still be in a file.
    func retired(
        _ protectionClass: ProtectionClass, inFiles searchesFiles: Bool = Platform.hasFileKeychain
    ) throws(KeychainError) -> [FoundItem] {
        let items = configuration.identity.items(protectionClass)
        var query = items.query
        guard searchesFiles, items.service != sandbox.service else {
            return try backend.find(query)
        }
        query.protectionClass = nil
        do {
            return try backend.find(query)
        } catch {
            guard error == .itemNotFound else { throw error }
            return try itemsInFiles(of: items.service)
        }
    }

    /// The items of a service in the keychain that macOS keeps in files. That keychain knows no
    /// protection classes, access groups or synchronization: a query that names them finds nothing.
    func itemsInFiles(of service: String) throws(KeychainError) -> [FoundItem] {
        try backend.find([
            SecItemKey.itemClass: ItemClass.genericPassword.code,
            Attribute.service.rawValue: service,
            SecItemKey.usesDataProtectionKeychain: false,
        ])
    }

    /// Stores `items` here, all or none; removes all of them from their old place, or none.
    func migrate(
        _ items: [FoundItem], removing: Bool, _ transform: Migration.Transform = Transfer.keep
    ) throws {
        try backend.migrate(
            items, into: configuration.identity, removing: removing, { Authentication() }, transform
        )
    }
}

enum Migration {
    /// A key and its value, as the caller has changed them; nil leaves the item out.
    typealias Transform = (FoundItem, Data) throws -> (key: String, value: Data)?

    static func pair(
        _ item: FoundItem, _ value: Data,
        _ transform: (MigratableKeyValuePair<AnyHashable>) throws ->
            MigratableKeyValuePair<String>?
    ) throws -> (key: String, value: Data)? {
        try transform(MigratableKeyValuePair(key: item.account, value: value))
            .map { ($0.key, $0.value) }
    }

    /// `query` without the `AnyHashable` boxes around its values.
    ///
    /// - Throws: ``MigrationError/invalidQuery`` unless the query is for generic passwords and
    ///   leaves limit and return types to the migration.
    static func dictionary(
        _ query: [String: AnyHashable]
    ) throws(MigrationError) -> [String: Any] {
        let demands: [(key: String, refused: Bool)] = [
            (SecItemKey.returnData, true), (SecItemKey.returnAttributes, false),
            (SecItemKey.returnReference, true), (SecItemKey.returnPersistentReference, false),
        ]
        guard query[SecItemKey.itemClass]?.base as? String == ItemClass.genericPassword.code,
            query[SecItemKey.limit]?.base as? String != SecItemKey.limitOne,
            (query[SecItemKey.limit]?.base as? NSNumber)?.int64Value != 1,
            query[Attribute.accessControl.rawValue] == nil,
            demands.allSatisfy({ (query[$0.key]?.base as? NSNumber)?.boolValue != $0.refused })
        else { throw .invalidQuery }
        return query.mapValues(\.base)
    }
}

extension KeychainBackend {
    /// Stores `items` in `valet`, all or none; removes all of them from their old place, or none.
    ///
    /// - Parameter authentication: Makes the authentication with which the keys of an enclave valet
    ///   are looked up.
    func migrate(
        _ items: [FoundItem], into valet: ValetIdentity, removing: Bool,
        _ authentication: () -> Authentication, _ transform: Migration.Transform
    ) throws {
        var thrown: (any Error)?
        do {
            let transfer = try Transfer(items, into: valet, removing: removing) {
                item, value throws(KeychainFailure) in
                do {
                    return try transform(item, value)
                } catch {
                    thrown = error
                    throw KeychainFailure(.internalFault, during: "migrate items")
                }
            }
            try transfer.carryOut { (keys) throws(KeychainFailure) in
                try hasAny(keys, in: valet, authentication)
            } _: { (transfer) throws(KeychainFailure) in
                try perform(transfer)
            }
        } catch {
            if let refusal = MigrationError(thrown as? KeychainFailure ?? error) { throw refusal }
            throw thrown ?? KeychainError(error)
        }
    }

    private func hasAny(
        _ keys: Set<ExactName>, in valet: ValetIdentity, _ authentication: () -> Authentication
    ) throws(KeychainFailure) -> Bool {
        try valet.hasAny(
            keys,
            contains: { name throws(KeychainFailure) in try contains(name, authentication()) },
            search: { query throws(KeychainFailure) in
                try copy(query, withValues: false, nil)
            })
    }
}

/// A key and its value during a migration into a valet.
public struct MigratableKeyValuePair<Key: Hashable>: Hashable {
    /// The key. Valets use text; other items may have any account.
    public let key: Key
    /// The value's bytes.
    public let value: Data

    /// A pair of a key and bytes.
    public init(key: Key, value: Data) {
        self.key = key
        self.value = value
    }

    /// A pair of a key and text, which is stored as UTF-8.
    public init(key: Key, value: String) {
        self.init(key: key, value: Data(value.utf8))
    }
}

extension MigratableKeyValuePair: Sendable where Key: Sendable {}
