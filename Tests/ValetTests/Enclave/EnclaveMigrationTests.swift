// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel
internal import ValetTestValues

@testable internal import Valet

@Suite struct `Migrating into a valet that a person has to be there for` {
    @Test(arguments: EnclaveSample.Backend.allCases, [false, true])
    func `stores what another valet has, and asks nobody`(
        _ backend: EnclaveSample.Backend, _ removes: Bool
    ) throws {
        let sample = try EnclaveSample(backend)
        let (source, valet) = (sample.plainValet(), sample.valet())
        try source.setString("1", forKey: "one")
        try source.setString("2", forKey: "two")
        #expect(source.canAccessKeychain())
        try valet.migrateObjects(from: source, removeOnCompletion: removes)
        #expect(try source.allKeys() == (removes ? [] : ["one", "two"]))
        #expect(!sample.pinentry.wasStarted)
        #expect(try valet.string(forKey: "one", withPrompt: "") == "1")
        #expect(try valet.string(forKey: "two", withPrompt: "") == "2")
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `stores what a query finds`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let (source, valet) = (sample.plainValet(), sample.singlePromptValet())
        try source.setString("1", forKey: "one")
        let query: [String: AnyHashable] = [
            "class": "genp", "svce": AnyHashable(source.sandbox.service),
        ]
        try valet.migrateObjects(matching: query, removeOnCompletion: true)
        #expect(try valet.allKeys(userPrompt: "") == ["one"])
        #expect(try source.allKeys() == [])
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `changes nothing where a key is there already`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let (source, valet) = (sample.plainValet(), sample.valet())
        try source.setString("1", forKey: "one")
        try source.setString("2", forKey: "two")
        try valet.setString("old", forKey: "two")
        #expect(throws: MigrationError.keyToMigrateAlreadyExistsInValet) {
            try valet.migrateObjects(from: source, removeOnCompletion: true)
        }
        #expect(try !valet.containsObject(forKey: "one"))
        #expect(try source.allKeys() == ["one", "two"])
        #expect(!sample.pinentry.wasStarted)
        #expect(try valet.string(forKey: "two", withPrompt: "") == "old")
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `finds nothing in an empty valet`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        #expect(throws: KeychainError.itemNotFound) {
            try sample.valet().migrateObjects(from: sample.plainValet(), removeOnCompletion: false)
        }
        #expect(throws: MigrationError.invalidQuery) {
            try sample.singlePromptValet().migrateObjects(matching: [:], removeOnCompletion: false)
        }
    }
}

/// An explicitly set identifier can name the service of another kind of valet.
@Suite struct `Changing how items are kept that have the same name` {
    private static let others = Accessibility.allCases.filter {
        $0 != .whenPasscodeSetThisDeviceOnly
    }

    @Test(arguments: EnclaveSample.Backend.allCases, others)
    func `puts them under an access control`(
        _ backend: EnclaveSample.Backend, _ accessibility: Accessibility
    ) throws {
        let sample = try EnclaveSample(backend)
        let (valet, source) = (sample.valet(), sample.namesake(accessibility))
        try source.setString("1", forKey: "one")
        try source.setString("2", forKey: "two")
        try valet.migrateObjects(from: source, removeOnCompletion: true)
        #expect(!sample.pinentry.wasStarted)
        #expect(try valet.string(forKey: "one", withPrompt: "for one") == "1")
        #expect(sample.prompts == ["for one"])
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `is refused where the accessibility is the same`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        let (valet, source) = (sample.valet(), sample.namesake(.whenPasscodeSetThisDeviceOnly))
        try source.setString("1", forKey: "one")
        #expect(throws: MigrationError.keyToMigrateAlreadyExistsInValet) {
            try valet.migrateObjects(from: source, removeOnCompletion: true)
        }
        #expect(try source.string(forKey: "one") == "1")
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `leaves those that are under one already`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.valet()
        try valet.setString("1", forKey: "one")
        #expect(throws: (any Error).self) {
            try valet.migrateObjects(
                matching: ["class": "genp", "svce": AnyHashable(valet.enclave.sandbox.service)],
                removeOnCompletion: true)
        }
        #expect(try valet.string(forKey: "one", withPrompt: "") == "1")
    }
}

@Suite struct `Migrating from a valet that asks once` {
    @Test(arguments: EnclaveSample.Backend.allCases, [false, true])
    func `asks once, and stores what it has`(
        _ backend: EnclaveSample.Backend, _ removes: Bool
    ) throws {
        let sample = try EnclaveSample(backend)
        let (source, valet) = (sample.singlePromptValet(), sample.valet())
        try source.setString("1", forKey: "one")
        try source.setString("2", forKey: "two")
        try valet.migrateObjectsFromSinglePromptSecureEnclaveValet(
            withPrompt: "to move", removeOnCompletion: removes)
        #expect(sample.prompts == ["to move"])
        #expect(try source.containsObject(forKey: "one") == !removes)
        #expect(try valet.string(forKey: "one", withPrompt: "") == "1")
        #expect(try valet.string(forKey: "two", withPrompt: "") == "2")
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `changes nothing when the person declines`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let (source, valet) = (sample.singlePromptValet(), sample.valet())
        try source.setString("1", forKey: "one")
        try sample.decline()
        #expect(throws: KeychainError.userCancelled) {
            try valet.migrateObjectsFromSinglePromptSecureEnclaveValet(removeOnCompletion: true)
        }
        #expect(try source.containsObject(forKey: "one"))
        #expect(try !valet.containsObject(forKey: "one"))
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `finds nothing of another access control`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        try sample.singlePromptValet(.devicePasscode).setString("1", forKey: "one")
        #expect(throws: KeychainError.itemNotFound) {
            try sample.valet()
                .migrateObjectsFromSinglePromptSecureEnclaveValet(removeOnCompletion: true)
        }
    }
}

extension EnclaveSample {
    /// A plain valet whose items have the names of those of ``valet(_:)``.
    fileprivate func namesake(_ accessibility: Accessibility) -> Valet {
        let service = Identifier.named(valet().enclave.sandbox.service)
        return Valet(Configuration(.explicit(service), accessibility), backend: keychain)
    }
}
