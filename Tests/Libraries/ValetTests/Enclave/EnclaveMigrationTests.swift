// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel
internal import ValetTestValues

@testable internal import Valet

@Suite struct `Migrating into a SecureEnclaveValet` {
    @Test(arguments: EnclaveSample.Backend.allCases, [false, true])
    func `Migrating into a SecureEnclaveValet stores another valet's items and does not ask`(
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
    func `Migrating into a SecureEnclaveValet stores the items that a query finds`(
        _ backend: EnclaveSample.Backend
    ) throws {
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
    func `Migrating into a SecureEnclaveValet changes nothing if a key exists already`(
        _ backend: EnclaveSample.Backend
    ) throws {
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
    func `Migrating an empty valet into a SecureEnclaveValet finds nothing`(
        _ backend: EnclaveSample.Backend
    ) throws {
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
@Suite struct `Migrating items of the same name in place` {
    private static let others = Accessibility.allCases.filter {
        $0 != .whenPasscodeSetThisDeviceOnly
    }

    @Test(arguments: EnclaveSample.Backend.allCases, others)
    func `Migrating items of the same name in place puts them under an access control`(
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
    func `Migrating items of the same name in place is refused if the accessibility is the same`(
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
    func `Migrating in place leaves items that already have an access control`(
        _ backend: EnclaveSample.Backend
    ) throws {
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

@Suite struct `Migrating from a SinglePromptSecureEnclaveValet` {
    @Test(arguments: EnclaveSample.Backend.allCases, [false, true])
    func `Migrating from a SinglePromptSecureEnclaveValet asks once and stores its items`(
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
    func `Migrating from a single-prompt valet changes nothing if the user declines`(
        _ backend: EnclaveSample.Backend
    ) throws {
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
    func `Migrating from a single-prompt valet finds nothing of another access control`(
        _ backend: EnclaveSample.Backend
    ) throws {
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
