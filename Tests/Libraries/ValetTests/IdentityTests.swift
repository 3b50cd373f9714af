// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel

@testable internal import Valet

private let group = SharedGroupIdentifier.sample("ABC")

@Suite struct `Objects of valets` {
    private let name = Identifier.named(UUID().uuidString)

    @Test func `One configuration has one valet object while that is alive`() {
        let one = Valet.valet(with: name, accessibility: .whenUnlocked)
        let other = Valet.valet(with: name, accessibility: .whenUnlocked)
        #expect(one === other)
    }

    @Test func `A valet object that nobody holds is deallocated`() {
        weak let valet = Valet.valet(with: name, accessibility: .whenUnlocked)
        #expect(valet == nil)
    }

    @Test func `Many deallocated valets leave no entries in the registry`() {
        let registry = ValetRegistry()
        for number in 0..<1_000 {
            let name = Identifier.named("\(number)")
            let configuration = Configuration(.standard(name), .whenUnlocked)
            _ = registry.valet(configuration) {
                Valet(configuration, backend: Platform.backend)
            }
        }
        #expect(registry.count <= 64)
    }

    @Test func `Threads that ask for a valet at once get one object`() async {
        let name = name
        let valets = await withTaskGroup(of: Valet.self, returning: [Valet].self) { tasks in
            for _ in 0..<64 {
                tasks.addTask { Valet.valet(with: name, accessibility: .whenUnlocked) }
            }
            return await tasks.reduce(into: []) { $0.append($1) }
        }
        #expect(valets.allSatisfy { $0 === valets[0] })
    }

    @Test func `Valets with two accessibilities are two objects`() {
        let one = Valet.valet(with: name, accessibility: .whenUnlocked)
        let other = Valet.valet(with: name, accessibility: .afterFirstUnlock)
        #expect(one != other)
    }

    /// Swift calls the two texts equal. The keychain stores their bytes (spec/secitem.md §2.1).
    @Test func `Valets whose identifiers only look alike are two objects`() {
        let composed = Identifier.named("\(name)\u{E9}")
        let decomposed = Identifier.named("\(name)e\u{301}")
        #expect(composed != decomposed)
        let one = Valet.valet(with: composed, accessibility: .whenUnlocked)
        let other = Valet.valet(with: decomposed, accessibility: .whenUnlocked)
        #expect(one !== other && one != other)
        #expect(Array(other.identifier.description.utf8) == Array(decomposed.description.utf8))
    }

    @Test func `A synchronized valet and a local one are two objects`() {
        let one = Valet.valet(with: name, accessibility: .whenUnlocked)
        let other = Valet.iCloudValet(with: name, accessibility: .whenUnlocked)
        #expect(one != other)
    }

    @Test func `Valets with an explicitly set identifier and a plain one are two objects`() {
        let one = Valet.valet(with: name, accessibility: .whenUnlocked)
        let other = Valet.valet(withExplicitlySet: name, accessibility: .whenUnlocked)
        #expect(one != other)
    }

    @Test func `Two accessibilities of an explicitly set identifier are two objects`() {
        let one = Valet.valet(withExplicitlySet: name, accessibility: .whenUnlocked)
        let other = Valet.valet(withExplicitlySet: name, accessibility: .afterFirstUnlock)
        #expect(one != other)
    }

    @Test func `Valets of two shared groups with one name are two objects`() throws {
        let second = try #require(
            SharedGroupIdentifier(appIDPrefix: "XYZ", nonEmptyGroup: "com.example"))
        let one = Valet.sharedGroupValet(with: group, accessibility: .whenUnlocked)
        let other = Valet.sharedGroupValet(with: second, accessibility: .whenUnlocked)
        #expect(one != other)
    }

    @Test func `Valets that read and write the same items are equal, whatever their names`() throws
    {
        let one = Valet.valet(with: name, accessibility: .whenUnlocked)
        let service = try #require(Identifier(nonEmpty: one.sandbox.service))
        let other = Valet.valet(withExplicitlySet: service, accessibility: .whenUnlocked)
        #expect(one == other)
        #expect(one.hash == other.hash)
    }

    @Test func `The identifier of a valet is the one given`() {
        #expect(Valet.valet(with: name, accessibility: .whenUnlocked).identifier == name)
    }

    @Test func `The identifier of a shared group's valet carries the prefix`() throws {
        let group = try #require(
            SharedGroupIdentifier(appIDPrefix: "AppID12345", nonEmptyGroup: "Druidia"))
        let identifiers = [
            Valet.sharedGroupValet(with: group, accessibility: .whenUnlocked).identifier,
            Valet.iCloudSharedGroupValet(with: group, accessibility: .whenUnlocked).identifier,
            Valet.sharedGroupValet(withExplicitlySet: group, accessibility: .whenUnlocked)
                .identifier,
            Valet.iCloudSharedGroupValet(withExplicitlySet: group, accessibility: .whenUnlocked)
                .identifier,
            SecureEnclaveValet.sharedGroupValet(with: group, accessControl: .userPresence)
                .identifier,
            SinglePromptSecureEnclaveValet.sharedGroupValet(
                with: group, accessControl: .userPresence
            ).identifier,
        ]
        #expect(Set(identifiers.map(\.description)) == ["AppID12345.Druidia"])
    }

    @Test func `The service of a shared group's valet has no prefix`() {
        let valet = Valet.sharedGroupValet(with: group, accessibility: .whenUnlocked)
        #expect(valet.sandbox.service.hasSuffix("_com.example_AccessibleWhenUnlocked"))
        #expect(valet.sandbox.accessGroup?.rawValue == "ABC.com.example")
    }

    @Test func `The identifier of a shared group's valet is the one given`() {
        let valet = Valet.sharedGroupValet(
            with: group, identifier: name, accessibility: .whenUnlocked)
        #expect(valet.identifier == name)
    }

    @Test func `A valet describes itself by identifier, accessibility and kind`() {
        let local = Valet.valet(with: name, accessibility: .afterFirstUnlock)
        let cloud = Valet.iCloudValet(with: name, accessibility: .whenUnlocked)
        #expect(local.description == "\(name) AccessibleAfterFirstUnlock (Valet)")
        #expect(cloud.description == "\(name) AccessibleWhenUnlocked (iCloud)")
    }
}
