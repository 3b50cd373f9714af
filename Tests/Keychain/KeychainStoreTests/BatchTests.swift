// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite struct `Several items at once` {
    private let keychain = TestKeychain()
    private let service = PasswordService(
        service: "service", accessGroup: nil, isSynchronizable: false,
        protectionClass: .whenUnlocked)

    private func values(_ accounts: Set<String>) throws -> [String: String] {
        try keychain.store.values(of: accounts, in: service, for: keychain.caller)
            .mapValues { String(decoding: $0.array, as: UTF8.self) }
    }

    private func set(_ items: [(NewItem, String)]) throws {
        try keychain.store.set(
            items.map { Addition($0, value: .text($1)) }, for: keychain.caller)
    }

    @Test func `Several items are set and read together, and missing ones are missing`() throws {
        try set([(.generic("a"), "1"), (.generic("b"), "2")])
        try set([(.generic("b"), "3"), (.generic("c"), "4")])
        #expect(try values(["a", "b", "c", "d"]) == ["a": "1", "b": "3", "c": "4"])
        #expect(try values([]) == [:])
    }

    @Test func `Without a keychain several items are all missing`() throws {
        #expect(try values(["a"]) == [:])
    }

    @Test func `Several items remain unchanged if one of them cannot be set`() throws {
        try set([(.generic("a"), "1")])
        let items = [
            Addition(.generic("a"), value: .text("2")), Addition(.generic("b"), value: .text("2")),
            Addition(.generic("c").inGroup("foreign"), value: .text("2")),
        ]
        let failure = #expect(throws: KeychainFailure.self) {
            try keychain.store.set(items, for: keychain.caller)
        }
        #expect(failure?.code == .missingEntitlement)
        #expect(try values(["a", "b"]) == ["a": "1"])
    }

    @Test func `Several items are not read if one of them is damaged`() throws {
        try set([(.generic("a"), "1"), (.generic("b"), "2")])
        try keychain.tamper("UPDATE item SET secret = randomblob(length(secret)) WHERE number = 1")
        let failure = #expect(throws: KeychainFailure.self) { _ = try values(["a", "b"]) }
        #expect(failure?.code == .damaged)
        #expect(try values(["b"]) == ["b": "2"])
    }
}
