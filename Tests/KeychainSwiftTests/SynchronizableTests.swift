// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainServices
internal import ValetSecItem

@testable internal import KeychainSwift

@Suite struct `Synchronized items of KeychainSwift` {
    private func flags(_ sample: Sample) -> [Bool?] {
        sample.items("key").map { ($0[kSecAttrSynchronizable] as? NSNumber)?.boolValue }
    }

    @Test(arguments: Way.all)
    func `are made while the flag is set, and found then alone`(_ way: Way) {
        let sample = Sample(way)
        #expect(sample.keychain(synchronizable: true).set("x", forKey: "key"))
        #expect(flags(sample) == [true])
        #expect(sample.keychain().get("key") == nil)
        #expect(!sample.keychain().delete("key"))
        #expect(sample.keychain(synchronizable: true).get("key") == "x")
    }

    @Test(arguments: Way.all)
    func `do not hide local ones while the flag is set`(_ way: Way) {
        let sample = Sample(way)
        sample.keychain().set("x", forKey: "key")
        let keychain = sample.keychain(synchronizable: true)
        #expect(keychain.get("key") == "x")
        #expect(keychain.allKeys.contains(sample.prefix + "key"))
        #expect(keychain.delete("key"))
        #expect(sample.items("key").isEmpty)
    }

    @Test(arguments: Way.all)
    func `take the place of a local one`(_ way: Way) {
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
    func `are one with the local one after storing`(_ way: Way) {
        let sample = Sample(way)
        sample.keychain(synchronizable: true).set("1", forKey: "key")
        sample.keychain().set("2", forKey: "key")
        #expect(Set(flags(sample)) == [true, false])
        #expect(sample.keychain(synchronizable: true).set("new", forKey: "key"))
        #expect(flags(sample) == [true])
        #expect(sample.keychain(synchronizable: true).get("key") == "new")
    }

    @Test(arguments: Way.all)
    func `are left alone by storing a local one`(_ way: Way) {
        let sample = Sample(way)
        sample.keychain(synchronizable: true).set("1", forKey: "key")
        #expect(sample.keychain().set("2", forKey: "key"))
        #expect(sample.keychain().get("key") == "2")
        #expect(Set(flags(sample)) == [true, false])
    }

    @Test(arguments: Way.all)
    func `come back after they were deleted`(_ way: Way) {
        let keychain = Sample(way).keychain(synchronizable: true)
        keychain.set("1", forKey: "key")
        #expect(keychain.delete("key"))
        #expect(keychain.get("key") == nil)
        #expect(keychain.set("2", forKey: "key"))
        #expect(keychain.get("key") == "2")
    }
}
