// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel

@testable internal import Valet

/// Two valets in one keychain, the first with two keys.
struct Migrating {
    let sample: Sample
    let source: Valet
    let destination: Valet

    init(_ backend: TestBackend) throws {
        sample = Sample(backend)
        source = sample.valet(.afterFirstUnlock)
        destination = sample.valet(.whenUnlocked)
        try source.setString("1", forKey: "one")
        try source.setString("2", forKey: "two")
    }

    /// What the destination holds.
    var arrived: [String: String] {
        get throws {
            try destination.allKeys().reduce(into: [:]) {
                $0[$1] = try destination.string(forKey: $1)
            }
        }
    }
}

@Suite struct `Migrating from a valet` {
    @Test(arguments: TestBackend.enabled)
    func `Migrating from a valet copies every key`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        try valets.destination.migrateObjects(from: valets.source, removeOnCompletion: false)
        #expect(try valets.arrived == ["one": "1", "two": "2"])
        #expect(try valets.source.allKeys() == ["one", "two"])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating from a valet removes the copied items if asked to`(_ backend: TestBackend)
        throws
    {
        let valets = try Migrating(backend)
        try valets.destination.migrateObjects(from: valets.source, removeOnCompletion: true)
        #expect(try valets.arrived == ["one": "1", "two": "2"])
        #expect(try valets.source.allKeys() == [])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating from a valet keeps the items of the destination`(_ backend: TestBackend) throws
    {
        let valets = try Migrating(backend)
        try valets.destination.setString("3", forKey: "three")
        try valets.destination.migrateObjects(from: valets.source, removeOnCompletion: true)
        #expect(try valets.arrived == ["one": "1", "two": "2", "three": "3"])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating makes a local key a synchronized one`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        let cloud = valets.sample.cloudValet()
        try cloud.migrateObjects(from: valets.source, removeOnCompletion: true)
        #expect(try cloud.string(forKey: "one") == "1")
        #expect(try valets.source.allKeys() == [])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating from an empty valet finds nothing`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        #expect(throws: KeychainError.itemNotFound) {
            try sample.valet()
                .migrateObjects(from: sample.valet(.afterFirstUnlock), removeOnCompletion: false)
        }
    }

    @Test(arguments: TestBackend.enabled, [true, false])
    func `Migrating from a valet that has only the canary does nothing`(
        _ backend: TestBackend, _ removing: Bool
    ) throws {
        let sample = Sample(backend)
        let source = sample.valet(.afterFirstUnlock)
        #expect(source.canAccessKeychain())
        try sample.valet().migrateObjects(from: source, removeOnCompletion: removing)
        #expect(try source.containsObject(forKey: ServiceName.canaryAccount) == !removing)
        #expect(try !sample.valet().containsObject(forKey: ServiceName.canaryAccount))
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating removes the canary with the other items, and never copies it`(
        _ backend: TestBackend
    ) throws {
        let valets = try Migrating(backend)
        #expect(valets.source.canAccessKeychain())
        try valets.destination.migrateObjects(from: valets.source, removeOnCompletion: false)
        #expect(try valets.source.containsObject(forKey: ServiceName.canaryAccount))
        try valets.destination.removeAllObjects()
        try valets.destination.migrateObjects(from: valets.source, removeOnCompletion: true)
        #expect(try valets.arrived == ["one": "1", "two": "2"])
        #expect(try !valets.source.containsObject(forKey: ServiceName.canaryAccount))
        #expect(try !valets.destination.containsObject(forKey: ServiceName.canaryAccount))
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating a valet into itself keeps the canary`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        #expect(valet.canAccessKeychain())
        try valet.migrateObjects(from: valet, removeOnCompletion: true)
        #expect(try valet.containsObject(forKey: ServiceName.canaryAccount))
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating skips an item without a value`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        try valets.sample.plant("three", in: valets.source)
        try valets.destination.migrateObjects(from: valets.source, removeOnCompletion: true)
        #expect(try valets.arrived == ["one": "1", "two": "2"])
        #expect(try valets.source.allKeys() == ["three"])
        try valets.destination.migrateObjects(from: valets.source, removeOnCompletion: true)
        #expect(try valets.source.allKeys() == ["three"])
    }

    @Test(arguments: TestBackend.enabled, [true, false])
    func `Migrating a valet into itself changes nothing`(_ backend: TestBackend, _ removing: Bool)
        throws
    {
        let valet = try Migrating(backend).source
        #expect(throws: MigrationError.keyToMigrateAlreadyExistsInValet) {
            try valet.migrateObjects(from: valet, removeOnCompletion: removing)
        }
        #expect(try valet.allKeys() == ["one", "two"])
    }

    @Test(arguments: TestBackend.enabled, [true, false])
    func `Migrating stops at a key that exists in the destination`(
        _ backend: TestBackend, _ removing: Bool
    ) throws {
        let valets = try Migrating(backend)
        try valets.destination.setString("there", forKey: "two")
        #expect(throws: MigrationError.keyToMigrateAlreadyExistsInValet) {
            try valets.destination
                .migrateObjects(from: valets.source, removeOnCompletion: removing)
        }
        #expect(try valets.arrived == ["two": "there"])
        #expect(try valets.source.allKeys() == ["one", "two"])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating stops at a key that another accessibility has`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        let name = valets.sample.name
        try valets.sample.valet(.explicit(name), .afterFirstUnlock).setString("3", forKey: "two")
        let destination = valets.sample.valet(.explicit(name), .whenUnlocked)
        #expect(throws: MigrationError.keyToMigrateAlreadyExistsInValet) {
            try destination.migrateObjects(from: valets.source, removeOnCompletion: false)
        }
        #expect(try destination.allKeys() == [])
    }

    @Test(arguments: TestBackend.enabled, [AttributeValue.bytes([1]), .number(7)])
    func `Migrating stops at an account that is not text`(
        _ backend: TestBackend, _ account: AttributeValue
    ) throws {
        let valets = try Migrating(backend)
        try valets.sample.plant(account, Data([1]), in: valets.source)
        #expect(throws: MigrationError.keyToMigrateInvalid) {
            try valets.destination.migrateObjects(from: valets.source, removeOnCompletion: true)
        }
        #expect(try valets.arrived == [:])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating stops at an empty key`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        try valets.sample.plant(.text(""), Data([1]), in: valets.source)
        #expect(throws: MigrationError.keyToMigrateInvalid) {
            try valets.destination.migrateObjects(from: valets.source, removeOnCompletion: true)
        }
        #expect(try valets.arrived == [:])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating stops at an empty value`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        try valets.sample.plant(.text("three"), Data(), in: valets.source)
        #expect(throws: MigrationError.dataToMigrateInvalid) {
            try valets.destination.migrateObjects(from: valets.source, removeOnCompletion: true)
        }
        #expect(try valets.arrived == [:])
    }
}

