// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetTestValues

@testable internal import Valet

@Suite struct `Writing in a SecureEnclaveValet` {
    // Promise: 18.1
    @Test(
        arguments: EnclaveSample.Backend.allCases,
        [
            SecureEnclaveAccessControl.userPresence, .devicePasscode, .biometricAny,
        ])
    func `Storing, finding and removing in a SecureEnclaveValet does not ask the user`(
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
    func `Storing and removing in a SinglePromptSecureEnclaveValet does not ask the user`(
        _ backend: EnclaveSample.Backend
    ) throws {
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
    func `Storing a SecureEnclaveValet key twice leaves the second value`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.valet()
        try valet.setString("one", forKey: "key")
        try valet.setString("two", forKey: "key")
        #expect(try valet.string(forKey: "key", withPrompt: "") == "two")
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `A SecureEnclaveValet refuses empty keys and values`(_ backend: EnclaveSample.Backend)
        throws
    {
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
    func `A SecureEnclaveValet stores nothing without a passcode`(_ backend: EnclaveSample.Backend)
        throws
    {
        let sample = try EnclaveSample(backend, hasPasscode: false)
        let valet = sample.valet()
        #expect(throws: KeychainError.couldNotAccessKeychain) {
            try valet.setString("value", forKey: "key")
        }
        #expect(!valet.canAccessKeychain())
        #expect(try !valet.containsObject(forKey: "key"))
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `A SecureEnclaveValet refuses a group that the application lacks`(
        _ backend: EnclaveSample.Backend
    ) throws {
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
    func `A SecureEnclaveValet works in a shared group`(_ backend: EnclaveSample.Backend) throws {
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
    func `Removing the passcode destroys the values of a SecureEnclaveValet for good`(
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

@Suite struct `Values bound to enrolled fingers` {
    @Test(arguments: EnclaveSample.Backend.embedded)
    func `Other enrolled fingers invalidate the items that are bound to the fingers, and no others`(
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
    func `Other enrolled fingers are noticed although the user was asked before`(
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
    func `A key that is bound to earlier fingers can be stored again`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        sample.reader.enrol([1])
        let valet = sample.valet(.biometricCurrentSet)
        try valet.setString("one", forKey: "key")
        sample.reader.enrol([2])
        try valet.setString("two", forKey: "key")
        #expect(try valet.string(forKey: "key", withPrompt: "why") == "two")
    }

    // Promise: 15.2
    @Test(arguments: EnclaveSample.Backend.embedded)
    func `A single-prompt valet that asked before reads and replaces values after fingers changed`(
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

@Suite struct `A valet with a biometric access control` {
    private static let kinds: [SecureEnclaveAccessControl] = [.biometricAny, .biometricCurrentSet]
    private static let others: [SecureEnclaveAccessControl] = [.userPresence, .devicePasscode]

    @Test(arguments: EnclaveSample.Backend.embedded, kinds)
    func `A valet with a biometric access control says whether a finger is enrolled`(
        _ backend: EnclaveSample.Backend, _ kind: SecureEnclaveAccessControl
    ) throws {
        let sample = try EnclaveSample(backend)
        KeychainFailure.last = nil
        #expect(!sample.valet(kind).canMeetAccessControl())
        #expect(KeychainFailure.last?.code == .authenticationFailed)
        #expect(KeychainFailure.last?.hint?.contains("fprintd-enroll") == true)
        #expect(!sample.singlePromptValet(kind).canMeetAccessControl())
        sample.reader.enrol([1])
        #expect(sample.valet(kind).canMeetAccessControl())
        #expect(sample.singlePromptValet(kind).canMeetAccessControl())
        #expect(!sample.pinentry.wasStarted)
    }

    @Test(arguments: EnclaveSample.Backend.embedded, others)
    func `A valet with a passcode access control can meet it without a finger`(
        _ backend: EnclaveSample.Backend, _ kind: SecureEnclaveAccessControl
    ) throws {
        let sample = try EnclaveSample(backend)
        #expect(sample.valet(kind).canMeetAccessControl())
        #expect(sample.singlePromptValet(kind).canMeetAccessControl())
    }

    @Test(arguments: EnclaveSample.Backend.embedded, kinds + others)
    func `Whether a valet can access the keychain does not depend on its access control`(
        _ backend: EnclaveSample.Backend, _ kind: SecureEnclaveAccessControl
    ) throws {
        for hasPasscode in [false, true] {
            let sample = try EnclaveSample(backend, hasPasscode: hasPasscode)
            #expect(sample.valet(kind).canAccessKeychain() == hasPasscode)
            #expect(sample.singlePromptValet(kind).canAccessKeychain() == hasPasscode)
            #expect(!sample.pinentry.wasStarted)
        }
    }

    @Test(arguments: EnclaveSample.Backend.embedded, others)
    func `Valets with a biometric and a passcode access control have separate keys`(
        _ backend: EnclaveSample.Backend, _ kind: SecureEnclaveAccessControl
    ) throws {
        let sample = try EnclaveSample(backend)
        #expect(sample.valet(kind).canAccessKeychain())
    }

    @Test(arguments: EnclaveSample.Backend.embedded)
    func `A failure says why a value cannot be bound to a finger`(
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
