// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import KeychainModel
internal import Testing

@testable internal import Valet

@Suite struct `Keys of a valet` {
    @Test(arguments: TestBackend.enabled)
    func `there are none at first`(_ backend: TestBackend) throws {
        #expect(try Sample(backend).valet().allKeys() == [])
    }

    @Test(arguments: TestBackend.enabled)
    func `they are those of the values stored`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        try valet.setString("1", forKey: "one")
        try valet.setString("2", forKey: "two")
        #expect(try valet.allKeys() == ["one", "two"])
    }

    @Test(arguments: TestBackend.enabled)
    func `accounts that are not text are left out`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        let valet = sample.valet()
        try sample.plant(.bytes([1, 2]), Data([1]), in: valet)
        try sample.plant(.number(7), Data([1]), in: valet)
        try valet.setString("1", forKey: "one")
        #expect(try valet.allKeys() == ["one"])
    }

    @Test(arguments: TestBackend.enabled)
    func `the canary is left out`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        #expect(valet.canAccessKeychain())
        #expect(try valet.allKeys() == [])
    }

    @Test(arguments: TestBackend.enabled)
    func `a key is contained once it is stored`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        #expect(try valet.containsObject(forKey: "key") == false)
        try valet.setString("value", forKey: "key")
        #expect(try valet.containsObject(forKey: "key"))
    }

    @Test(arguments: TestBackend.enabled)
    func `a key that is removed is gone`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        try valet.setString("1", forKey: "one")
        try valet.setString("2", forKey: "two")
        try valet.removeObject(forKey: "one")
        #expect(try valet.allKeys() == ["two"])
    }

    @Test(arguments: TestBackend.enabled)
    func `removing an absent key works`(_ backend: TestBackend) throws {
        try Sample(backend).valet().removeObject(forKey: "key")
    }

    @Test(arguments: TestBackend.enabled)
    func `removing all leaves none`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        try valet.setString("1", forKey: "one")
        try valet.setString("2", forKey: "two")
        try valet.removeAllObjects()
        #expect(try valet.allKeys() == [])
    }

    @Test(arguments: TestBackend.enabled)
    func `removing all of nothing works`(_ backend: TestBackend) throws {
        try Sample(backend).valet().removeAllObjects()
    }

    @Test(arguments: TestBackend.enabled)
    func `removing all removes the canary`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        #expect(valet.canAccessKeychain())
        try valet.removeAllObjects()
        #expect(try valet.containsObject(forKey: ServiceName.canaryAccount) == false)
    }
}

@Suite struct `Sandboxes` {
    @Test(arguments: TestBackend.enabled)
    func `another identifier has other keys`(_ backend: TestBackend) throws {
        let one = Sample(backend)
        let other = one.valet(.standard(Sample().name), .whenUnlocked)
        try one.valet().setString("value", forKey: "key")
        try other.removeAllObjects()
        #expect(try other.allKeys() == [])
        #expect(try one.valet().allKeys() == ["key"])
    }

    @Test(arguments: TestBackend.enabled)
    func `another accessibility has other keys`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        try sample.valet(.whenUnlocked).setString("1", forKey: "key")
        try sample.valet(.afterFirstUnlock).setString("2", forKey: "key")
        #expect(try sample.valet(.whenUnlocked).string(forKey: "key") == "1")
        #expect(try sample.valet(.afterFirstUnlock).string(forKey: "key") == "2")
    }

    @Test(arguments: TestBackend.enabled)
    func `a synchronized valet has other keys`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        try sample.cloudValet().setString("cloud", forKey: "key")
        #expect(try sample.valet().allKeys() == [])
        #expect(try sample.cloudValet().string(forKey: "key") == "cloud")
    }

    @Test(arguments: TestBackend.enabled)
    func `an explicitly set identifier keeps local and synchronized items apart`(
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
    func `an explicitly set identifier has a key in one accessibility only`(
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
}

@Suite struct `The canary` {
    @Test(arguments: TestBackend.enabled)
    func `proves that the keychain works`(_ backend: TestBackend) {
        let valet = Sample(backend).valet()
        #expect(valet.canAccessKeychain())
        #expect(valet.canAccessKeychain())
    }

    @Test func `has the account and the value that earlier versions stored`() {
        let fake = FakeSecItem()
        #expect(fake.valet.canAccessKeychain())
        #expect(fake.stored.map { $0["acct"] as? String } == ["VAL_KeychainCanaryUsername"])
        #expect(
            fake.stored.map { $0["v_Data"] as? Data } == [Data("VAL_KeychainCanaryPassword".utf8)])
    }

    @Test func `is not written again when it is there`() {
        let fake = FakeSecItem()
        #expect(fake.valet.canAccessKeychain())
        let count = fake.received.count
        #expect(fake.valet.canAccessKeychain())
        #expect(fake.received.count == count + 1)
    }

    @Test func `tells when the keychain cannot be read`() {
        let fake = FakeSecItem()
        fake.fail(.copy, with: -25308)
        fake.fail(.update, with: -25308)
        #expect(!fake.valet.canAccessKeychain())
    }

    @Test func `tells when the keychain cannot be written`() {
        let fake = FakeSecItem()
        fake.fail(.add, with: -34018)
        #expect(!fake.valet.canAccessKeychain())
    }
}

@Suite struct `Misses` {
    private let failure = KeychainFailure(.itemNotFound, during: "read an item")

    @Test(arguments: TestBackend.enabled)
    func `name the accessibility that the key is stored with`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        try sample.valet(.afterFirstUnlock).setString("value", forKey: "key")
        let explained = sample.valet(.whenUnlocked).explained(failure, missing: "key")
        #expect(explained.code == .itemNotFound)
        #expect(explained.hint?.contains("AccessibleAfterFirstUnlock") == true)
    }

    @Test(arguments: TestBackend.enabled)
    func `name the accessibility of explicitly set identifiers`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        let other = sample.valet(.explicit(sample.name), .afterFirstUnlockThisDeviceOnly)
        try other.setString("value", forKey: "key")
        let valet = sample.valet(.explicit(sample.name), .whenUnlocked)
        let hint = valet.explained(failure, missing: "key").hint
        #expect(hint?.contains("AccessibleAfterFirstUnlockThisDeviceOnly") == true)
    }

    @Test(arguments: TestBackend.enabled)
    func `say nothing of other identifiers`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        try sample.valet(.standard(Sample().name), .afterFirstUnlock)
            .setString("value", forKey: "key")
        #expect(sample.valet().explained(failure, missing: "key").hint == nil)
    }

    @Test func `cost one search more`() {
        let fake = FakeSecItem()
        _ = try? fake.valet.object(forKey: "key")
        #expect(fake.received.count == 2)
    }
}
