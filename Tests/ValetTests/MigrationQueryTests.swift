// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import KeychainModel
internal import Testing

@testable internal import Valet

@Suite struct `Migrating what a query finds` {
    @Test(arguments: TestBackend.enabled)
    func `copies what it finds`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        let query = valets.sample.query(for: valets.source)
        try valets.destination.migrateObjects(matching: query, removeOnCompletion: false)
        #expect(try valets.arrived == ["one": "1", "two": "2"])
        #expect(try valets.source.allKeys() == ["one", "two"])
    }

    @Test(arguments: TestBackend.enabled)
    func `removes what it copied, if asked to`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        let query = valets.sample.query(for: valets.source)
        try valets.destination.migrateObjects(matching: query, removeOnCompletion: true)
        #expect(try valets.arrived == ["one": "1", "two": "2"])
        #expect(try valets.source.allKeys() == [])
    }

    @Test(arguments: TestBackend.enabled)
    func `stores the pairs that a closure returns`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        let query = valets.sample.query(for: valets.source)
        try valets.destination.migrateObjects(matching: query) { pair in
            MigratableKeyValuePair(key: "new \(pair.key)", value: pair.value)
        }
        #expect(try valets.arrived == ["new one": "1", "new two": "2"])
    }

    @Test(arguments: TestBackend.enabled)
    func `filters by every attribute of the query`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        var query = valets.sample.query(for: valets.source)
        query["acct"] = "two"
        try valets.destination.migrateObjects(matching: query, removeOnCompletion: true)
        #expect(try valets.arrived == ["two": "2"])
        #expect(try valets.source.allKeys() == ["one"])
    }

    @Test(arguments: TestBackend.enabled)
    func `into itself changes nothing`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        let query = valets.sample.query(for: valets.source)
        #expect(throws: MigrationError.keyToMigrateAlreadyExistsInValet) {
            try valets.source.migrateObjects(matching: query, removeOnCompletion: true)
        }
        #expect(try valets.source.allKeys() == ["one", "two"])
    }

    @Test(arguments: TestBackend.enabled)
    func `finds nothing where nothing is`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        let query = sample.query(for: sample.valet(.afterFirstUnlock))
        #expect(throws: KeychainError.itemNotFound) {
            try sample.valet().migrateObjects(matching: query, removeOnCompletion: true)
        }
    }

    static var refused: [[String: AnyHashable]] {
        [
            [:],
            ["svce": "service"],
            ["class": "inet"],
            ["class": 7],
            ["class": "genp", "m_Limit": "m_LimitOne"],
            ["class": "genp", "m_Limit": 1],
            ["class": "genp", "r_Data": true],
            ["class": "genp", "r_Data": AnyHashable(NSNumber(value: true))],
            ["class": "genp", "r_Attributes": false],
            ["class": "genp", "r_Ref": true],
            ["class": "genp", "r_PersistentRef": false],
            ["class": "genp", "accc": "anything"],
        ]
    }

    @Test(arguments: refused.indices)
    func `refuses a query that it cannot work with`(_ index: Int) {
        let query = Self.refused[index]
        #expect(throws: MigrationError.invalidQuery) {
            try Sample().valet().migrateObjects(matching: query, removeOnCompletion: true)
        }
        #expect(throws: MigrationError.invalidQuery) {
            try Sample().valet().migrateObjects(matching: query) { _ in nil }
        }
    }

    static var taken: [[String: AnyHashable]] {
        [
            ["m_Limit": "m_LimitAll"], ["r_Data": false], ["r_Attributes": true], ["r_Ref": false],
            ["r_PersistentRef": true], ["nleg": true],
        ]
    }

    @Test(arguments: TestBackend.enabled, taken.indices)
    func `takes a query that says what is done anyway`(
        _ backend: TestBackend, _ index: Int
    ) throws {
        let valets = try Migrating(backend)
        let query = valets.sample.query(for: valets.source).merging(Self.taken[index]) { $1 }
        try valets.destination.migrateObjects(matching: query, removeOnCompletion: false)
        #expect(try valets.arrived == ["one": "1", "two": "2"])
    }
}

@Suite struct `Migrating from retired accessibilities` {
    /// An item as old versions stored it.
    private func plant(
        _ protectionClass: ProtectionClass, _ service: String, in sample: Sample
    ) throws {
        let item = NewItem(
            .genericPassword, attributes: [.account: .text("key"), .service: .text(service)],
            protectionClass: protectionClass)
        try sample.keychain.add([(item, Data("old".utf8))], removing: [])
    }

    private func service(_ sample: Sample, _ accessibility: String) -> String {
        "VAL_VALValet_initWithIdentifier:accessibility:_\(sample.name)_\(accessibility)"
    }

    @Test(arguments: TestBackend.enabled)
    func `finds what was always accessible`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        try plant(.always, service(sample, "AccessibleAlways"), in: sample)
        try sample.valet().migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion: true)
        #expect(try sample.valet().string(forKey: "key") == "old")
    }

    @Test(arguments: TestBackend.enabled)
    func `finds what was always accessible on this device`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        let name = service(sample, "AccessibleAlwaysThisDeviceOnly")
        try plant(.alwaysThisDeviceOnly, name, in: sample)
        try sample.valet()
            .migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(removeOnCompletion: true)
        #expect(try sample.valet().string(forKey: "key") == "old")
    }

    @Test(arguments: TestBackend.enabled)
    func `removes the old items only if asked to`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        let name = service(sample, "AccessibleAlways")
        try plant(.always, name, in: sample)
        try sample.valet().migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion: false)
        let old = PasswordService(
            service: name, accessGroup: nil, isSynchronizable: false, protectionClass: .always)
        #expect(try !sample.keychain.accounts(of: old).isEmpty)
        try sample.valet().removeAllObjects()
        try sample.valet().migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion: true)
        #expect(try sample.keychain.accounts(of: old).isEmpty)
    }

    @Test(arguments: TestBackend.enabled)
    func `finds nothing where there is nothing old`(_ backend: TestBackend) throws {
        let valet = try Migrating(backend).destination
        #expect(throws: KeychainError.itemNotFound) {
            try valet.migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion: true)
        }
        #expect(throws: KeychainError.itemNotFound) {
            try valet.migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(
                removeOnCompletion: true)
        }
    }
}
