// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel

@testable internal import Valet

@Suite struct `Sandboxes` {
    @Test(arguments: TestBackend.enabled)
    func `Valets with two identifiers have separate keys`(_ backend: TestBackend) throws {
        let one = Sample(backend)
        let other = one.valet(.standard(Sample().name), .whenUnlocked)
        try one.valet().setString("value", forKey: "key")
        try other.removeAllObjects()
        #expect(try other.allKeys() == [])
        #expect(try one.valet().allKeys() == ["key"])
    }

    @Test(arguments: TestBackend.enabled)
    func `Valets with two accessibilities have separate keys`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        try sample.valet(.whenUnlocked).setString("1", forKey: "key")
        try sample.valet(.afterFirstUnlock).setString("2", forKey: "key")
        #expect(try sample.valet(.whenUnlocked).string(forKey: "key") == "1")
        #expect(try sample.valet(.afterFirstUnlock).string(forKey: "key") == "2")
    }

    @Test(arguments: TestBackend.enabled)
    func `A synchronized valet and a local one have separate keys`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        try sample.cloudValet().setString("cloud", forKey: "key")
        #expect(try sample.valet().allKeys() == [])
        #expect(try sample.cloudValet().string(forKey: "key") == "cloud")
    }

    @Test(arguments: TestBackend.enabled)
    func `An explicitly set identifier keeps local and synchronized items apart`(
        _ backend: TestBackend
    ) throws {
        let sample = Sample(backend)
        let local = sample.valet(.explicit(sample.name), .whenUnlocked)
        let cloud = Valet(
            Configuration(cloud: .explicit(sample.name), .whenUnlocked), backend: sample.keychain)
        try local.setString("local", forKey: "key")
        try cloud.setString("cloud", forKey: "key")
        #expect(try local.string(forKey: "key") == "local")
    }

    @Test(arguments: TestBackend.enabled)
    func `An explicitly set identifier has a key in one accessibility only`(
        _ backend: TestBackend
    ) throws {
        let sample = Sample(backend)
        let one = sample.valet(.explicit(sample.name), .whenUnlocked)
        let other = sample.valet(.explicit(sample.name), .afterFirstUnlock)
        try one.setString("value", forKey: "key")
        #expect(throws: KeychainError.itemNotFound) { try other.string(forKey: "key") }
        #expect(throws: KeychainError.couldNotAccessKeychain) {
            try other.setString("other", forKey: "key")
        }
    }

    @Test(arguments: TestBackend.enabled)
    func `A shared group has separate keys`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        let shared = sample.valet(.sharedGroup(.sample("ABC"), sample.name), .whenUnlocked)
        try shared.setString("shared", forKey: "key")
        #expect(try shared.string(forKey: "key") == "shared")
        #expect(try sample.valet().allKeys() == [])
    }

    // Promise: 3.2
    @Test(arguments: TestBackend.enabled)
    func `A valet of a group that the application lacks is refused`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        let shared = sample.valet(.sharedGroup(.sample("XYZ"), sample.name), .whenUnlocked)
        let refused = KeychainError.missingEntitlement
        #expect(throws: refused) { try shared.setString("value", forKey: "key") }
        #expect(throws: refused) { try shared.string(forKey: "key") }
        #expect(throws: refused) { try shared.containsObject(forKey: "key") }
        #expect(throws: refused) { try shared.allKeys() }
        #expect(throws: refused) { try shared.removeObject(forKey: "key") }
        #expect(throws: refused) { try shared.removeAllObjects() }
        #expect(!shared.canAccessKeychain())
    }
}
