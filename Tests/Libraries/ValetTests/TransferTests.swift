// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel

@testable internal import Valet

/// SecItem has no transactions: what was done before a failure is undone.
@Suite struct `A migration through SecItem that fails` {
    private let fake = FakeSecItem()
    private let source: Valet
    private let destination: Valet
    private let before: Set<Entry>

    /// An item without its reference, which is another one once it was restored.
    private struct Entry: Hashable {
        let attributes: [String: AnyHashable]

        init(_ item: [String: Any]) {
            attributes = item.filter { $0.key != "v_PersistentRef" }
                .compactMapValues { $0 as? AnyHashable }
        }
    }

    init() throws {
        let name = Identifier.named("name")
        let keychain = SecItemKeychain(fake)
        source = Valet(Configuration(.standard(name), .afterFirstUnlock), backend: keychain)
        destination = Valet(Configuration(.standard(name), .whenUnlocked), backend: keychain)
        for number in 1...3 { try source.setString("value", forKey: "\(number)") }
        before = Set(fake.stored.map(Entry.init))
    }

    @Test(arguments: 0...2)
    func `A migration through SecItem adds nothing if adding an item fails`(_ count: Int) {
        fake.fail(.add, after: count, with: -34)
        #expect(throws: KeychainError.couldNotAccessKeychain) {
            try destination.migrateObjects(from: source, removeOnCompletion: true)
        }
        #expect(Set(fake.stored.map(Entry.init)) == before)
    }

    @Test(arguments: 0...2)
    func `A migration through SecItem restores everything if removing an item fails`(_ count: Int) {
        fake.fail(.delete, after: count, with: -25308)
        #expect(throws: MigrationError.removalFailed) {
            try destination.migrateObjects(from: source, removeOnCompletion: true)
        }
        #expect(Set(fake.stored.map(Entry.init)) == before)
        #expect((try? source.allKeys()) == ["1", "2", "3"])
    }

    @Test(arguments: 0...2)
    func `A migration through SecItem reports a key that another process adds first`(_ count: Int) {
        fake.fail(.add, after: count, with: -25299)
        #expect(throws: MigrationError.keyToMigrateAlreadyExistsInValet) {
            try destination.migrateObjects(from: source, removeOnCompletion: true)
        }
        #expect(Set(fake.stored.map(Entry.init)) == before)
    }

    @Test(arguments: 0...5)
    func `A migration through SecItem changes nothing if reading fails`(_ count: Int) {
        fake.fail(.copy, after: count, with: -25308)
        _ = try? destination.migrateObjects(from: source, removeOnCompletion: false)
        let isDone = count > 4
        #expect((Set(fake.stored.map(Entry.init)) == before) != isDone)
    }
}

/// On Apple's systems the class of an item is changed by an update.
@Suite struct `A change of accessibility through SecItem` {
    private let fake = FakeSecItem()
    private let source: Valet
    private let destination: Valet
    private let before: Set<String>

    init() throws {
        let name = Identifier.named("name")
        let keychain = SecItemKeychain(fake)
        source = Valet(Configuration(.explicit(name), .afterFirstUnlock), backend: keychain)
        destination = Valet(Configuration(.explicit(name), .whenUnlocked), backend: keychain)
        for number in 1...3 { try source.setString("value", forKey: "\(number)") }
        before = Self.state(of: fake)
    }

    private static func state(of fake: FakeSecItem) -> Set<String> {
        Set(fake.stored.map { "\($0["acct"] ?? "") \($0["pdmn"] ?? "")" })
    }

    @Test func `An accessibility change through SecItem updates items, and adds or deletes none`()
        throws
    {
        let references = fake.stored.map { $0["v_PersistentRef"] as? Data }
        let count = fake.received.count
        try destination.migrateObjects(from: source, removeOnCompletion: true)
        #expect(Self.state(of: fake) == ["1 ak", "2 ak", "3 ak"])
        #expect(fake.stored.map { $0["v_PersistentRef"] as? Data } == references)
        let values = fake.received[count...].filter { $0["v_Data"] != nil }
        #expect(values.isEmpty)
    }

    @Test(arguments: 0...2)
    func `An accessibility change through SecItem changes nothing if an update fails`(_ count: Int)
    {
        fake.fail(.update, after: count, with: -25308)
        #expect(throws: KeychainError.couldNotAccessKeychain) {
            try destination.migrateObjects(from: source, removeOnCompletion: true)
        }
        #expect(Self.state(of: fake) == before)
    }

    @Test func `An accessibility change through SecItem needs the canary to be removable`() {
        #expect(source.canAccessKeychain())
        let before = Self.state(of: fake)
        fake.fail(.delete, with: -25308)
        #expect(throws: MigrationError.removalFailed) {
            try destination.migrateObjects(from: source, removeOnCompletion: true)
        }
        #expect(Self.state(of: fake) == before)
    }
}

@Suite struct `Storing through SecItem` {
    private let fake = FakeSecItem()

    @Test func `Setting through SecItem updates an item that another process adds first`() throws {
        try fake.valet.setString("theirs", forKey: "key")
        fake.fail(.update, with: -25300)
        try fake.valet.setString("ours", forKey: "key")
        #expect(try fake.valet.string(forKey: "key") == "ours")
    }

    @Test func `Setting through SecItem uses the data protection keychain every time`() throws {
        let valet = fake.valet
        #expect(valet.canAccessKeychain())
        try valet.setString("value", forKey: "key")
        try valet.removeObject(forKey: "key")
        _ = try? valet.object(forKey: "key")
        _ = try valet.containsObject(forKey: "key")
        try valet.setString("value", forKey: "key")
        let name = try #require(Identifier(nonEmpty: "other"))
        let other = Valet(
            Configuration(.standard(name), .whenUnlocked), backend: SecItemKeychain(fake))
        try other.migrateObjects(from: valet, removeOnCompletion: true)
        #expect(fake.received.allSatisfy { $0["nleg"] as? Bool == true })
    }
}