@Suite struct `Migrating with a closure` {
    private struct Declined: Error {}

    @Test(arguments: TestBackend.enabled)
    func `Migrating with a closure stores the pairs that the closure returns`(
        _ backend: TestBackend
    ) throws {
        let valets = try Migrating(backend)
        try valets.destination.migrateObjects(from: valets.source) { pair in
            MigratableKeyValuePair(key: "new \(pair.key)", value: pair.value + [0x21])
        }
        #expect(try valets.arrived == ["new one": "1!", "new two": "2!"])
        #expect(try valets.source.allKeys() == ["one", "two"])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating with a closure leaves out items for which it returns nil`(
        _ backend: TestBackend
    ) throws {
        let valets = try Migrating(backend)
        try valets.destination.migrateObjects(from: valets.source) { pair in
            pair.key == AnyHashable("one") ? .init(key: "one", value: pair.value) : nil
        }
        #expect(try valets.arrived == ["one": "1"])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating changes nothing if the closure leaves out every item`(_ backend: TestBackend)
        throws
    {
        let valets = try Migrating(backend)
        try valets.destination.migrateObjects(from: valets.source) { _ in nil }
        #expect(try valets.arrived == [:])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating ends with the error that the closure throws`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        var count = 0
        #expect(throws: Declined.self) {
            try valets.destination.migrateObjects(from: valets.source) { pair in
                count += 1
                if count == 2 { throw Declined() }
                return MigratableKeyValuePair(key: "new", value: pair.value)
            }
        }
        #expect(try valets.arrived == [:])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating with a closure refuses two pairs with one key`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        #expect(throws: MigrationError.duplicateKeyToMigrate) {
            try valets.destination.migrateObjects(from: valets.source) { pair in
                MigratableKeyValuePair(key: "same", value: pair.value)
            }
        }
        #expect(try valets.arrived == [:])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating with a closure refuses an empty key`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        #expect(throws: MigrationError.keyToMigrateInvalid) {
            try valets.destination.migrateObjects(from: valets.source) { pair in
                MigratableKeyValuePair(key: "", value: pair.value)
            }
        }
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating with a closure refuses an empty value`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        #expect(throws: MigrationError.dataToMigrateInvalid) {
            try valets.destination.migrateObjects(from: valets.source) { _ in
                MigratableKeyValuePair(key: "key", value: Data())
            }
        }
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating passes accounts of every type to the closure`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        try valets.sample.plant(.bytes([1, 2]), Data([1]), in: valets.source)
        try valets.sample.plant(.number(7), Data([1]), in: valets.source)
        var keys: Set<AnyHashable> = []
        try valets.destination.migrateObjects(from: valets.source) { pair in
            keys.insert(pair.key)
            return nil
        }
        #expect(Set(keys.map { "\($0)" }) == ["one", "two", "2 bytes", "7"])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating passes an empty account to the closure, but no item without a value`(
        _ backend: TestBackend
    ) throws {
        let valets = try Migrating(backend)
        try valets.sample.plant(.text(""), Data([7]), in: valets.source)
        try valets.sample.plant("valueless", in: valets.source)
        var values: [AnyHashable: Data] = [:]
        try valets.destination.migrateObjects(from: valets.source) { pair in
            values[pair.key] = pair.value
            let key = pair.key == AnyHashable("") ? "named" : "\(pair.key)"
            return MigratableKeyValuePair(key: key, value: pair.value)
        }
        #expect(values == ["one": Data("1".utf8), "two": Data("2".utf8), "": Data([7])])
        #expect(try valets.destination.object(forKey: "named") == Data([7]))
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating stops at an empty value before it calls the closure`(_ backend: TestBackend)
        throws
    {
        let valets = try Migrating(backend)
        try valets.sample.plant(.text("three"), Data(), in: valets.source)
        var count = 0
        #expect(throws: MigrationError.dataToMigrateInvalid) {
            try valets.destination.migrateObjects(from: valets.source) { _ in
                count += 1
                return nil
            }
        }
        #expect(count == 0)
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating does not pass the canary to the closure`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        #expect(valets.source.canAccessKeychain())
        var count = 0
        try valets.destination.migrateObjects(from: valets.source) { _ in
            count += 1
            return nil
        }
        #expect(count == 2)
    }
}
