// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel
internal import ValetSecItemRequests

/// The rules of migrations that need no keychain.
enum Migration {
    typealias Transform = (MigratableKeyValuePair<AnyHashable>) throws ->
        MigratableKeyValuePair<String>?

    /// Leaves pairs as they are.
    ///
    /// - Throws: ``MigrationError/keyToMigrateInvalid`` for a key that is not text.
    static func keep(
        _ pair: MigratableKeyValuePair<AnyHashable>
    ) throws(MigrationError) -> MigratableKeyValuePair<String> {
        guard let key = pair.key.base as? String else { throw .keyToMigrateInvalid }
        return MigratableKeyValuePair(key: key, value: pair.value)
    }

    /// What is to be stored, beside the item that it comes from.
    ///
    /// Items without a value are left out: there is nothing to store. `transform` sees all others,
    /// whatever their account is.
    ///
    /// - Throws: ``MigrationError`` for empty keys and values and for a key that comes twice, and
    ///   whatever `transform` throws. An empty value is found before `transform` sees any.
    static func pairs(
        from items: [FoundItem], _ transform: Transform
    ) throws -> [(source: FoundItem, pair: MigratableKeyValuePair<String>)] {
        let found = items.compactMap { item in item.value.map { (item, $0) } }
        guard found.allSatisfy({ !$1.isEmpty }) else { throw MigrationError.dataToMigrateInvalid }
        var keys: Set<String> = []
        return try found.compactMap { item, value in
            let pair = MigratableKeyValuePair(key: item.account, value: value)
            guard let pair = try transform(pair) else { return nil }
            guard !pair.key.isEmpty else { throw MigrationError.keyToMigrateInvalid }
            guard !pair.value.isEmpty else { throw MigrationError.dataToMigrateInvalid }
            guard keys.insert(pair.key).inserted else {
                throw MigrationError.duplicateKeyToMigrate
            }
            return (item, pair)
        }
    }

    /// Takes the boxes off a query's values and checks that a migration can work with it.
    ///
    /// - Throws: ``MigrationError/invalidQuery`` unless it is for generic passwords and leaves
    ///   limit and return types to the migration.
    static func dictionary(
        _ query: [String: AnyHashable]
    ) throws(MigrationError) -> [String: Any] {
        let demands: [(key: String, refused: Bool)] = [
            (SecItemKey.returnData, true), (SecItemKey.returnAttributes, false),
            (SecItemKey.returnReference, true), (SecItemKey.returnPersistentReference, false),
        ]
        guard query[SecItemKey.itemClass]?.base as? String == ItemClass.genericPassword.code,
            query[SecItemKey.limit]?.base as? String != SecItemKey.limitOne,
            query[SecItemKey.limit]?.base as? Int != 1,
            query[Attribute.accessControl.rawValue] == nil,
            demands.allSatisfy({ flag(query[$0.key]) != $0.refused })
        else { throw .invalidQuery }
        return query.mapValues(\.base)
    }

    private static func flag(_ value: AnyHashable?) -> Bool? {
        (value?.base as? NSNumber)?.boolValue
    }
}
