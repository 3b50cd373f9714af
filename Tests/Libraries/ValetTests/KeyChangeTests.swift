// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing

@testable internal import Valet

@Suite(.enabled(if: TestBackend.storeIsThere)) struct `The changes of a valet's keys` {
    private let sample = Sample(.store)

    /// The first changes, until one of them is `last`.
    private func changes(_ keys: Valet.KeyChanges, until last: KeyChange) async throws
        -> [KeyChange]
    {
        var found: [KeyChange] = []
        for try await change in keys {
            found.append(change)
            if change == last { break }
        }
        return found
    }

    @Test(.timeLimit(.minutes(20)))
    func `Changes of a valet's keys are reported from the call on, without the canary`()
        async throws
    {
        let valet = sample.valet()
        try valet.setString("1", forKey: "before")
        let keys = try valet.keyChanges()
        try valet.setString("1", forKey: "a")
        #expect(valet.canAccessKeychain())
        try valet.setString("1", forKey: "b")
        try valet.removeObject(forKey: "before")
        try valet.setString("1", forKey: "last")
        let found = try await changes(keys, until: .stored(key: "last"))
        #expect(Set(found).isSuperset(of: [.removed(key: "before"), .stored(key: "last")]))
        #expect(
            Set(found).isSubset(of: [
                .removed(key: "before"), .stored(key: "a"), .stored(key: "b"),
                .stored(key: "last"),
            ]))
    }

    @Test(.timeLimit(.minutes(20)))
    func `Changes of a valet's keys are reported while they happen`() async throws {
        let valet = sample.valet()
        var keys = try valet.keyChanges().makeAsyncIterator()
        for number in 0..<3 {
            try valet.setString("1", forKey: "key \(number)")
            #expect(try await keys.next() == .stored(key: "key \(number)"))
        }
        try valet.removeObject(forKey: "key 1")
        #expect(try await keys.next() == .removed(key: "key 1"))
    }

    /// As the agent of sync writes what other devices have changed.
    @Test(.timeLimit(.minutes(20)))
    func `An iCloud valet reports changes that another process makes`() async throws {
        let valet = sample.cloudValet()
        try valet.setString("1", forKey: "before")
        var keys = try valet.keyChanges().makeAsyncIterator()
        let session = try KeychainSession.current()
        let folder = session.store.location.folder + "/."
        let agent = KeychainSession(ItemStore(KeychainLocation(folder: folder)), session.caller)
        defer { agent.store.close() }
        let bytes: [UInt8] = [1]
        let value = SecretValue(copying: bytes.span)
        try agent.set(valet.sandbox.item("brought"), value: value, AuthenticationPolicy())
        #expect(try await keys.next() == .stored(key: "brought"))
        try agent.set(valet.sandbox.item("before"), value: value, AuthenticationPolicy())
        #expect(try await keys.next() == .stored(key: "before"))
        let name = PasswordName("before", in: valet.sandbox)
        #expect(try agent.delete(name.query) == 1)
        #expect(try await keys.next() == .removed(key: "before"))
        #expect(try valet.string(forKey: "brought") == "\u{1}")
    }

    @Test(.timeLimit(.minutes(20)))
    func `The changes of a valet's keys end with the task that reads them`() async throws {
        let keys = try sample.valet().keyChanges()
        let task = Task {
            var count = 0
            for try await _ in keys { count += 1 }
            return count
        }
        task.cancel()
        #expect(try await task.value == 0)
    }

    @Test func `The key changes are refused for a group of another application`() throws {
        let valet = sample.valet(.sharedGroup(.sample("XYZ"), nil), .whenUnlocked)
        #expect(throws: KeychainError.missingEntitlement) { _ = try valet.keyChanges() }
    }
}
