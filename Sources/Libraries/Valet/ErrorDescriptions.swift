// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainModel

// Most programs log `localizedDescription`.

extension KeychainError: LocalizedError {
    /// What is wrong, in words. If this thread's last failure has this error, what that failure
    /// says, with its hint.
    public var errorDescription: String? {
        if let last = Platform.lastFailure, KeychainError(last) == self {
            return last.localizedDescription
        }
        return switch self {
        case .couldNotAccessKeychain:
            "the keychain cannot be used: it is locked, damaged, busy, full or missing"
        case .userCancelled: "the user declined or could not authenticate"
        case .itemNotFound: "nothing is stored under that key"
        case .missingEntitlement: "the application may not use that access group"
        case .emptyKey: "the key is empty"
        case .emptyValue: "the value is empty"
        }
    }
}

extension MigrationError: LocalizedError {
    /// Why items were not migrated, in words.
    public var errorDescription: String? {
        let reason =
            switch self {
            case .invalidQuery:
                "the query is empty, is not for generic passwords, or has a key that a migration "
                    + "sets"
            case .keyToMigrateInvalid: "a key is empty, or is not text"
            case .dataToMigrateInvalid: "a value is empty"
            case .duplicateKeyToMigrate: "two items have the same key"
            case .keyToMigrateAlreadyExistsInValet: "a key exists in the valet already"
            case .removalFailed: "the migrated items could not be removed from their old place"
            }
        return "could not migrate: \(reason)"
    }
}

extension ValueCodingError: LocalizedError {
    /// As `description`.
    public var errorDescription: String? { description }
}
