// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet

protocol TokenStoring {
    func token() -> String?
    func save(token: String) throws
}

final class TokenStore: TokenStoring, Sendable {
    static let shared = TokenStore()

    private let valet = Valet.valet(
        with: Identifier(nonEmpty: "TokenStore")!, accessibility: .afterFirstUnlock)

    func token() -> String? {
        try? valet.string(forKey: "token")
    }

    func save(token: String) throws {
        try valet.setString(token, forKey: "token")
    }

    func migrate(from old: Valet) {
        do {
            try valet.migrateObjects(from: old, removeOnCompletion: true)
        } catch let error as KeychainError {
            print(error.description)
        } catch let error as MigrationError {
            print(error.description)
        } catch {
            print(error.localizedDescription)
        }
    }

    func remove() {
        do {
            try valet.removeObject(forKey: "token")
        } catch KeychainError.missingEntitlement {
            print("no entitlement")
        } catch {
            print("failed: \(error)")
        }
    }

    func data(for key: String) -> Data? {
        do {
            return try valet.object(forKey: key)
        } catch KeychainError.itemNotFound {
            return nil
        } catch {
            print(error.description, error.localizedDescription)
            return nil
        }
    }
}

func everyKey(of valet: Valet) -> [String] {
    guard valet.canAccessKeychain() else { return [] }
    return ((try? valet.allKeys()) ?? []).sorted()
}

func describe(_ error: KeychainError) -> String {
    switch error {
    case .couldNotAccessKeychain: return "could not access"
    case .userCancelled: return "cancelled"
    case .itemNotFound: return "not found"
    case .missingEntitlement: return "not entitled"
    case .emptyKey: return "empty key"
    case .emptyValue: return "empty value"
    }
}

func describe(_ error: MigrationError) -> String {
    switch error {
    case .invalidQuery: return "invalid query"
    case .keyToMigrateInvalid: return "invalid key"
    case .dataToMigrateInvalid: return "invalid data"
    case .duplicateKeyToMigrate: return "duplicate key"
    case .keyToMigrateAlreadyExistsInValet: return "key exists"
    case .removalFailed: return "removal failed"
    }
}
