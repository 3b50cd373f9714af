// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetTestValues

@testable internal import Valet

@Suite struct `What asks nobody` {
    @Test(
        arguments: EnclaveSample.Backend.allCases,
        [
            SecureEnclaveAccessControl.userPresence, .devicePasscode, .biometricAny,
        ])
    func `is storing, replacing, looking and removing`(
        _ backend: EnclaveSample.Backend, _ accessControl: SecureEnclaveAccessControl
    ) throws {
        let sample = try EnclaveSample(backend)
        sample.reader.enrol([1])
        let valet = sample.valet(accessControl)
        #expect(try !valet.containsObject(forKey: "key"))
        try valet.setString("value", forKey: "key")
        try valet.setString("another", forKey: "key")
        try valet.setObject(Data([1]), forKey: "second")
        #expect(try valet.containsObject(forKey: "key"))
        #expect(valet.canAccessKeychain())
        try valet.removeObject(forKey: "key")
        try valet.removeObject(forKey: "key")
        #expect(try !valet.containsObject(forKey: "key"))
        #expect(try valet.containsObject(forKey: "second"))
        try valet.removeAllObjects()
        try valet.removeAllObjects()
        #expect(try !valet.containsObject(forKey: "second"))
        #expect(sample.prompts == [])
        #expect(!sample.pinentry.wasStarted)
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `is the same in a valet that asks once`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.singlePromptValet()
        try valet.setString("value", forKey: "key")
        try valet.setObject(Data([1]), forKey: "key")
        #expect(try valet.containsObject(forKey: "key"))
        #expect(valet.canAccessKeychain())
        try valet.removeObject(forKey: "key")
        try valet.removeAllObjects()
        #expect(try !valet.containsObject(forKey: "key"))
        #expect(!sample.pinentry.wasStarted && sample.prompts == [])
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `leaves the value that was stored last`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.valet()
        try valet.setString("one", forKey: "key")
        try valet.setString("two", forKey: "key")
        #expect(try valet.string(forKey: "key", withPrompt: "") == "two")
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `refuses empty keys and values`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let (valet, other) = (sample.valet(), sample.singlePromptValet())
        let (noKey, noValue) = (KeychainError.emptyKey, KeychainError.emptyValue)
        #expect(throws: noKey) { try valet.setString("a", forKey: "") }
        #expect(throws: noKey) { try valet.object(forKey: "", withPrompt: "") }
        #expect(throws: noKey) { try valet.containsObject(forKey: "") }
        #expect(throws: noKey) { try valet.removeObject(forKey: "") }
        #expect(throws: noKey) { try other.setString("a", forKey: "") }
        #expect(throws: noKey) { try other.string(forKey: "", withPrompt: "") }
        #expect(throws: noKey) { try other.containsObject(forKey: "") }
        #expect(throws: noKey) { try other.removeObject(forKey: "") }
        #expect(throws: noValue) { try valet.setString("", forKey: "key") }
        #expect(throws: noValue) { try other.setObject(Data(), forKey: "key") }
        #expect(!sample.pinentry.wasStarted)
    }

    @Test(arguments: EnclaveSample.Backend.embedded)
    func `stores nothing without a passcode`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend, hasPasscode: false)
        let valet = sample.valet()
        #expect(throws: KeychainError.couldNotAccessKeychain) {
            try valet.setString("value", forKey: "key")
        }
        #expect(!valet.canAccessKeychain())
        #expect(try !valet.containsObject(forKey: "key"))
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `refuses a group that the application lacks`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let valet = SecureEnclaveValet(
            sample.enclave(
                .sharedGroup(.sample("XYZ"), sample.name), .userPresence, asksOnce: false))
        let refused = KeychainError.missingEntitlement
        #expect(throws: refused) { try valet.setString("value", forKey: "key") }
        #expect(throws: refused) { try valet.string(forKey: "key", withPrompt: "") }
        #expect(throws: refused) { try valet.containsObject(forKey: "key") }
        #expect(throws: refused) { try valet.removeObject(forKey: "key") }
        #expect(!valet.canAccessKeychain())
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `works in a shared group`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let valet = SinglePromptSecureEnclaveValet(
            sample.enclave(
                .sharedGroup(.sample("ABC"), sample.name), .userPresence, asksOnce: true))
        try valet.setString("value", forKey: "key")
        #expect(try valet.string(forKey: "key", withPrompt: "") == "value")
        #expect(try sample.singlePromptValet().containsObject(forKey: "key") == false)
    }
}

@Suite struct `Removing the passcode` {
    @Test(
        arguments: EnclaveSample.Backend.embedded,
        [
            SecureEnclaveAccessControl.userPresence, .devicePasscode, .biometricAny,
            .biometricCurrentSet,
        ])
    func `removes what needs a person, for good`(
        _ backend: EnclaveSample.Backend, _ accessControl: SecureEnclaveAccessControl
    ) throws {
        let sample = try EnclaveSample(backend)
        sample.reader.enrol([1])
        let valets = (sample.valet(accessControl), sample.singlePromptValet(accessControl))
        try valets.0.setString("value", forKey: "key")
        try valets.1.setString("value", forKey: "key")
        #expect(try valets.1.string(forKey: "key", withPrompt: "why") == "value")
        try sample.removePasscode()
        #expect(try !valets.0.containsObject(forKey: "key"))
        #expect(try !valets.1.containsObject(forKey: "key"))
        #expect(throws: KeychainError.itemNotFound) {
            try valets.0.string(forKey: "key", withPrompt: "why")
        }
        #expect(throws: KeychainError.itemNotFound) {
            try valets.1.string(forKey: "key", withPrompt: "why")
        }
        try valets.0.setString("another", forKey: "key")
        #expect(try valets.0.string(forKey: "key", withPrompt: "why") == "another")
    }
}

