// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetTestSupport
internal import ValetTestValues

@testable internal import Valet

/// Valets of one explicitly set identifier share the names of their items: a migration with removal
/// changes the accessibility of each where it is.
@Suite struct `Changing the accessibility of an explicitly set identifier` {
    private static let pairs = Accessibility.allCases.flatMap { old in
        Accessibility.allCases.filter { $0 != old }.map { (old, $0) }
    }

    /// As the documentation of other versions shows it.
    @Test(.enabled(if: TestBackend.storeIsThere))
    func `Migrating with removal changes the accessibility of an explicitly set identifier`() throws
    {
        let name = Sample().name
        let old = Valet.valet(withExplicitlySet: name, accessibility: .whenUnlocked)
        let new = Valet.valet(withExplicitlySet: name, accessibility: .afterFirstUnlock)
        try old.setString("Skroob", forKey: "president")
        try new.migrateObjects(from: old, removeOnCompletion: true)
        #expect(try new.string(forKey: "president") == "Skroob")
        #expect(try old.allKeys() == [])
    }

    @Test(arguments: EnclaveSample.Backend.allCases, [false, true])
    func `The accessibility of an explicitly set identifier changes between every pair`(
        _ backend: EnclaveSample.Backend, _ isShared: Bool
    ) throws {
        let sample = try EnclaveSample(backend)
        for (index, (old, new)) in Self.pairs.enumerated() {
            let naming = Configuration.Naming.numbered(index, isShared: isShared)
            let source = Valet(Configuration(naming, old), backend: sample.keychain)
            let destination = Valet(Configuration(naming, new), backend: sample.keychain)
            try source.setString("1", forKey: "one")
            try source.setString("2", forKey: "two")
            try destination.setString("3", forKey: "three")
            try destination.migrateObjects(from: source, removeOnCompletion: true)
            #expect(try source.allKeys() == [], "\(old) to \(new)")
            #expect(try destination.allKeys() == ["one", "two", "three"], "\(old) to \(new)")
            #expect(try destination.string(forKey: "two") == "2", "\(old) to \(new)")
            try destination.removeAllObjects()
        }
        #expect(!sample.pinentry.wasStarted)
    }

    @Test(arguments: TestBackend.enabled)
    func `The accessibility of a synchronized explicitly set identifier can change`(
        _ backend: TestBackend
    ) throws {
        let sample = Sample(backend)
        let naming = Configuration.Naming.explicit(sample.name)
        let valets = [CloudAccessibility.whenUnlocked, .afterFirstUnlock].map {
            Valet(Configuration(cloud: naming, $0), backend: sample.keychain)
        }
        try valets[0].setString("1", forKey: "one")
        try valets[1].migrateObjects(from: valets[0], removeOnCompletion: true)
        #expect(try valets[1].string(forKey: "one") == "1")
        #expect(try valets[0].allKeys() == [])
        try valets[0].migrateObjects(from: valets[1], removeOnCompletion: true)
        #expect(try valets[0].string(forKey: "one") == "1")
    }

    @Test(arguments: TestBackend.enabled)
    func `The accessibility changes for the items that a query finds`(_ backend: TestBackend) throws
    {
        let (source, destination, sample) = try valets(backend)
        try destination.migrateObjects(
            matching: sample.query(for: source), removeOnCompletion: true)
        #expect(try destination.allKeys() == ["one", "two"])
    }

