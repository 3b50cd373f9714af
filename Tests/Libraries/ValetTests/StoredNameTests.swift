// SPDX-License-Identifier: Apache-2.0

internal import Testing
internal import ValetKeychainModel

@testable internal import Valet

private let identifier = Identifier.named("id")
private let group = SharedGroupIdentifier.sample("ABC")

/// A valet, and the service that earlier versions stored its items under.
struct StoredName: Sendable {
    let valet: Valet
    let service: String

    static let all: [StoredName] = [
        StoredName(
            valet: .valet(with: identifier, accessibility: .whenUnlocked),
            service: "VAL_VALValet_initWithIdentifier:accessibility:_id_AccessibleWhenUnlocked"),
        StoredName(
            valet: .iCloudValet(with: identifier, accessibility: .afterFirstUnlock),
            service: "VAL_VALSynchronizableValet_initWithIdentifier:accessibility:_id_"
                + "AccessibleAfterFirstUnlock"),
        StoredName(
            valet: .sharedGroupValet(with: group, accessibility: .whenUnlocked),
            service: "VAL_VALValet_initWithSharedAccessGroupIdentifier:accessibility:_"
                + "com.example_AccessibleWhenUnlocked"),
        StoredName(
            valet: .sharedGroupValet(
                with: group, identifier: identifier, accessibility: .whenUnlocked),
            service: "VAL_VALValet_initWithSharedAccessGroupIdentifier:accessibility:_"
                + "com.example_id_AccessibleWhenUnlocked"),
        StoredName(
            valet: .iCloudSharedGroupValet(
                with: group, identifier: identifier, accessibility: .whenUnlocked),
            service: "VAL_VALSynchronizableValet_initWithSharedAccessGroupIdentifier:"
                + "accessibility:_com.example_id_AccessibleWhenUnlocked"),
        StoredName(
            valet: .iCloudSharedGroupValet(with: group, accessibility: .afterFirstUnlock),
            service: "VAL_VALSynchronizableValet_initWithSharedAccessGroupIdentifier:"
                + "accessibility:_com.example_AccessibleAfterFirstUnlock"),
        StoredName(
            valet: .valet(withExplicitlySet: identifier, accessibility: .whenUnlocked),
            service: "id"),
        StoredName(
            valet: .iCloudValet(withExplicitlySet: identifier, accessibility: .whenUnlocked),
            service: "id"),
        StoredName(
            valet: .sharedGroupValet(withExplicitlySet: group, accessibility: .whenUnlocked),
            service: "com.example"),
        StoredName(
            valet: .iCloudSharedGroupValet(
                withExplicitlySet: group, accessibility: .whenUnlocked),
            service: "com.example"),
    ]
}

@Suite struct `The stored names of a valet` {
    @Test(arguments: StoredName.all)
    func `The service of a valet is the one that earlier versions stored`(_ name: StoredName) {
        #expect(name.valet.sandbox.service == name.service)
    }

    @Test(arguments: Accessibility.allCases)
    func `The protection class of a valet's items is that of its accessibility`(
        _ accessibility: Accessibility
    ) {
        let valet = Valet.valet(with: identifier, accessibility: accessibility)
        #expect(
            valet.sandbox.protectionClass.code == accessibility.secAccessibilityAttribute)
        #expect(valet.accessibility == accessibility)
    }

    @Test func `The access group of a shared group's valet has the prefix`() {
        let valet = Valet.sharedGroupValet(with: group, accessibility: .whenUnlocked)
        #expect(valet.sandbox.accessGroup == AccessGroup("ABC.com.example"))
    }

    @Test func `A valet of one application names no access group`() {
        let valet = Valet.valet(with: identifier, accessibility: .whenUnlocked)
        #expect(valet.sandbox.accessGroup == nil)
    }

    @Test func `Only the items of iCloud valets are synchronizable`() {
        let cloud = Valet.iCloudValet(with: identifier, accessibility: .whenUnlocked)
        let local = Valet.valet(with: identifier, accessibility: .whenUnlocked)
        #expect(cloud.sandbox.isSynchronizable)
        #expect(!local.sandbox.isSynchronizable)
    }

    @Test func `The key of a valet is the account of the item`() {
        let valet = Valet.valet(with: identifier, accessibility: .whenUnlocked)
        #expect(valet.sandbox.item("key").attributes[.account] == .text("key"))
    }
}
