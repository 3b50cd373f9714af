// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainServices
internal import ValetSecItem
internal import ValetTestSupport

@testable internal import KeychainSwift

@Suite struct `Reading with KeychainSwift` {
    @Test(arguments: Way.all)
    func `KeychainSwift reports that nothing is stored under a key`(_ way: Way) {
        let keychain = Sample(way).keychain()
        #expect(keychain.get("key") == nil)
        #expect(keychain.lastResultCode == -25300)
        #expect(keychain.getData("key") == nil)
        #expect(keychain.getData("key", asReference: true) == nil)
        #expect(keychain.getBool("key") == nil)
        #expect(keychain.lastResultCode == errSecItemNotFound)
    }

    @Test(arguments: Way.all, [[0xFF], [0xC3], [0x61, 0x80], [0xED, 0xA0, 0x80]] as [[UInt8]])
    func `KeychainSwift reports that the stored bytes are not text`(_ way: Way, _ bytes: [UInt8]) {
        let keychain = Sample(way).keychain()
        keychain.set(Data(bytes), forKey: "key")
        #expect(keychain.get("key") == nil)
        #expect(keychain.lastResultCode == -67853)
        #expect(keychain.getData("key") == Data(bytes))
        #expect(keychain.lastResultCode == noErr)
    }

    @Test(arguments: Way.all, [[2], [0, 1], [0, 0], [1, 0], Array("true".utf8)] as [[UInt8]])
    func `KeychainSwift reads a Boolean from the first byte`(
        _ way: Way, _ bytes: [UInt8]
    ) throws {
        let keychain = Sample(way).keychain()
        keychain.set(Data(bytes), forKey: "key")
        #expect(keychain.getBool("key") == (bytes[0] == 1))
        #expect(keychain.lastResultCode == noErr)
        #expect(try keychain.throwing.getBool("key") == (bytes[0] == 1))
    }

    @Test(arguments: Way.all)
    func `KeychainSwift reports that an empty value is not a Boolean`(_ way: Way) {
        let keychain = Sample(way).keychain()
        keychain.set(Data(), forKey: "key")
        #expect(keychain.getBool("key") == nil)
        #expect(keychain.lastResultCode == errSecInvalidEncoding)
    }

    @Test(arguments: Way.all)
    func `KeychainSwift finds items of other software, with a service or without`(_ way: Way) {
        let sample = Sample(way)
        #expect(sample.plant("a", Data("1".utf8)) == noErr)
        #expect(sample.plant("b", Data("2".utf8), [kSecAttrService: "service"]) == noErr)
        #expect(sample.keychain().get("a") == "1")
        #expect(sample.keychain().get("b") == "2")
    }

    @Test(arguments: Way.all)
    func `KeychainSwift does not read an item without a value as an empty one`(_ way: Way) {
        let sample = Sample(way)
        #expect(sample.plant("key", nil) == noErr)
        let keychain = sample.keychain()
        #expect(keychain.getData("key") == nil)
        #expect(keychain.lastResultCode == errSecItemNotFound)
        #expect(keychain.set("x", forKey: "key"))
        #expect(keychain.get("key") == "x")
    }

    @Test(arguments: Way.all)
    func `KeychainSwift returns the persistent reference by which SecItem finds the item`(
        _ way: Way
    ) throws {
        let keychain = Sample(way).keychain()
        keychain.set("value", forKey: "key")
        let reference = try #require(keychain.getData("key", asReference: true))
        #expect(reference.count == 20)
        var result: AnyObject?
        let query: NSDictionary = [kSecValuePersistentRef: reference, kSecReturnData: true]
        #expect(unsafe SecItemCopyMatching(query, &result) == noErr)
        #expect(result as? Data == Data("value".utf8))
    }

    @Test(arguments: Way.all)
    func `KeychainSwift refuses to read a group that is not the application's`(_ way: Way) {
        let keychain = Sample(way).keychain(group: "someone else's")
        #expect(keychain.get("key") == nil)
        #expect(keychain.lastResultCode == errSecMissingEntitlement)
        keychain.lastResultCode = 7
        #expect(keychain.allKeys == [])
        #expect(keychain.lastResultCode == 7)
        let failure = #expect(throws: KeychainFailure.self) { try keychain.throwing.allKeys() }
        #expect(failure?.code == .missingEntitlement)
    }

    @Test(arguments: Way.all)
    func `KeychainSwift with a group set finds only the items of that group`(_ way: Way) {
        let sample = Sample(way)
        sample.keychain(group: TestProcess.sharedGroup).set("x", forKey: "key")
        #expect(sample.keychain(group: TestProcess.defaultGroup).get("key") == nil)
        #expect(sample.keychain(group: TestProcess.sharedGroup).get("key") == "x")
        #expect(sample.keychain().get("key") == "x")
    }

    @Test(arguments: Way.all)
    func `KeychainSwift lists keys with their prefix, each once`(_ way: Way) {
        let sample = Sample(way)
        let keychain = sample.keychain()
        keychain.set("1", forKey: "b")
        keychain.set("2", forKey: "a")
        sample.plant("a", Data([1]), [kSecAttrService: "service"])
        keychain.lastResultCode = 7
        #expect(
            keychain.allKeys.filter { $0.hasPrefix(sample.prefix) }
                == [sample.prefix + "a", sample.prefix + "b"])
        #expect(keychain.lastResultCode == 7)
    }

    @Test(arguments: Way.all)
    func `KeychainSwift leaves out accounts that are not text from its list of keys`(_ way: Way) {
        let sample = Sample(way)
        let bytes = Data(sample.prefix.utf8 + [0xFF])
        #expect(sample.plant("", nil, [kSecAttrAccount: bytes]) == noErr)
        sample.keychain().set("1", forKey: "a")
        #expect(
            sample.keychain().allKeys.filter { $0.hasPrefix(sample.prefix) }
                == [sample.prefix + "a"])
    }
}

@Suite struct `Deleting with KeychainSwift` {
    @Test(arguments: Way.all)
    func `KeychainSwift reports whether deleting found an item`(_ way: Way) {
        let keychain = Sample(way).keychain()
        keychain.set("x", forKey: "key")
        #expect(keychain.delete("key"))
        #expect(keychain.lastResultCode == noErr)
        #expect(keychain.get("key") == nil)
        #expect(!keychain.delete("key"))
        #expect(keychain.lastResultCode == -25300)
    }

    @Test(arguments: Way.all)
    func `KeychainSwift leaves no item with the key after deleting`(_ way: Way) {
        let sample = Sample(way)
        sample.plant("key", Data([1]), [kSecAttrService: "service"])
        sample.keychain(group: TestProcess.sharedGroup).set("x", forKey: "key")
        #expect(sample.keychain().delete("key"))
        #expect(sample.items("key").isEmpty)
    }

    @Test(arguments: Way.all)
    func `KeychainSwift leaves other keys and other prefixes when deleting`(_ way: Way) {
        let (one, two) = (Sample(way), Sample(way))
        one.keychain().set("1", forKey: "key")
        one.keychain().set("2", forKey: "other")
        two.keychain().set("3", forKey: "key")
        #expect(one.keychain().delete("key"))
        #expect(one.keychain().get("other") == "2")
        #expect(two.keychain().get("key") == "3")
    }
}