    /// Where all that there is comes from this test.
    @Test(arguments: EnclaveSample.Backend.allCases)
    func `Changing the accessibility also moves items of other services`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        let naming = Configuration.Naming.explicit(sample.name)
        let source = Valet(Configuration(naming, .afterFirstUnlock), backend: sample.keychain)
        let destination = Valet(Configuration(naming, .whenUnlocked), backend: sample.keychain)
        let other = sample.plainValet()
        try source.setString("1", forKey: "one")
        try source.setString("2", forKey: "two")
        try other.setString("3", forKey: "three")
        try destination.migrateObjects(matching: ["class": "genp"], removeOnCompletion: true)
        #expect(try destination.allKeys() == ["one", "two", "three"])
        #expect(try other.allKeys() == [] && source.allKeys() == [])
    }

    @Test(arguments: TestBackend.enabled)
    func `Changing the accessibility without removal is refused: each key exists already`(
        _ backend: TestBackend
    ) throws {
        let (source, destination, _) = try valets(backend)
        #expect(throws: MigrationError.keyToMigrateAlreadyExistsInValet) {
            try destination.migrateObjects(from: source, removeOnCompletion: false)
        }
        #expect(try source.allKeys() == ["one", "two"])
        #expect(try destination.allKeys() == [])
    }

    @Test(arguments: TestBackend.enabled)
    func `Changing the accessibility changes no item if one value is empty`(_ backend: TestBackend)
        throws
    {
        let (source, destination, sample) = try valets(backend)
        try sample.plant(.text("three"), Data(), in: source)
        #expect(throws: MigrationError.dataToMigrateInvalid) {
            try destination.migrateObjects(from: source, removeOnCompletion: true)
        }
        #expect(try source.allKeys() == ["one", "two", "three"])
    }

    @Test(arguments: [TestBackend.store, .secItem].filter(TestBackend.enabled.contains))
    func `Changing to an accessibility that needs a passcode changes nothing without one`(
        _ backend: TestBackend
    ) throws {
        let (source, _, sample) = try valets(backend)
        let strict = sample.valet(.explicit(sample.name), .whenPasscodeSetThisDeviceOnly)
        #expect(throws: KeychainError.couldNotAccessKeychain) {
            try strict.migrateObjects(from: source, removeOnCompletion: true)
        }
        #expect(try source.allKeys() == ["one", "two"])
    }

    @Test(arguments: EnclaveSample.Backend.embedded, [false, true])
    func `Changing the accessibility changes nothing while the old or new one is locked`(
        _ backend: EnclaveSample.Backend, _ isOpening: Bool
    ) throws {
        let sample = try EnclaveSample(backend)
        let naming = Configuration.Naming.explicit(sample.name)
        let closing = Valet(Configuration(naming, .whenUnlocked), backend: sample.keychain)
        let staying = Valet(Configuration(naming, .afterFirstUnlock), backend: sample.keychain)
        let (source, destination) = isOpening ? (closing, staying) : (staying, closing)
        try source.setString("1", forKey: "one")
        try sample.lock()
        #expect(throws: KeychainError.couldNotAccessKeychain) {
            try destination.migrateObjects(from: source, removeOnCompletion: true)
        }
        try sample.unlock()
        #expect(try source.string(forKey: "one") == "1")
        #expect(try destination.allKeys() == [])
    }

    @Test(arguments: TestBackend.enabled)
    func `Changing the accessibility keeps the other attributes of an item`(_ backend: TestBackend)
        throws
    {
        let (source, destination, sample) = try valets(backend)
        var item = source.sandbox.item("labelled")
        item.attributes[.label] = .text("a label")
        try sample.keychain.perform(Transfer(additions: [(item, Data([1]))]))
        try destination.migrateObjects(from: source, removeOnCompletion: true)
        var query = destination.query
        query.attributes[.label] = .text("a label")
        #expect(
            try sample.keychain.copy(query, withValues: false, nil).map(\.account) == ["labelled"])
    }

    private func valets(_ backend: TestBackend) throws -> (Valet, Valet, Sample) {
        let sample = Sample(backend)
        let naming = Configuration.Naming.explicit(sample.name)
        let source = sample.valet(naming, .afterFirstUnlock)
        try source.setString("1", forKey: "one")
        try source.setString("2", forKey: "two")
        return (source, sample.valet(naming, .whenUnlocked), sample)
    }
}

@Suite struct `The canary of an explicitly set identifier` {
    @Test(arguments: EnclaveSample.Backend.allCases)
    func `An explicitly set identifier's canary works for every accessibility`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        for (index, first) in Accessibility.allCases.enumerated() {
            let naming = Configuration.Naming.numbered(index, isShared: false)
            for accessibility in [first] + Accessibility.allCases {
                let valet = Valet(
                    Configuration(naming, accessibility), backend: sample.keychain)
                #expect(valet.canAccessKeychain(), "\(accessibility) after \(first)")
            }
        }
    }

    @Test(arguments: EnclaveSample.Backend.embedded)
    func `The canary distinguishes the accessibilities while the keychain is locked`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        let naming = Configuration.Naming.explicit(sample.name)
        let closing = Valet(Configuration(naming, .whenUnlocked), backend: sample.keychain)
        let staying = Valet(Configuration(naming, .afterFirstUnlock), backend: sample.keychain)
        #expect(closing.canAccessKeychain() && staying.canAccessKeychain())
        try sample.lock()
        #expect(!closing.canAccessKeychain())
        #expect(staying.canAccessKeychain())
    }

    @Test(arguments: TestBackend.enabled)
    func `The canary works before and after a change of accessibility`(_ backend: TestBackend)
        throws
    {
        let sample = Sample(backend)
        let naming = Configuration.Naming.explicit(sample.name)
        let old = sample.valet(naming, .afterFirstUnlock)
        let new = sample.valet(naming, .whenUnlocked)
        #expect(old.canAccessKeychain() && new.canAccessKeychain())
        try old.setString("1", forKey: "one")
        try new.migrateObjects(from: old, removeOnCompletion: true)
        #expect(try new.allKeys() == ["one"])
        #expect(new.canAccessKeychain() && old.canAccessKeychain())
    }
}

extension Configuration.Naming {
    /// An explicit name that has this number.
    fileprivate static func numbered(_ number: Int, isShared: Bool) -> Self {
        guard isShared else { return .explicit(.named("name \(number)")) }
        return .explicitSharedGroup(.sample("ABC"))
    }
}
