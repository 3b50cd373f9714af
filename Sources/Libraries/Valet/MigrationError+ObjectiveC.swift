// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// Why items were not migrated. The keychain is unchanged then.
///
/// The raw values are part of the Objective-C interface and never change.
#if canImport(ObjectiveC)
    @objc(VALMigrationResult)
#endif
public enum MigrationError: Int, CaseIterable, Error, Sendable {
    /// The query is empty, is not for generic passwords, or holds a key that a migration sets.
    case invalidQuery
    /// A key is empty, or is not text.
    case keyToMigrateInvalid
    /// A value is empty.
    case dataToMigrateInvalid
    /// Two items have the same key.
    case duplicateKeyToMigrate
    /// A key exists in the valet already.
    case keyToMigrateAlreadyExistsInValet
    /// The migrated items could not be removed from their old place.
    case removalFailed
}

extension MigrationError: CustomStringConvertible {
    init?(_ failure: KeychainFailure) {
        guard let number = failure.migrationErrorNumber else { return nil }
        self.init(rawValue: number)
    }

    /// `MigrationError.` and the name of the case.
    public var description: String {
        switch self {
        case .invalidQuery: "MigrationError.invalidQuery"
        case .keyToMigrateInvalid: "MigrationError.keyToMigrateInvalid"
        case .dataToMigrateInvalid: "MigrationError.dataToMigrateInvalid"
        case .duplicateKeyToMigrate: "MigrationError.duplicateKeyToMigrate"
        case .keyToMigrateAlreadyExistsInValet: "MigrationError.keyToMigrateAlreadyExistsInValet"
        case .removalFailed: "MigrationError.removalFailed"
        }
    }
}
