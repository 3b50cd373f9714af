// SPDX-License-Identifier: Apache-2.0

extension MigrationError: CustomStringConvertible {
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
