// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel
internal import ValetSecItemRequests

extension Valet {
    /// Copies the generic passwords that a query finds into this valet, as `compactMap` has them.
    ///
    /// - Parameters:
    ///   - query: A SecItem dictionary. It names `kSecClassGenericPassword`, holds no access
    ///     control, and leaves `kSecMatchLimit` and the `kSecReturn…` keys to the migration.
    ///   - compactMap: Gets each account that has a value, with the value, and returns the key and
    ///     the value to store or nil to leave the item out. An account may be text, `Data` or a
    ///     number, and may be empty. An empty value ends the migration before it is called.
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
    ///   - compactMap: Gets each account that has a value, with the value, and returns the key and
    ///     the value to store or nil to leave the item out. An account may be text, `Data` or a
    ///     number, and may be empty. An empty value ends the migration before it is called.
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
    /// A valet of the same explicitly set identifier and another accessibility can be migrated with
    /// removal: the items change their accessibility where they are, all or none. Without removal
    /// each key would be there twice, which it cannot be.
    ///
    /// Items without a value stay where they are. The canary of ``canAccessKeychain()`` is not
    /// copied; it goes when the others are removed.
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
        let items = try retired("AccessibleAlways", .always)
        try migrate(items, removing: removeOnCompletion)
    }

    /// Copies the items that this valet kept with the retired accessibility "always, this device
    /// only".
    ///
    /// - Parameter removeOnCompletion: Whether the old items are removed.
    /// - Throws: What ``migrateObjects(from:removeOnCompletion:)`` throws.
    public func migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(
        removeOnCompletion: Bool
    ) throws {
        let items = try retired("AccessibleAlwaysThisDeviceOnly", .alwaysThisDeviceOnly)
        try migrate(items, removing: removeOnCompletion)
    }
}

extension Valet {
    /// What this valet kept with a retired accessibility.
    ///
    /// On macOS the service alone tells which items those are, if it names the accessibility: the
    /// system may have given them another class since then, or they may still be in a file.
    func retired(
        _ accessibility: String, _ protectionClass: ProtectionClass,
        inFiles searchesFiles: Bool = Platform.hasFileKeychain
    ) throws(KeychainError) -> [FoundItem] {
        let service = configuration.service(accessibility)
        var query = query
        query.attributes[.service] = .text(service)
        query.protectionClass = protectionClass
        guard searchesFiles, service != sandbox.service else { return try backend.find(query) }
        query.protectionClass = nil
        do throws(KeychainError) {
            return try backend.find(query)
        } catch {
            guard error == .itemNotFound else { throw error }
            return try itemsInFiles(of: service)
        }
    }

    /// The items of a service in the keychain that macOS keeps in files. It knows neither
    /// protection classes nor access groups nor synchronization: to ask for those finds nothing.
    func itemsInFiles(of service: String) throws(KeychainError) -> [FoundItem] {
        try backend.find([
            SecItemKey.itemClass: ItemClass.genericPassword.code,
            Attribute.service.rawValue: service,
            SecItemKey.usesDataProtectionKeychain: false,
        ])
    }

    /// Stores `items` here, all or none; removes all of them from where they are, or none.
    func migrate(
        _ items: [FoundItem], removing: Bool, _ transform: Migration.Transform = Migration.keep
    ) throws {
        let destination = MigrationDestination(
            backend: backend, sandbox: sandbox, item: sandbox.item,
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
