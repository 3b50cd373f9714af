// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainServices
internal import ValetSecItem
internal import ValetTestSupport

@testable internal import KeychainSwift

@Suite struct `Synchronized items of KeychainSwift` {
    private func flags(_ sample: Sample) -> [Bool?] {
        sample.items("key").map { ($0[kSecAttrSynchronizable] as? NSNumber)?.boolValue }
    }

    @Test(arguments: Way.all)
    func `KeychainSwift makes and finds synchronized items only while the flag is set`(_ way: Way) {
        let sample = Sample(way)
        #expect(sample.keychain(synchronizable: true).set("x", forKey: "key"))
        #expect(flags(sample) == [true])
        #expect(sample.keychain().get("key") == nil)
        #expect(!sample.keychain().delete("key"))
        #expect(sample.keychain(synchronizable: true).get("key") == "x")
    }

    @Test(arguments: Way.all)
    func `KeychainSwift finds local items while the synchronizable flag is set`(_ way: Way) {
        let sample = Sample(way)
        sample.keychain().set("x", forKey: "key")
        let keychain = sample.keychain(synchronizable: true)
        #expect(keychain.get("key") == "x")
        #expect(keychain.allKeys.contains(sample.prefix + "key"))
        #expect(keychain.delete("key"))
        #expect(sample.items("key").isEmpty)
    }

    @Test(arguments: Way.all)
    func `A synchronized item replaces a local one with its key`(_ way: Way) {
        let sample = Sample(way)
        sample.keychain().set("old", forKey: "key", withAccess: .accessibleAfterFirstUnlock)
        let reference = sample.keychain().getData("key", asReference: true)
        let keychain = sample.keychain(synchronizable: true)
        #expect(keychain.set("new", forKey: "key"))
        #expect(flags(sample) == [true])
        #expect(keychain.get("key") == "new")
        #expect(keychain.getData("key", asReference: true) == reference)
    }

    @Test(arguments: Way.all)
    func `A synchronized item and a local one with its key are one item after storing`(_ way: Way) {
        let sample = Sample(way)
        sample.keychain(synchronizable: true).set("1", forKey: "key")
        sample.keychain().set("2", forKey: "key")
        #expect(Set(flags(sample)) == [true, false])
        #expect(sample.keychain(synchronizable: true).set("new", forKey: "key"))
        #expect(flags(sample) == [true])
        #expect(sample.keychain(synchronizable: true).get("key") == "new")
    }

    @Test(arguments: Way.all)
    func `Storing a local item leaves the synchronized one with its key`(_ way: Way) {
        let sample = Sample(way)
        sample.keychain(synchronizable: true).set("1", forKey: "key")
        #expect(sample.keychain().set("2", forKey: "key"))
        #expect(sample.keychain().get("key") == "2")
        #expect(Set(flags(sample)) == [true, false])
    }

    @Test(arguments: Way.all)
    func `A synchronized item can be stored again after it was deleted`(_ way: Way) {
        let keychain = Sample(way).keychain(synchronizable: true)
        keychain.set("1", forKey: "key")
        #expect(keychain.delete("key"))
        #expect(keychain.get("key") == nil)
        #expect(keychain.set("2", forKey: "key"))
        #expect(keychain.get("key") == "2")
    }
}

@Suite struct `The process of these tests` {
    /// Without them, tests of the embedded keychain would be skipped silently.
    @Test
    func `The process of the KeychainSwift tests has the keychain and identity that they need`() {
        #expect(TestProcess.isPrepared)
    }
}
