// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import KeychainModel

/// Where a migration stores what it found.
struct MigrationDestination {
    let backend: any KeychainBackend
    /// The item that a value is stored in under a key.
    let item: (_ key: String) -> NewItem
    /// Whether something is stored under one of the keys.
    let hasAny: (_ keys: Set<String>) throws(KeychainError) -> Bool

    /// Stores `items`, all or none; removes all of them from where they are, or none.
    func migrate(
        _ items: [FoundItem], removing: Bool, _ transform: Migration.Transform = Migration.keep
    ) throws {
        let canary: AnyHashable = ServiceName.canaryAccount
        let items = items.filter { $0.account != canary }
        guard !items.isEmpty else { throw KeychainError.itemNotFound }
        let pairs = try Migration.pairs(from: items, transform)
        guard !pairs.isEmpty else { return }
        guard try !hasAny(Set(pairs.map(\.key))) else {
            throw MigrationError.keyToMigrateAlreadyExistsInValet
        }
        try store(pairs, removing: removing ? items : [])
    }

    private func store(
        _ pairs: [MigratableKeyValuePair<String>], removing items: [FoundItem]
    ) throws {
        do throws(TransferFailure) {
            try backend.add(pairs.map { (item($0.key), $0.value) }, removing: items)
        } catch {
            switch error {
            case .adding(let failure) where failure.code == .duplicateItem:
                throw MigrationError.keyToMigrateAlreadyExistsInValet
            case .adding(let failure): throw KeychainError(failure)
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

    /// The items with their values that match.
    func find(_ query: ItemQuery) throws(KeychainError) -> [FoundItem] {
        do {
            return try copy(query, withValues: true)
        } catch {
            throw KeychainError(error)
        }
    }
}