@Suite struct `Other fingers than before` {
    @Test(arguments: EnclaveSample.Backend.embedded)
    func `end the items that are bound to them, and no others`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        sample.reader.enrol([1])
        let (bound, any) = (sample.valet(.biometricCurrentSet), sample.valet(.biometricAny))
        try bound.setString("value", forKey: "key")
        try any.setString("value", forKey: "key")
        sample.reader.enrol([2])
        #expect(try !bound.containsObject(forKey: "key"))
        #expect(throws: KeychainError.itemNotFound) {
            try bound.string(forKey: "key", withPrompt: "why")
        }
        #expect(try any.string(forKey: "key", withPrompt: "why") == "value")
    }

    @Test(arguments: EnclaveSample.Backend.embedded)
    func `are noticed although a person was asked before`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        sample.reader.enrol([1])
        let valet = sample.singlePromptValet(.biometricCurrentSet)
        try valet.setString("value", forKey: "key")
        #expect(try valet.string(forKey: "key", withPrompt: "why") == "value")
        sample.reader.enrol([2])
        #expect(try !valet.containsObject(forKey: "key"))
    }

    @Test(arguments: EnclaveSample.Backend.embedded)
    func `do not keep a key from being stored anew`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        sample.reader.enrol([1])
        let valet = sample.valet(.biometricCurrentSet)
        try valet.setString("one", forKey: "key")
        sample.reader.enrol([2])
        try valet.setString("two", forKey: "key")
        #expect(try valet.string(forKey: "key", withPrompt: "why") == "two")
    }

    @Test(arguments: EnclaveSample.Backend.embedded)
    func `can be read and replaced by a valet that asked before`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        sample.reader.enrol([1])
        let valet = sample.singlePromptValet(.biometricCurrentSet)
        try valet.setString("one", forKey: "first")
        #expect(try valet.string(forKey: "first", withPrompt: "why") == "one")
        sample.reader.enrol([2])
        try valet.setString("two", forKey: "key")
        #expect(try valet.containsObject(forKey: "key"))
        #expect(try valet.string(forKey: "key", withPrompt: "why") == "two")
        try valet.setString("three", forKey: "key")
        #expect(try valet.string(forKey: "key", withPrompt: "why") == "three")
    }
}

@Suite struct `A valet that takes a finger` {
    private static let kinds: [SecureEnclaveAccessControl] = [.biometricAny, .biometricCurrentSet]
    private static let others: [SecureEnclaveAccessControl] = [.userPresence, .devicePasscode]

    @Test(arguments: EnclaveSample.Backend.embedded, kinds)
    func `cannot be used where none is enrolled`(
        _ backend: EnclaveSample.Backend, _ kind: SecureEnclaveAccessControl
    ) throws {
        let sample = try EnclaveSample(backend)
        #expect(!sample.valet(kind).canAccessKeychain())
        #expect(!sample.singlePromptValet(kind).canAccessKeychain())
        sample.reader.enrol([1])
        #expect(sample.valet(kind).canAccessKeychain())
        #expect(sample.singlePromptValet(kind).canAccessKeychain())
        #expect(!sample.pinentry.wasStarted)
    }

    @Test(arguments: EnclaveSample.Backend.embedded, others)
    func `is another one than a valet that takes the passcode`(
        _ backend: EnclaveSample.Backend, _ kind: SecureEnclaveAccessControl
    ) throws {
        let sample = try EnclaveSample(backend)
        #expect(sample.valet(kind).canAccessKeychain())
    }

    @Test(arguments: EnclaveSample.Backend.embedded)
    func `says why it stores nothing that is bound to no finger`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.valet(.biometricCurrentSet)
        KeychainFailure.last = nil
        #expect(throws: KeychainError.couldNotAccessKeychain) {
            try valet.setString("1", forKey: "one")
        }
        if backend == .store {
            let failure = try #require(KeychainFailure.last)
            #expect(failure.message.contains("fingers that are enrolled"))
            #expect(failure.hint?.contains("fprintd-enroll") == true)
        }
        let source = sample.plainValet()
        try source.setString("1", forKey: "one")
        #expect(throws: KeychainError.couldNotAccessKeychain) {
            try valet.migrateObjects(from: source, removeOnCompletion: true)
        }
        #expect(try source.string(forKey: "one") == "1")
        #expect(!sample.pinentry.wasStarted)
        sample.reader.enrol([1])
        try valet.setString("1", forKey: "one")
        #expect(try valet.containsObject(forKey: "one"))
    }
}
