// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel

@testable internal import Valet

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
