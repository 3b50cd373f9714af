// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel
internal import ValetTestValues

@testable internal import Valet

@Suite struct `Reading what a person has to be there for` {
    @Test(arguments: EnclaveSample.Backend.allCases)
    func `asks each time, with the words given`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.valet()
        try valet.setObject(Data([0, 255]), forKey: "key")
        #expect(try valet.object(forKey: "key", withPrompt: "first") == Data([0, 255]))
        #expect(try valet.object(forKey: "key", withPrompt: "second") == Data([0, 255]))
        #expect(sample.prompts == ["first", "second"])
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `gives text, and asks without words`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.valet()
        try valet.setString("grüße", forKey: "key")
        #expect(try valet.string(forKey: "key") == "grüße")
        #expect(try valet.object(forKey: "key") == Data("grüße".utf8))
        #expect(sample.prompts == ["", ""])
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `asks nobody where nothing is stored`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        #expect(throws: KeychainError.itemNotFound) {
            try sample.valet().string(forKey: "key", withPrompt: "why")
        }
        #expect(throws: KeychainError.itemNotFound) {
            try sample.singlePromptValet().string(forKey: "key", withPrompt: "why")
        }
        #expect(try sample.singlePromptValet().allKeys(userPrompt: "why") == [])
        #expect(sample.prompts == [])
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `is cancelled by who declines`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let (valet, other) = (sample.valet(), sample.singlePromptValet())
        try valet.setString("value", forKey: "key")
        try other.setString("value", forKey: "key")
        try sample.decline()
        #expect(throws: KeychainError.userCancelled) {
            try valet.string(forKey: "key", withPrompt: "why")
        }
        #expect(throws: KeychainError.userCancelled) {
            try other.string(forKey: "key", withPrompt: "why")
        }
        try sample.agree()
        #expect(try other.string(forKey: "key", withPrompt: "again") == "value")
        #expect(sample.prompts == ["why", "why", "again"])
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `is an error after wrong answers, and no loop`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.valet()
        try valet.setString("value", forKey: "key")
        try sample.mistake()
        #expect(throws: KeychainError.userCancelled) {
            try valet.string(forKey: "key", withPrompt: "why")
        }
        #expect(sample.prompts.count == (backend == .fake ? 1 : 3))
    }

    @Test(arguments: EnclaveSample.Backend.embedded)
    func `does not work where nobody can be asked`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.valet()
        try valet.setString("value", forKey: "key")
        try sample.pinentry.answer(["FAILURE"])
        #expect(throws: KeychainError.couldNotAccessKeychain) {
            try valet.string(forKey: "key", withPrompt: "why")
        }
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `takes bytes that are not UTF-8 for no text`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.valet()
        try valet.setObject(Data([0xFF]), forKey: "key")
        #expect(throws: KeychainError.itemNotFound) {
            try valet.string(forKey: "key", withPrompt: "why")
        }
    }

    @Test(arguments: EnclaveSample.Backend.embedded)
    func `takes the passcode where the access control says so`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        sample.reader.enrol([1])
        let valet = sample.valet(.devicePasscode)
        try valet.setString("value", forKey: "key")
        #expect(try valet.string(forKey: "key", withPrompt: "why") == "value")
        #expect(sample.prompts == ["why"])
    }

    @Test(
        arguments: EnclaveSample.Backend.embedded,
        [
            SecureEnclaveAccessControl.userPresence, .biometricAny, .biometricCurrentSet,
        ])
    func `takes a finger where the access control allows it`(
        _ backend: EnclaveSample.Backend, _ accessControl: SecureEnclaveAccessControl
    ) throws {
        let sample = try EnclaveSample(backend)
        sample.reader.enrol([1])
        let valet = sample.valet(accessControl)
        try valet.setString("value", forKey: "key")
        #expect(try valet.string(forKey: "key", withPrompt: "why") == "value")
        #expect(sample.prompts == [])
    }
}

@Suite struct `A valet that asks once` {
    @Test(arguments: EnclaveSample.Backend.allCases)
    func `asks at the first read alone`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.singlePromptValet()
        try valet.setString("1", forKey: "one")
        try valet.setString("2", forKey: "two")
        #expect(try valet.string(forKey: "one", withPrompt: "first") == "1")
        #expect(try valet.object(forKey: "two", withPrompt: "second") == Data("2".utf8))
        #expect(try valet.allKeys(userPrompt: "third") == ["one", "two"])
        #expect(sample.prompts == ["first"])
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `asks again once it was told to`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.singlePromptValet()
        try valet.setString("1", forKey: "one")
        _ = try valet.string(forKey: "one", withPrompt: "first")
        valet.requirePromptOnNextAccess()
        valet.requirePromptOnNextAccess()
        _ = try valet.string(forKey: "one", withPrompt: "second")
        _ = try valet.string(forKey: "one", withPrompt: "third")
        #expect(sample.prompts == ["first", "second"])
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `asks for its keys`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.singlePromptValet()
        try valet.setString("1", forKey: "one")
        #expect(valet.canAccessKeychain())
        #expect(try valet.allKeys(userPrompt: "keys") == ["one"])
        #expect(try valet.string(forKey: "one", withPrompt: "value") == "1")
        #expect(sample.prompts == ["keys"])
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `does not know what another object was told`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let (one, other) = (sample.singlePromptValet(), sample.singlePromptValet())
        try one.setString("1", forKey: "one")
        _ = try one.string(forKey: "one", withPrompt: "first")
        _ = try other.string(forKey: "one", withPrompt: "second")
        #expect(sample.prompts == ["first", "second"])
    }

    @Test(arguments: EnclaveSample.Backend.embedded)
    func `reads what was stored after it had asked`(_ backend: EnclaveSample.Backend) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.singlePromptValet()
        try valet.setString("1", forKey: "one")
        _ = try valet.string(forKey: "one", withPrompt: "first")
        try valet.setString("2", forKey: "one")
        #expect(try valet.string(forKey: "one", withPrompt: "second") == "2")
        #expect(sample.prompts == ["first"])
    }
}
