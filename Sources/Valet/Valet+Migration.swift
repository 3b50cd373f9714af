// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import KeychainModel

extension Valet {
    /// Copies the generic passwords that a query finds into this valet, as `compactMap` has them.
    ///
    /// - Parameters:
    ///   - query: A SecItem dictionary. It names `kSecClassGenericPassword`, holds no access
    ///     control, and leaves `kSecMatchLimit` and the `kSecReturn…` keys to the migration.
    ///   - compactMap: Gets each account with its value, and returns the key and the value to store
    ///     or nil to leave the item out.
    /// - Throws: ``MigrationError``; ``KeychainError/itemNotFound`` when nothing is found, and
    ///   other ``KeychainError``s; what `compactMap` throws. The keychain is then as it was.
    public func migrateObjects(
        matching query: [String: AnyHashable],
        compactMap: (MigratableKeyValuePair<AnyHashable>) throws -> MigratableKeyValuePair<String>?
    ) throws {
        try migrate(try backend.find(try Migration.dictionary(query)), removing: false, compactMap)
    }

    /// Copies the generic passwords that a query finds into this valet.
    ///
    /// - Parameters:
    ///   - query: A SecItem dictionary. It names `kSecClassGenericPassword`, holds no access
    ///     control, and leaves `kSecMatchLimit` and the `kSecReturn…` keys to the migration.
    ///   - removeOnCompletion: Whether what was copied is removed from where it was.
    /// - Throws: ``MigrationError``; ``KeychainError/itemNotFound`` when nothing is found, and
    ///   other ``KeychainError``s. The keychain is then as it was.
    public func migrateObjects(
        matching query: [String: AnyHashable], removeOnCompletion: Bool
    ) throws {
        try migrate(try backend.find(try Migration.dictionary(query)), removing: removeOnCompletion)
    }

    /// Copies the items of another valet into this one, as `compactMap` has them.
    ///
    /// - Parameters:
    ///   - valet: Another valet; this one itself has its keys already.
    ///   - compactMap: Gets each key with its value, and returns the key and the value to store or
    ///     nil to leave the item out.
    /// - Throws: ``MigrationError``; ``KeychainError/itemNotFound`` when nothing is found, and
    ///   other ``KeychainError``s; what `compactMap` throws. The keychain is then as it was.
    public func migrateObjects(
        from valet: Valet,
        compactMap: (MigratableKeyValuePair<AnyHashable>) throws -> MigratableKeyValuePair<String>?
    ) throws {
        try migrate(try backend.find(valet.query), removing: false, compactMap)
    }

    /// Copies the items of another valet into this one.
    ///
    /// - Parameters:
    ///   - valet: Another valet; this one itself has its keys already.
    ///   - removeOnCompletion: Whether what was copied is removed from the other valet.
    /// - Throws: ``MigrationError``; ``KeychainError/itemNotFound`` when nothing is found, and
    ///   other ``KeychainError``s. The keychain is then as it was.
    public func migrateObjects(from valet: Valet, removeOnCompletion: Bool) throws {
        try migrate(try backend.find(valet.query), removing: removeOnCompletion)
    }

    /// Copies the items that this valet kept with the retired accessibility "always".
    ///
    /// - Parameter removeOnCompletion: Whether the old items are removed.
    /// - Throws: What ``migrateObjects(from:removeOnCompletion:)`` throws.
    public func migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion: Bool) throws {
        let old = retired("AccessibleAlways", .always)
        try migrate(try backend.find(old), removing: removeOnCompletion)
    }

    /// Copies the items that this valet kept with the retired accessibility "always, this device
    /// only".
    ///
    /// - Parameter removeOnCompletion: Whether the old items are removed.
    /// - Throws: What ``migrateObjects(from:removeOnCompletion:)`` throws.
    public func migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(
        removeOnCompletion: Bool
    ) throws {
        let old = retired("AccessibleAlwaysThisDeviceOnly", .alwaysThisDeviceOnly)
        try migrate(try backend.find(old), removing: removeOnCompletion)
    }
}

extension Valet {
    private func retired(
        _ accessibility: String, _ protectionClass: ProtectionClass
    ) -> ItemQuery {
        var query = query
        query.attributes[.service] = .text(configuration.service(accessibility))
        query.protectionClass = protectionClass
        return query
    }

    /// Stores `items` here, all or none; removes all of them from where they are, or none.
    func migrate(
        _ items: [FoundItem], removing: Bool, _ transform: Migration.Transform = Migration.keep
    ) throws {
        let destination = MigrationDestination(
            backend: backend, item: sandbox.item,
            hasAny: { keys throws(KeychainError) in
                try !self.keysOfAllAccessibilities().isDisjoint(with: keys)
            })
        try destination.migrate(items, removing: removing, transform)
    }

    /// Keys of an explicitly set identifier are unique among all accessibilities.
    private func keysOfAllAccessibilities() throws(KeychainError) -> Set<String> {
        var query = query
        query.protectionClass = nil
        do {
            let items = try backend.copy(query, withValues: false)
            return Set(items.compactMap { $0.account.base as? String })
        } catch  where error.code == .itemNotFound {
            return []
        } catch {
            throw KeychainError(error)
        }
    }
}
