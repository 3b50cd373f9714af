// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet

struct Valets {
    let identifier = Identifier(nonEmpty: "Druidia")!
    let group = SharedGroupIdentifier(appIDPrefix: "AppID12345", nonEmptyGroup: "com.example")!

    var all: [Valet] {
        [
            Valet.valet(with: identifier, accessibility: .whenUnlocked),
            Valet.iCloudValet(with: identifier, accessibility: .whenUnlocked),
            Valet.sharedGroupValet(with: group, accessibility: .whenPasscodeSetThisDeviceOnly),
            Valet.sharedGroupValet(
                with: group, identifier: identifier, accessibility: .afterFirstUnlock),
            Valet.iCloudSharedGroupValet(with: group, accessibility: .afterFirstUnlock),
            Valet.iCloudSharedGroupValet(
                with: group, identifier: identifier, accessibility: .afterFirstUnlock),
            Valet.valet(
                withExplicitlySet: identifier, accessibility: .whenUnlockedThisDeviceOnly),
            Valet.iCloudValet(withExplicitlySet: identifier, accessibility: .whenUnlocked),
            Valet.sharedGroupValet(
                withExplicitlySet: group, accessibility: .afterFirstUnlockThisDeviceOnly),
            Valet.iCloudSharedGroupValet(withExplicitlySet: group, accessibility: .whenUnlocked),
        ]
    }

    func everyAccessibility() -> [Valet] {
        Accessibility.allCases.map { Valet.valet(with: identifier, accessibility: $0) }
            + CloudAccessibility.allCases.map {
                Valet.iCloudValet(with: identifier, accessibility: $0)
            }
    }

    func areEqual(_ one: Valet, _ other: Valet) -> Bool {
        one == other && one.hash == other.hash && one.accessibility == other.accessibility
            && one.identifier.description == other.identifier.description
    }

    func inDictionary(_ valet: Valet) -> [Valet: String] {
        [valet: valet.accessibility.secAccessibilityAttribute]
    }
}

final class Migrator: NSObject {
    func migrate(from old: Valet, to new: Valet) throws {
        try new.migrateObjects(from: old, removeOnCompletion: true)
        try new.migrateObjects(from: old) { pair in
            guard let key = pair.key as? String else { return nil }
            return MigratableKeyValuePair(key: key.lowercased(), value: pair.value)
        }
        try new.migrateObjects(from: old) {
            MigratableKeyValuePair<String>(key: "\($0.key)", value: "text")
        }
        try new.migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion: true)
        try new.migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(removeOnCompletion: true)
    }

    func migrate(query: [String: AnyHashable], to new: Valet) -> Bool {
        do {
            try new.migrateObjects(matching: query, removeOnCompletion: true)
            try new.migrateObjects(matching: query, compactMap: { _ in nil })
            return true
        } catch let error as MigrationError {
            print(error)
            return false
        } catch KeychainError.itemNotFound {
            return true
        } catch {
            return false
        }
    }
}
