// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import KeychainModel
internal import TestValues
internal import Testing

@testable internal import Valet

@Suite struct `A valet for tasks that a person has to be there for` {
    @Test(arguments: EnclaveSample.Backend.allCases)
    func `does what the valet does`(_ backend: EnclaveSample.Backend) async throws {
        let sample = try EnclaveSample(backend)
        let (valet, source) = (sample.valet(), sample.plainValet())
        let tasks = valet.asynchronous
        #expect(await tasks.canAccessKeychain())
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
    }

    @Test(arguments: EnclaveSample.Backend.allCases)
    func `asks once where the valet does`(_ backend: EnclaveSample.Backend) async throws {
        let sample = try EnclaveSample(backend)
        let (valet, source) = (sample.singlePromptValet(), sample.plainValet())
        let tasks = valet.asynchronous
        #expect(await tasks.canAccessKeychain())
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
    func `throws what the valet throws`(_ backend: EnclaveSample.Backend) async throws {
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

@Suite struct `A cancelled task that a person is asked for` {
    @Test(arguments: EnclaveSample.Backend.embedded)
    func `takes the question back`(_ backend: EnclaveSample.Backend) async throws {
        let sample = try EnclaveSample(backend)
        let tasks = sample.valet().asynchronous
        try await tasks.setString("value", forKey: "key")
        try sample.pinentry.answer(["HANG"])
        let task = Task { try await tasks.string(forKey: "key", withPrompt: "why") }
        await question(sample.pinentry)
        task.cancel()
        await #expect(throws: KeychainError.userCancelled) { try await task.value }
        #expect(await isOver(sample.pinentry))
        try sample.agree()
        #expect(try await tasks.string(forKey: "key", withPrompt: "again") == "value")
    }

    @Test(arguments: EnclaveSample.Backend.embedded)
    func `leaves the question that others may wait for, until it is told to ask again`(
        _ backend: EnclaveSample.Backend
    ) async throws {
        let sample = try EnclaveSample(backend)
        let tasks = sample.singlePromptValet().asynchronous
        try await tasks.setString("value", forKey: "key")
        try sample.pinentry.answer(["HANG"])
        let task = Task { try await tasks.string(forKey: "key", withPrompt: "why") }
        await question(sample.pinentry)
        task.cancel()
        await #expect(throws: KeychainError.userCancelled) { try await task.value }
        #expect(!sample.pinentry.isGone)
        tasks.requirePromptOnNextAccess()
        #expect(await isOver(sample.pinentry))
        try sample.agree()
        #expect(try await tasks.string(forKey: "key", withPrompt: "again") == "value")
    }

    private func question(_ pinentry: ScriptedPinentry) async {
        await elsewhere { pinentry.awaitQuestion() }
    }

    /// Whether the program that asks ends long before the time for an answer is over.
    private func isOver(_ pinentry: ScriptedPinentry) async -> Bool {
        await elsewhere {
            for _ in 0..<1500 {
                if pinentry.isGone { return true }
                usleep(10_000)
            }
            return false
        }
    }

    /// Waits on a thread that is nobody's executor.
    private func elsewhere<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: body()) }
        }
    }
}
