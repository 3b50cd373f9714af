// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import KeychainModel
internal import TestValues
internal import Testing

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
