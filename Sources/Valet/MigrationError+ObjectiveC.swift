// SPDX-License-Identifier: Apache-2.0

internal import Foundation

// The declaration stands in this file because its Objective-C name is an attribute under `#if`.

/// Why items were not migrated. The keychain is then as it was before.
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
    /// A key is there already.
    case keyToMigrateAlreadyExistsInValet
    /// What was migrated could not be removed from where it came from.
    case removalFailed
}
