// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel
internal import ValetTestValues

@testable internal import Valet

@Suite struct `An asynchronous SecureEnclaveValet` {
    @Test(arguments: EnclaveSample.Backend.allCases)
    func `An asynchronous SecureEnclaveValet does what the valet does`(
        _ backend: EnclaveSample.Backend
    ) async throws {
        let sample = try EnclaveSample(backend)
        let (valet, source) = (sample.valet(), sample.plainValet())
        let tasks = valet.asynchronous
        #expect(await tasks.canAccessKeychain())
        #expect(await tasks.canMeetAccessControl())
        try await tasks.setString("1", forKey: "one")
        try await tasks.setObject(Data([2]), forKey: "two")
        #expect(try await tasks.containsObject(forKey: "one"))
        #expect(sample.prompts == [])
        #expect(try await tasks.string(forKey: "one", withPrompt: "first") == "1")
        #expect(try await tasks.object(forKey: "two", withPrompt: "second") == Data([2]))
        #expect(try await tasks.string(forKey: "one") == "1")
        #expect(try await tasks.object(forKey: "two") == Data([2]))
        #expect(sample.prompts == ["first", "second", "", ""])
        try await tasks.removeObject(forKey: "one")
        #expect(try valet.containsObject(forKey: "one") == false)
        try await tasks.removeAllObjects()
        #expect(try valet.containsObject(forKey: "two") == false)
        try source.setString("3", forKey: "three")
        try await tasks.migrateObjects(from: source, removeOnCompletion: false)
        #expect(try valet.containsObject(forKey: "three"))
        try await tasks.removeAllObjects()
        let service = source.sandbox.service
        try await tasks.migrateObjects(
            matching: ["class": "genp", "svce": AnyHashable(service)], removeOnCompletion: true)
        #expect(try valet.containsObject(forKey: "three"))
        #expect(try source.allKeys() == [])
        let single = sample.singlePromptValet()
        try single.setString("4", forKey: "four")
        try await tasks.migrateObjectsFromSinglePromptSecureEnclaveValet(removeOnCompletion: true)
        #expect(try valet.containsObject(forKey: "four"))
        #expect(try !single.containsObject(forKey: "four"))
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `An asynchronous SinglePromptSecureEnclaveValet asks the user once`(
        _ backend: EnclaveSample.Backend
    ) async throws {
        let sample = try EnclaveSample(backend)
        let (valet, source) = (sample.singlePromptValet(), sample.plainValet())
        let tasks = valet.asynchronous
        #expect(await tasks.canAccessKeychain())
        #expect(await tasks.canMeetAccessControl())
        try await tasks.setString("1", forKey: "one")
        try await tasks.setObject(Data([2]), forKey: "two")
        #expect(try await tasks.containsObject(forKey: "one"))
        #expect(try await tasks.string(forKey: "one", withPrompt: "first") == "1")
        #expect(try await tasks.object(forKey: "two", withPrompt: "second") == Data([2]))
        #expect(try await tasks.allKeys(userPrompt: "third") == ["one", "two"])
        tasks.requirePromptOnNextAccess()
        #expect(try await tasks.allKeys(userPrompt: "fourth") == ["one", "two"])
        #expect(sample.prompts == ["first", "fourth"])
        try await tasks.removeObject(forKey: "one")
        #expect(try valet.containsObject(forKey: "one") == false)
        try await tasks.removeAllObjects()
        try source.setString("3", forKey: "three")
        try await tasks.migrateObjects(from: source, removeOnCompletion: false)
        #expect(try valet.containsObject(forKey: "three"))
        try await tasks.removeAllObjects()
        let service = source.sandbox.service
        try await tasks.migrateObjects(
            matching: ["class": "genp", "svce": AnyHashable(service)], removeOnCompletion: true)
        #expect(try valet.containsObject(forKey: "three"))
        #expect(try source.allKeys() == [])
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `An asynchronous SecureEnclaveValet throws the errors of the valet`(
        _ backend: EnclaveSample.Backend
    ) async throws {
        let sample = try EnclaveSample(backend)
        let (tasks, other) = (sample.valet().asynchronous, sample.singlePromptValet().asynchronous)
        await #expect(throws: KeychainError.itemNotFound) { try await tasks.object(forKey: "key") }
        await #expect(throws: KeychainError.emptyKey) {
            try await other.object(forKey: "", withPrompt: "")
        }
        await #expect(throws: KeychainError.emptyValue) {
            try await tasks.setString("", forKey: "key")
        }
        await #expect(throws: MigrationError.invalidQuery) {
            try await tasks.migrateObjects(matching: [:], removeOnCompletion: true)
        }
        await #expect(throws: MigrationError.invalidQuery) {
            try await other.migrateObjects(matching: [:], removeOnCompletion: true)
        }
        try await tasks.setString("value", forKey: "key")
        try sample.decline()
        await #expect(throws: KeychainError.userCancelled) {
            try await tasks.string(forKey: "key", withPrompt: "why")
        }
    }
}

@Suite struct `A cancelled read of a SecureEnclaveValet` {
    @Test(arguments: EnclaveSample.Backend.embedded)
    func `Cancelling a task ends the question of a SecureEnclaveValet`(
        _ backend: EnclaveSample.Backend
    ) async throws {
        let sample = try EnclaveSample(backend)
        let tasks = sample.valet().asynchronous
        try await tasks.setString("value", forKey: "key")
        try sample.pinentry.answer(["HANG"])
        await cancel(sample.pinentry) {
            try await tasks.string(forKey: "key", withPrompt: "why")
        }
        try sample.agree()
        #expect(try await tasks.string(forKey: "key", withPrompt: "again") == "value")
    }

    @Test(arguments: EnclaveSample.Backend.embedded)
    func `Cancelling a task leaves the question of a single-prompt valet open for others`(
        _ backend: EnclaveSample.Backend
    ) async throws {
        let sample = try EnclaveSample(backend)
        let tasks = sample.singlePromptValet().asynchronous
        try await tasks.setString("value", forKey: "key")
        try sample.pinentry.answer(["HANG"])
        await cancel(sample.pinentry) {
            try await tasks.string(forKey: "key", withPrompt: "why")
        } then: { [pinentry = sample.pinentry] in
            // Long enough for one that is ended to be gone.
            usleep(200_000)
            #expect(!pinentry.isGone)
            tasks.requirePromptOnNextAccess()
        }
        try sample.agree()
        #expect(try await tasks.string(forKey: "key", withPrompt: "again") == "value")
    }

    /// Cancels a task while its question is asked, does `then`, and finds that the program that
    /// asks ends long before the time for an answer is over.
    ///
    /// On a thread that is nobody's executor: a task may have to wait for minutes behind the other
    /// tests, and the question stays for one.
    private func cancel(
        _ pinentry: ScriptedPinentry, _ read: @escaping @Sendable () async throws -> String,
        then react: @escaping @Sendable () -> Void = {}
    ) async {
        let task = Task { try await read() }
        let isOver = await elsewhere {
            pinentry.awaitQuestion()
            task.cancel()
            react()
            for _ in 0..<1500 {
                if pinentry.isGone { return true }
                usleep(10_000)
            }
            return false
        }
        #expect(isOver)
        await #expect(throws: KeychainError.userCancelled) { try await task.value }
    }

    private func elsewhere<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: body()) }
        }
    }
}
