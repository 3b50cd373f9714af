// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// Where a migration stores what it found.
struct MigrationDestination {
    let backend: any KeychainBackend
    let sandbox: PasswordService
    /// The item that a value is stored in under a key.
    let item: (_ key: String) -> NewItem
    /// Whether something is stored under one of the keys.
    let hasAny: (_ keys: Set<String>) throws(KeychainError) -> Bool

    /// Stores `items`, all or none; removes all of them from where they are, or none.
    ///
    /// An item that already has the name which it would get cannot be stored a second time. With
    /// removal it changes its class and access control in place.
    ///
    /// The canary is never copied; it is removed with the others. Items without a value stay where
    /// they are.
    func migrate(
        _ items: [FoundItem], removing: Bool, _ transform: Migration.Transform = Migration.keep
    ) throws {
        let canary: AnyHashable = ServiceName.canaryAccount
        let pairs = try Migration.pairs(from: items.filter { $0.account != canary }, transform)
        var transfer = Transfer()
        var added: Set<String> = []
        for (source, pair) in pairs {
            guard removing, holds(source) else {
                transfer.additions.append((item(pair.key), pair.value))
                added.insert(pair.key)
                if removing { transfer.removals.append(source) }
                continue
            }
            guard !owns(source) else { throw MigrationError.keyToMigrateAlreadyExistsInValet }
            transfer.changes.append((source, item(pair.key)))
        }
        if removing {
            transfer.removals += items.filter { $0.account == canary && !owns($0) }
        }
        guard try added.isEmpty || !hasAny(added) else {
            throw MigrationError.keyToMigrateAlreadyExistsInValet
        }
        try perform(transfer)
    }

    /// Whether an item has the name that it would get here.
    private func holds(_ found: FoundItem) -> Bool {
        // Byte by byte, as the keychain compares: texts that look alike may be two names.
        (found.service.base as? String)?.utf8.elementsEqual(sandbox.service.utf8) == true
            && found.isSynchronizable == sandbox.isSynchronizable
            && [found.accessGroup, nil].contains(sandbox.accessGroup?.rawValue)
    }

    /// Whether an item is one of this destination's already.
    private func owns(_ found: FoundItem) -> Bool {
        holds(found) && found.protectionClass == sandbox.protectionClass
    }

    private func perform(_ transfer: Transfer) throws {
        guard !transfer.isEmpty else { return }
        do throws(TransferFailure) {
            try backend.perform(transfer)
        } catch {
            switch error {
            case .storing(let failure) where failure.code == .duplicateItem:
                throw MigrationError.keyToMigrateAlreadyExistsInValet
            case .storing(let failure): throw KeychainError(storing: failure)
            case .removing: throw MigrationError.removalFailed
            }
        }
    }
}

extension KeychainBackend {
    /// The items with their values that a SecItem dictionary finds.
    func find(_ dictionary: [String: Any]) throws(KeychainError) -> [FoundItem] {
        do {
            return try copy(matching: dictionary)
        } catch {
            throw KeychainError(error)
        }
    }

    /// The items with their values that match, which need a person.
    func find(
        _ query: ItemQuery, _ authentication: Authentication
    ) throws(KeychainError) -> [FoundItem] {
        do {
            return try copy(query, authentication)
        } catch {
            throw KeychainError(error)
        }
    }

    /// The items with their values that match.
    func find(_ query: ItemQuery) throws(KeychainError) -> [FoundItem] {
        do {
            return try copy(query, withValues: true)
        } catch {
            throw KeychainError(error)
        }
    }
}
