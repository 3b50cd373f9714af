// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel

@testable internal import Valet

@Suite struct `Migrating in a task` {
    private struct Declined: Error {}

    @Test(arguments: TestBackend.enabled, [false, true])
    func `An asynchronous migration moves or copies the items of another valet`(
        _ backend: TestBackend, _ removes: Bool
    ) async throws {
        let valets = try Migrating(backend)
        try await valets.destination.asynchronous
            .migrateObjects(from: valets.source, removeOnCompletion: removes)
        #expect(try valets.arrived == ["one": "1", "two": "2"])
        #expect(try valets.source.allKeys() == (removes ? [] : ["one", "two"]))
    }

    @Test(arguments: TestBackend.enabled, [false, true])
    func `An asynchronous migration moves or copies the items that a query finds`(
        _ backend: TestBackend, _ removes: Bool
    ) async throws {
        let valets = try Migrating(backend)
        let service = valets.source.sandbox.service
        try await valets.destination.asynchronous.migrateObjects(
            matching: ["class": "genp", "svce": AnyHashable(service)], removeOnCompletion: removes)
        #expect(try valets.arrived == ["one": "1", "two": "2"])
        #expect(try valets.source.allKeys() == (removes ? [] : ["one", "two"]))
    }

    @Test(arguments: TestBackend.enabled)
    func `An asynchronous migration stores the pairs that the closure makes of a valet's items`(
        _ backend: TestBackend
    ) async throws {
        let valets = try Migrating(backend)
        try await valets.destination.asynchronous.migrateObjects(from: valets.source) { pair in
            pair.key == AnyHashable("two")
                ? nil : MigratableKeyValuePair(key: "new \(pair.key)", value: pair.value)
        }
        #expect(try valets.arrived == ["new one": "1"])
        #expect(try valets.source.allKeys() == ["one", "two"])
    }

    @Test(arguments: TestBackend.enabled)
    func `An asynchronous migration stores the pairs that the closure makes of a query's items`(
        _ backend: TestBackend
    ) async throws {
        let valets = try Migrating(backend)
        let service = valets.source.sandbox.service
        try await valets.destination.asynchronous.migrateObjects(
            matching: ["class": "genp", "svce": AnyHashable(service)]
        ) { pair in MigratableKeyValuePair(key: "new \(pair.key)", value: pair.value) }
        #expect(try valets.arrived == ["new one": "1", "new two": "2"])
        #expect(try valets.source.allKeys() == ["one", "two"])
    }

    @Test(arguments: TestBackend.enabled, [false, true])
    func `An asynchronous migration finds items of the retired accessibility "always"`(
        _ backend: TestBackend, _ removes: Bool
    ) async throws {
        let sample = Sample(backend)
        let tasks = sample.valet().asynchronous
        let everywhere = try retired(.always, "1", in: sample)
        let here = try retired(.alwaysThisDeviceOnly, "2", in: sample)
        try await tasks.migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion: removes)
        #expect(try await tasks.allKeys() == ["1"])
        try await tasks.migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValet(
            removeOnCompletion: removes)
        #expect(try await tasks.allKeys() == ["1", "2"])
        for service in [everywhere, here] {
            #expect(try sample.keychain.accounts(of: service, nil).isEmpty == removes)
        }
    }

    @Test(arguments: TestBackend.enabled)
    func `An asynchronous migration throws the errors of the migration and changes nothing`(
        _ backend: TestBackend
    ) async throws {
        let valets = try Migrating(backend)
        let tasks = valets.destination.asynchronous
        await #expect(throws: MigrationError.invalidQuery) {
            try await tasks.migrateObjects(matching: [:], removeOnCompletion: true)
        }
        await #expect(throws: MigrationError.invalidQuery) {
            try await tasks.migrateObjects(matching: [:]) { _ in nil }
        }
        await #expect(throws: Declined.self) {
            try await tasks.migrateObjects(from: valets.source) { _ in throw Declined() }
        }
        await #expect(throws: KeychainError.itemNotFound) {
            try await tasks.migrateObjectsFromAlwaysAccessibleValet(removeOnCompletion: true)
        }
        try valets.destination.setString("there", forKey: "two")
        await #expect(throws: MigrationError.keyToMigrateAlreadyExistsInValet) {
            try await tasks.migrateObjects(from: valets.source, removeOnCompletion: true)
        }
        #expect(try valets.arrived == ["two": "there"])
        #expect(try valets.source.allKeys() == ["one", "two"])
    }

    @Test func `An asynchronous migration does not begin after the task is cancelled`() async throws
    {
        let valets = try Migrating(.store)
        let (tasks, source) = (valets.destination.asynchronous, valets.source)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await tasks.migrateObjects(from: source, removeOnCompletion: true)
        }
        task.cancel()
        await #expect(throws: KeychainError.userCancelled) { try await task.value }
        #expect(try valets.arrived == [:])
        #expect(try source.allKeys() == ["one", "two"])
    }

    @Test func `An asynchronous migration keeps the full failure, whatever the type of its error`()
        async
    {
        let tasks = Sample(.store).valet().asynchronous
        let reason = await Task { () -> KeychainFailure? in
            KeychainFailure.last = nil
            do {
                _ = try await tasks.value(forKey: "missing", as: [Int].self)
                return nil
            } catch {
                return KeychainFailure.last
            }
        }.value
        #expect(reason?.code == .itemNotFound)
    }

    /// Stores a key as a valet of a retired accessibility did; where it is.
    private func retired(
        _ protectionClass: ProtectionClass, _ key: String, in sample: Sample
    ) throws -> PasswordService {
        let service = PasswordService(
            service: sample.valet().configuration.identity.service(protectionClass),
            accessGroup: nil,
            isSynchronizable: false, protectionClass: protectionClass)
        try sample.keychain.perform(Transfer(additions: [(service.item(key), Data([1]))]))
        return service
    }
}
