// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel
internal import ValetTestValues

@testable internal import Valet

@Suite struct `Reading a SecureEnclaveValet` {
    @Test(arguments: EnclaveSample.Backend.allCases)
    func `Reading a SecureEnclaveValet asks each time, and shows the given reason`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.valet()
        try valet.setObject(Data([0, 255]), forKey: "key")
        #expect(try valet.object(forKey: "key", withPrompt: "first") == Data([0, 255]))
        #expect(try valet.object(forKey: "key", withPrompt: "second") == Data([0, 255]))
        #expect(sample.prompts == ["first", "second"])
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `Reading text from a SecureEnclaveValet asks without a reason if none is given`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.valet()
        try valet.setString("grüße", forKey: "key")
        #expect(try valet.string(forKey: "key") == "grüße")
        #expect(try valet.object(forKey: "key") == Data("grüße".utf8))
        #expect(sample.prompts == ["", ""])
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `Reading a missing key of a SecureEnclaveValet does not ask the user`(
        _ backend: EnclaveSample.Backend
    ) throws {
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
    func `Reading a SecureEnclaveValet is cancelled if the user declines`(
        _ backend: EnclaveSample.Backend
    ) throws {
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
    func `Reading a SecureEnclaveValet fails after wrong answers instead of asking again`(
        _ backend: EnclaveSample.Backend
    ) throws {
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
    func `Reading a SecureEnclaveValet fails if the user cannot be asked`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.valet()
        try valet.setString("value", forKey: "key")
        try sample.pinentry.answer(["FAILURE"])
        #expect(throws: KeychainError.couldNotAccessKeychain) {
            try valet.string(forKey: "key", withPrompt: "why")
        }
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `Reading bytes that are not UTF-8 as text from a SecureEnclaveValet finds nothing`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.valet()
        try valet.setObject(Data([0xFF]), forKey: "key")
        #expect(throws: KeychainError.itemNotFound) {
            try valet.string(forKey: "key", withPrompt: "why")
        }
    }

    @Test(arguments: EnclaveSample.Backend.embedded)
    func `Reading a SecureEnclaveValet accepts the passcode if the access control allows it`(
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
    func `Reading a SecureEnclaveValet accepts a finger if the access control allows it`(
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

@Suite struct `A SinglePromptSecureEnclaveValet` {
    @Test(arguments: EnclaveSample.Backend.allCases)
    func `A SinglePromptSecureEnclaveValet asks at the first read only`(
        _ backend: EnclaveSample.Backend
    ) throws {
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
    func `A single-prompt valet asks again after requirePromptOnNextAccess`(
        _ backend: EnclaveSample.Backend
    ) throws {
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
    func `A single-prompt valet asks the user for its keys`(_ backend: EnclaveSample.Backend) throws
    {
        let sample = try EnclaveSample(backend)
        let valet = sample.singlePromptValet()
        try valet.setString("1", forKey: "one")
        #expect(valet.canAccessKeychain())
        #expect(try valet.allKeys(userPrompt: "keys") == ["one"])
        #expect(try valet.string(forKey: "one", withPrompt: "value") == "1")
        #expect(sample.prompts == ["keys"])
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `A single-prompt valet does not use the answer that another object got`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        let (one, other) = (sample.singlePromptValet(), sample.singlePromptValet())
        try one.setString("1", forKey: "one")
        _ = try one.string(forKey: "one", withPrompt: "first")
        _ = try other.string(forKey: "one", withPrompt: "second")
        #expect(sample.prompts == ["first", "second"])
    }

    @Test(arguments: EnclaveSample.Backend.embedded)
    func `A single-prompt valet reads a value that was stored after it had asked`(
        _ backend: EnclaveSample.Backend
    ) throws {
        let sample = try EnclaveSample(backend)
        let valet = sample.singlePromptValet()
        try valet.setString("1", forKey: "one")
        _ = try valet.string(forKey: "one", withPrompt: "first")
        try valet.setString("2", forKey: "one")
        #expect(try valet.string(forKey: "one", withPrompt: "second") == "2")
        #expect(sample.prompts == ["first"])
    }
}
