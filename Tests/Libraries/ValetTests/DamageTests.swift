// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel
internal import ValetTestSupport

@testable internal import Valet

@Suite struct `A valet with a damaged item` {
    private let keychain = TestKeychain()
    private let valet: Valet
    private let other: Valet

    init() throws {
        let backend = StoreKeychain(keychain.session)
        let identifier = try #require(Identifier(nonEmpty: "valet"))
        valet = Valet(Configuration(.explicit(identifier), .whenUnlocked), backend: backend)
        other = Valet(Configuration(.standard(identifier), .whenUnlocked), backend: backend)
        try valet.setString("1", forKey: "a")
        try valet.setString("2", forKey: "b")
        try other.setString("3", forKey: "a")
        try keychain.damageFirstItem()
    }

    @Test func `The other keys are listed, and the last failure is the damage`() throws {
        KeychainFailure.last = nil
        #expect(try valet.allKeys() == ["b"])
        #expect(KeychainFailure.last?.code == .damaged)
    }

    @Test func `A list of keys is not empty because all of them are damaged`() throws {
        try valet.removeObject(forKey: "b")
        #expect(throws: KeychainError.couldNotAccessKeychain) { try valet.allKeys() }
        #expect(KeychainFailure.last?.code == .damaged)
    }

    @Test func `A key is there whether or not its item is damaged`() throws {
        #expect(try valet.containsObject(forKey: "a"))
        #expect(throws: KeychainError.couldNotAccessKeychain) { try valet.string(forKey: "a") }
        try valet.setString("new", forKey: "a")
        #expect(try valet.string(forKey: "a") == "new")
    }

    // Promise: 14.2
    /// The key that is migrated may be that of the damaged item.
    @Test func `Nothing is migrated into a valet with a damaged item`() throws {
        #expect(throws: KeychainError.couldNotAccessKeychain) {
            try valet.migrateObjects(from: other, removeOnCompletion: true)
        }
        #expect(try other.string(forKey: "a") == "3")
        #expect(throws: KeychainError.couldNotAccessKeychain) { try valet.string(forKey: "a") }
    }
}
