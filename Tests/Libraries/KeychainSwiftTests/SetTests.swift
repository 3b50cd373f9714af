// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainServices
internal import ValetSecItem
internal import ValetTestSupport

@testable internal import KeychainSwift

private let classes: [(KeychainSwiftAccessOptions, String)] = [
    (.accessibleWhenUnlocked, "ak"), (.accessibleWhenUnlockedThisDeviceOnly, "aku"),
    (.accessibleAfterFirstUnlock, "ck"), (.accessibleAfterFirstUnlockThisDeviceOnly, "cku"),
]

@Suite struct `Storing with KeychainSwift` {
    @Test(
        arguments: Way.all,
        ["", "x", "é", "🙂🏳️‍🌈", "a\u{0}b", "\n", String(repeating: "long ", count: 100_000)])
    func `KeychainSwift stores text unchanged`(_ way: Way, _ text: String) {
        let keychain = Sample(way).keychain()
        #expect(keychain.set(text, forKey: "key"))
        #expect(keychain.lastResultCode == noErr)
        #expect(keychain.get("key") == text)
    }

    @Test(arguments: Way.all, [0, 1, 4096, 1 << 20])
    func `KeychainSwift stores bytes unchanged`(_ way: Way, _ count: Int) {
        let keychain = Sample(way).keychain()
        let data = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        #expect(keychain.set(data, forKey: "key"))
        #expect(keychain.getData("key") == data)
    }

    @Test(arguments: Way.all, [true, false])
    func `KeychainSwift stores a Boolean as one byte`(_ way: Way, _ value: Bool) {
        let keychain = Sample(way).keychain()
        #expect(keychain.set(value, forKey: "key"))
        #expect(keychain.getBool("key") == value)
        #expect(keychain.getData("key") == Data([value ? 1 : 0]))
    }

    @Test(arguments: Way.all, ["", "é", "e\u{301}", "🙂", "a\u{0}b", " ", "a/b"])
    func `KeychainSwift accepts any key, exact to the byte`(_ way: Way, _ key: String) {
        let sample = Sample(way)
        let keychain = sample.keychain()
        #expect(keychain.set("value", forKey: key))
        #expect(keychain.get(key) == "value")
        #expect(keychain.get(key + "\u{0}") == nil)
        #expect(sample.items(key).count == 1)
    }

    @Test(arguments: Way.all)
    func `KeychainSwift replaces the value under a key`(_ way: Way) {
        let sample = Sample(way)
        let keychain = sample.keychain()
        keychain.set("old", forKey: "key")
        let reference = keychain.getData("key", asReference: true)
        #expect(keychain.set("new", forKey: "key"))
        #expect(keychain.get("key") == "new")
        #expect(sample.items("key").count == 1)
        #expect(keychain.getData("key", asReference: true) == reference)
    }

    @Test(arguments: Way.all, classes)
    func `KeychainSwift stores an item with the access that is asked for`(
        _ way: Way, _ access: (option: KeychainSwiftAccessOptions, code: String)
    ) {
        let sample = Sample(way)
        #expect(sample.keychain().set("x", forKey: "key", withAccess: access.option))
        #expect(sample.items("key").map { $0[kSecAttrAccessible] as? String } == [access.code])
    }

    @Test(arguments: Way.all)
    func `KeychainSwift changes the access of an existing item`(_ way: Way) {
        let sample = Sample(way)
        let keychain = sample.keychain()
        keychain.set("old", forKey: "key", withAccess: .accessibleAfterFirstUnlock)
        #expect(keychain.set("new", forKey: "key"))
        #expect(keychain.get("key") == "new")
        #expect(
            sample.items("key").map { $0[kSecAttrAccessible] as? String }
                == [kSecAttrAccessibleWhenUnlocked as String])
    }

    @Test(arguments: Way.all)
    func `KeychainSwift changes nothing if storing fails`(_ way: Way) {
        let sample = Sample(way)
        let keychain = sample.keychain()
        keychain.set("old", forKey: "key")
        #expect(
            !keychain.set(
                "new", forKey: "key", withAccess: .accessibleWhenPasscodeSetThisDeviceOnly))
        #expect(keychain.lastResultCode == errSecNotAvailable)
        #expect(keychain.get("key") == "old")
    }

    @Test(arguments: Way.all)
    func `KeychainSwift refuses a value larger than 16 MiB`(_ way: Way) {
        let keychain = Sample(way).keychain()
        #expect(!keychain.set(Data(count: 16 << 20 + 1), forKey: "key"))
        #expect(keychain.lastResultCode == errSecDataTooLarge)
    }

    // Promise: 13.11
    @Test(arguments: Way.all)
    func `KeychainSwift does not change an item of other software with a service`(_ way: Way) {
        let sample = Sample(way)
        #expect(sample.plant("key", Data("theirs".utf8), [kSecAttrService: "service"]) == noErr)
        sample.keychain().set("ours", forKey: "key")
        #expect(sample.keychain().get("key") == "ours")
        let values = sample.items("key").compactMap { $0[kSecValueData] as? Data }
        #expect(Set(values) == [Data("ours".utf8), Data("theirs".utf8)])
    }

    @Test(arguments: Way.all)
    func `KeychainSwift stores in the group that is set, and leaves an item in its group`(
        _ way: Way
    ) {
        let sample = Sample(way)
        let shared = sample.keychain(group: TestProcess.sharedGroup)
        #expect(shared.set("old", forKey: "key"))
        #expect(sample.keychain().set("new", forKey: "key"))
        #expect(shared.get("key") == "new")
        #expect(
            sample.items("key").map { $0[kSecAttrAccessGroup] as? String }
                == [TestProcess.sharedGroup])
    }

    @Test(arguments: Way.all)
    func `KeychainSwift leaves one item if several groups had one with the key`(_ way: Way) {
        let sample = Sample(way)
        sample.keychain(group: TestProcess.sharedGroup).set("1", forKey: "key")
        sample.keychain(group: TestProcess.defaultGroup).set("2", forKey: "key")
        #expect(sample.items("key").count == 2)
        #expect(sample.keychain().set("new", forKey: "key"))
        #expect(sample.items("key").map { $0[kSecValueData] as? Data } == [Data("new".utf8)])
    }

    @Test(arguments: Way.all, ["", "someone else's"])
    func `KeychainSwift refuses to store in a group that is not the application's`(
        _ way: Way, _ group: String
    ) {
        let keychain = Sample(way).keychain(group: group)
        #expect(!keychain.set("x", forKey: "key"))
        #expect(keychain.lastResultCode == errSecMissingEntitlement)
        #expect(keychain.lastResultCode == -34018)
    }
}
