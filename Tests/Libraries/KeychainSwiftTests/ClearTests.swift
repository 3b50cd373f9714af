// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import Valet
internal import ValetKeychainServices
internal import ValetSecItem
internal import ValetTestSupport
internal import ValetTesting

@testable internal import KeychainSwift

/// A keychain of its own for each, since all of it is deleted.
@Suite(.temporaryKeychain(accessGroups: ["one", "two"]))
struct `Clearing with KeychainSwift` {
    private func keychain(_ way: Way, _ prefix: String = "") -> KeychainSwift {
        let keychain = KeychainSwift(keyPrefix: prefix)
        keychain.keychain = way.passwords
        return keychain
    }

    @Test(arguments: Way.allCases)
    func `Clearing reports that there is nothing to delete`(_ way: Way) throws {
        let keychain = keychain(way)
        #expect(!keychain.clear())
        #expect(keychain.lastResultCode == errSecItemNotFound)
        keychain.lastResultCode = 7
        #expect(keychain.allKeys == [])
        #expect(keychain.lastResultCode == 7)
        #expect(try keychain.throwing.allKeys() == [])
    }

    @Test(arguments: Way.allCases)
    func `KeychainSwift lists keys that look alike each by itself`(_ way: Way) {
        keychain(way).set("1", forKey: "é")
        keychain(way).set("2", forKey: "e\u{301}")
        #expect(keychain(way).allKeys.count == 2)
        #expect(keychain(way).get("é") == "1" && keychain(way).get("e\u{301}") == "2")
        #expect(keychain(way).clear())
    }

    @Test(arguments: Way.allCases)
    func `Clearing ignores the prefix`(_ way: Way) {
        keychain(way, "a").set("1", forKey: "key")
        keychain(way).set("2", forKey: "key")
        #expect(keychain(way, "a").allKeys == ["akey", "key"])
        #expect(keychain(way, "b").clear())
        #expect(keychain(way).allKeys == [])
    }

    @Test(arguments: Way.allCases)
    func `Clearing deletes only the items of the group that is set`(_ way: Way) {
        let (one, two) = (keychain(way), keychain(way))
        (one.accessGroup, two.accessGroup) = ("one", "two")
        one.set("1", forKey: "key")
        two.set("2", forKey: "key")
        #expect(one.clear())
        #expect(keychain(way).get("key") == "2")
        #expect(keychain(way).clear())
        #expect(two.get("key") == nil)
    }

    @Test(arguments: Way.allCases)
    func `Clearing leaves synchronized items unless the flag is set`(_ way: Way) {
        let cloud = keychain(way)
        cloud.synchronizable = true
        cloud.set("1", forKey: "a")
        keychain(way).set("2", forKey: "b")
        #expect(keychain(way).clear())
        #expect(cloud.allKeys == ["a"])
        keychain(way).set("2", forKey: "b")
        #expect(cloud.clear())
        #expect(cloud.allKeys == [])
    }

    @Test(arguments: Way.allCases)
    func `Clearing deletes the passwords of other software and of valets`(_ way: Way) throws {
        let identifier = try #require(Identifier(nonEmpty: "id"))
        let valet = Valet.valet(with: identifier, accessibility: .whenUnlocked)
        try valet.setString("x", forKey: "key")
        let web: NSDictionary = [kSecClass: kSecClassInternetPassword, kSecAttrServer: "a.b"]
        #expect(SecItemAdd(web, nil) == noErr)
        #expect(keychain(way).clear())
        #expect(try valet.allKeys() == [])
        #expect(SecItemCopyMatching(web, nil) == noErr)
    }
}
