// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetAppleKeychainRequests
internal import ValetKeychainModel

@testable internal import Valet

@Suite struct `Migrating what a query finds` {
    @Test(arguments: TestBackend.enabled)
    func `Migrating the items of a query copies them`(_ backend: TestBackend) throws {
        let valets = try Migrating(backend)
        let query = valets.sample.query(for: valets.source)
        try valets.destination.migrateObjects(matching: query, removeOnCompletion: false)
        #expect(try valets.arrived == ["one": "1", "two": "2"])
        #expect(try valets.source.allKeys() == ["one", "two"])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating the items of a query removes the copied items if asked to`(
        _ backend: TestBackend
    ) throws {
        let valets = try Migrating(backend)
        let query = valets.sample.query(for: valets.source)
        try valets.destination.migrateObjects(matching: query, removeOnCompletion: true)
        #expect(try valets.arrived == ["one": "1", "two": "2"])
        #expect(try valets.source.allKeys() == [])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating the items of a query stores the pairs that a closure returns`(
        _ backend: TestBackend
    ) throws {
        let valets = try Migrating(backend)
        let query = valets.sample.query(for: valets.source)
        try valets.destination.migrateObjects(matching: query) { pair in
            MigratableKeyValuePair(key: "new \(pair.key)", value: pair.value)
        }
        #expect(try valets.arrived == ["new one": "1", "new two": "2"])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating the items of a query filters by every attribute of the query`(
        _ backend: TestBackend
    ) throws {
        let valets = try Migrating(backend)
        var query = valets.sample.query(for: valets.source)
        query["acct"] = "two"
        try valets.destination.migrateObjects(matching: query, removeOnCompletion: true)
        #expect(try valets.arrived == ["two": "2"])
        #expect(try valets.source.allKeys() == ["one"])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating the items of a query into their own valet changes nothing`(
        _ backend: TestBackend
    ) throws {
        let valets = try Migrating(backend)
        let query = valets.sample.query(for: valets.source)
        #expect(throws: MigrationError.keyToMigrateAlreadyExistsInValet) {
            try valets.source.migrateObjects(matching: query, removeOnCompletion: true)
        }
        #expect(try valets.source.allKeys() == ["one", "two"])
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating the items of a query throws itemNotFound if it finds none`(
        _ backend: TestBackend
    ) throws {
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
            ["class": "genp", "m_Limit": 1], ["class": "genp", "m_Limit": UInt(1)],
            ["class": "genp", "m_Limit": 1.0],
            ["class": "genp", "r_Data": true],
            ["class": "genp", "r_Data": AnyHashable(NSNumber(value: true))],
            ["class": "genp", "r_Attributes": false],
            ["class": "genp", "r_Ref": true],
            ["class": "genp", "r_PersistentRef": false],
            ["class": "genp", "accc": "anything"],
        ]
    }

    @Test(arguments: refused.indices)
    func `Migrating refuses a query that a migration cannot use`(_ index: Int) {
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
    func `Migrating accepts a query that sets what the migration sets anyway`(
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
        try sample.keychain.perform(Transfer(additions: [(item, Data("old".utf8))]))
    }

    private func service(_ sample: Sample, _ accessibility: String) -> String {
        "VAL_VALValet_initWithIdentifier:accessibility:_\(sample.name)_\(accessibility)"
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating from "always" finds the retired items`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        try plant(.always, service(sample, "AccessibleAlways"), in: sample)
        try sample.valet().migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion: true)
        #expect(try sample.valet().string(forKey: "key") == "old")
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating from "always, this device only" finds the retired items`(_ backend: TestBackend)
        throws
    {
        let sample = Sample(backend)
        let name = service(sample, "AccessibleAlwaysThisDeviceOnly")
        try plant(.alwaysThisDeviceOnly, name, in: sample)
        try sample.valet()
            .migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(removeOnCompletion: true)
        #expect(try sample.valet().string(forKey: "key") == "old")
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating from a retired accessibility removes the old items only if asked to`(
        _ backend: TestBackend
    ) throws {
        let sample = Sample(backend)
        let name = service(sample, "AccessibleAlways")
        try plant(.always, name, in: sample)
        try sample.valet().migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion: false)
        let old = PasswordService(
            service: name, accessGroup: nil, isSynchronizable: false, protectionClass: .always)
        #expect(try !sample.keychain.accounts(of: old, nil).isEmpty)
        try sample.valet().removeAllObjects()
        try sample.valet().migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion: true)
        #expect(try sample.keychain.accounts(of: old, nil).isEmpty)
    }

    @Test(arguments: TestBackend.enabled)
    func `Migrating from a retired accessibility finds nothing if there are no old items`(
        _ backend: TestBackend
    ) throws {
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

/// macOS has a second keychain, in files, which knows neither classes nor groups.
@Suite struct `Migrating from retired accessibilities of macOS` {
    private let fake = FakeSecItem()

    private func valet(_ naming: Configuration.Naming) -> Valet {
        Valet(Configuration(naming, .whenUnlocked), backend: SecItemKeychain(fake))
    }

    @Test func `Migrating on macOS finds retired items by service if their class has changed`()
        throws
    {
        let valet = valet(.sharedGroup(.sample("ABC"), nil))
        var item = valet.sandbox.item("key")
        let service = valet.configuration.identity.service(.always)
        item.attributes[.service] = .text(service)
        let changed: [String: Any] = ["v_Data": Data([1]), "pdmn": "ck"]
        #expect(fake.add(item.dictionary.merging(changed) { $1 }).status == 0)
        let found = try valet.retired(.always, inFiles: true)
        #expect(found.map(\.value) == [Data([1])])
        #expect(fake.received.last?["nleg"] as? Bool == true)
    }

    @Test func `Migrating retired items on macOS searches files by service alone`() throws {
        let valet = valet(.sharedGroup(.sample("ABC"), nil))
        #expect(throws: KeychainError.itemNotFound) {
            try valet.retired(.always, inFiles: true)
        }
        #expect(fake.received.count == 2)
        #expect(fake.received[0]["agrp"] as? String == "ABC.com.example")
        #expect(fake.received[0]["pdmn"] == nil)
        let query = fake.received[1]
        #expect(query["nleg"] as? Bool == false)
        #expect(query["svce"] as? String == valet.configuration.identity.service(.always))
        #expect(["pdmn", "agrp", "sync"].allSatisfy { query[$0] == nil })
    }

    @Test func `Migrating a retired accessibility searches by class if the service lacks it`() {
        let valet = valet(.explicit(.named("name")))
        #expect(throws: KeychainError.itemNotFound) {
            try valet.retired(.always, inFiles: true)
        }
        #expect(fake.received.map { $0["pdmn"] as? String } == ["dk"])
    }

    @Test func `Migrating from before Catalina finds items by service alone`() throws {
        let valet = valet(.standard(.named("name")))
        #expect(throws: KeychainError.itemNotFound) {
            try valet.itemsInFiles(of: valet.sandbox.service)
        }
        let query = try #require(fake.received.first)
        #expect(
            Set(query.keys)
                == ["class", "svce", "nleg", "m_Limit", "r_Attributes", "r_PersistentRef"])
    }
}
