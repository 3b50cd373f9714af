// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel

@testable internal import Valet

@Suite struct `Keys of a valet` {
    @Test(arguments: TestBackend.enabled)
    func `A new valet has no keys`(_ backend: TestBackend) throws {
        #expect(try Sample(backend).valet().allKeys() == [])
    }

    @Test(arguments: TestBackend.enabled)
    func `The keys of a valet are those of the stored values`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        try valet.setString("1", forKey: "one")
        try valet.setString("2", forKey: "two")
        #expect(try valet.allKeys() == ["one", "two"])
    }

    @Test(arguments: TestBackend.enabled)
    func `The keys of a valet leave out accounts that are not text`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        let valet = sample.valet()
        try sample.plant(.bytes([1, 2]), Data([1]), in: valet)
        try sample.plant(.number(7), Data([1]), in: valet)
        try valet.setString("1", forKey: "one")
        #expect(try valet.allKeys() == ["one"])
    }

    @Test(arguments: TestBackend.enabled)
    func `The keys of a valet leave out the canary`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        #expect(valet.canAccessKeychain())
        #expect(try valet.allKeys() == [])
    }

    /// "K" and the Kelvin sign are one text in Swift, and two keys in a keychain.
    @Test(arguments: [TestBackend.store, .secItem].filter(TestBackend.enabled.contains))
    func `A key that looks like the canary's is listed and migrates`(_ backend: TestBackend) throws
    {
        let sample = Sample(backend)
        let (valet, other) = (sample.valet(.whenUnlocked), sample.valet(.afterFirstUnlock))
        let key = "VAL_\u{212A}eychainCanaryUsername"
        #expect(valet.canAccessKeychain())
        try valet.setString("1", forKey: key)
        #expect(try valet.allKeys().map { Array($0.utf8) } == [Array(key.utf8)])
        try other.migrateObjects(from: valet, removeOnCompletion: true)
        #expect(try other.string(forKey: key) == "1")
        #expect(try valet.allKeys() == [])
    }

    @Test(arguments: [TestBackend.store, .secItem].filter(TestBackend.enabled.contains))
    func `Keys that look alike migrate, each with its value`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        let (valet, other) = (sample.valet(.whenUnlocked), sample.valet(.afterFirstUnlock))
        try valet.setString("1", forKey: "é")
        try valet.setString("2", forKey: "e\u{301}")
        try other.migrateObjects(from: valet, removeOnCompletion: true)
        #expect(try other.string(forKey: "é") == "1")
        #expect(try other.string(forKey: "e\u{301}") == "2")
        try valet.setString("3", forKey: "é")
        #expect(throws: MigrationError.keyToMigrateAlreadyExistsInValet) {
            try other.migrateObjects(from: valet, removeOnCompletion: true)
        }
        try other.removeObject(forKey: "é")
        try other.migrateObjects(from: valet, removeOnCompletion: true)
        #expect(try other.string(forKey: "é") == "3")
    }

    @Test(arguments: TestBackend.enabled)
    func `A valet contains a key after it is stored`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        #expect(try valet.containsObject(forKey: "key") == false)
        try valet.setString("value", forKey: "key")
        #expect(try valet.containsObject(forKey: "key"))
    }

    @Test(arguments: TestBackend.enabled)
    func `A valet does not contain a key after it is removed`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        try valet.setString("1", forKey: "one")
        try valet.setString("2", forKey: "two")
        try valet.removeObject(forKey: "one")
        #expect(try valet.allKeys() == ["two"])
    }

    @Test(arguments: TestBackend.enabled)
    func `Removing a missing key works`(_ backend: TestBackend) throws {
        try Sample(backend).valet().removeObject(forKey: "key")
    }

    @Test(arguments: TestBackend.enabled)
    func `Removing all objects leaves none`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        try valet.setString("1", forKey: "one")
        try valet.setString("2", forKey: "two")
        try valet.removeAllObjects()
        #expect(try valet.allKeys() == [])
    }

    @Test(arguments: TestBackend.enabled)
    func `Removing all objects of an empty valet works`(_ backend: TestBackend) throws {
        try Sample(backend).valet().removeAllObjects()
    }

    @Test(arguments: TestBackend.enabled)
    func `Removing all objects removes the canary`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        #expect(valet.canAccessKeychain())
        try valet.removeAllObjects()
        #expect(try valet.containsObject(forKey: ServiceName.canaryAccount) == false)
    }
}
