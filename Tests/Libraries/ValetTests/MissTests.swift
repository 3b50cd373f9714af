// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel
internal import ValetKeychainServices

@testable internal import Valet

@Suite struct `Misses` {
    private let failure = KeychainFailure(.itemNotFound, during: "read an item")

    @Test(arguments: TestBackend.enabled)
    func `A miss names the accessibility that the key is stored with`(_ backend: TestBackend) throws
    {
        let sample = Sample(backend)
        try sample.valet(.afterFirstUnlock).setString("value", forKey: "key")
        let explained = sample.valet(.whenUnlocked).explained(failure, missing: "key")
        #expect(explained.code == .itemNotFound)
        #expect(explained.hint?.contains("AccessibleAfterFirstUnlock") == true)
    }

    @Test(arguments: TestBackend.enabled)
    func `A miss names the accessibility of an explicitly set identifier`(_ backend: TestBackend)
        throws
    {
        let sample = Sample(backend)
        let other = sample.valet(.explicit(sample.name), .afterFirstUnlockThisDeviceOnly)
        try other.setString("value", forKey: "key")
        let valet = sample.valet(.explicit(sample.name), .whenUnlocked)
        let hint = valet.explained(failure, missing: "key").hint
        #expect(hint?.contains("AccessibleAfterFirstUnlockThisDeviceOnly") == true)
    }

    @Test(arguments: TestBackend.enabled)
    func `A miss says nothing about other identifiers`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        try sample.valet(.standard(Sample().name), .afterFirstUnlock)
            .setString("value", forKey: "key")
        #expect(sample.valet().explained(failure, missing: "key").hint == nil)
    }

    @Test func `A miss costs one more search`() {
        let fake = FakeSecItem()
        _ = try? fake.valet.object(forKey: "key")
        #expect(fake.received.count == 2)
    }

    @Test(.enabled(if: TestBackend.storeIsThere))
    func `A miss is the last failure of its thread`() throws {
        let sample = Sample(.store)
        try sample.valet(.afterFirstUnlock).setString("value", forKey: "key")
        #expect(throws: KeychainError.itemNotFound) { try sample.valet().object(forKey: "key") }
        #expect(KeychainFailure.last?.code == .itemNotFound)
        #expect(KeychainFailure.last?.hint?.contains("AccessibleAfterFirstUnlock") == true)
    }
}
