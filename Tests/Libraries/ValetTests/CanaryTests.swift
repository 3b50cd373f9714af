// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel
internal import ValetTestSupport

@testable internal import Valet

@Suite struct `The canary` {
    @Test(arguments: TestBackend.enabled)
    func `The canary shows that the keychain works`(_ backend: TestBackend) {
        let valet = Sample(backend).valet()
        #expect(valet.canAccessKeychain())
        #expect(valet.canAccessKeychain())
    }

    @Test func `The canary has the account and the value that earlier versions stored`() {
        let fake = FakeSecItem()
        #expect(fake.valet.canAccessKeychain())
        #expect(fake.stored.map { $0["acct"] as? String } == ["VAL_KeychainCanaryUsername"])
        #expect(
            fake.stored.map { $0["v_Data"] as? Data } == [Data("VAL_KeychainCanaryPassword".utf8)])
    }

    @Test func `The canary is not written again if it exists`() {
        let fake = FakeSecItem()
        #expect(fake.valet.canAccessKeychain())
        let count = fake.received.count
        #expect(fake.valet.canAccessKeychain())
        #expect(fake.received.count == count + 1)
    }

    @Test func `The canary shows that the keychain cannot be read`() {
        let fake = FakeSecItem()
        fake.fail(.copy, with: -25308)
        fake.fail(.update, with: -25308)
        #expect(!fake.valet.canAccessKeychain())
    }

    @Test func `The canary shows that the keychain cannot be written`() {
        let fake = FakeSecItem()
        fake.fail(.add, with: -34018)
        #expect(!fake.valet.canAccessKeychain())
    }
}

@Suite struct `The process of these tests` {
    /// Without them, tests of the embedded keychain would be skipped silently.
    @Test func `The process of the Valet tests has the keychain and identity that they need`() {
        #expect(TestProcess.isPrepared)
    }
}
