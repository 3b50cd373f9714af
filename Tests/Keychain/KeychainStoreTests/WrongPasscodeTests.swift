// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite struct `Wrong passcodes` {
    private func keychain() throws -> TestKeychain {
        let keychain = TestKeychain()
        try keychain.store.keychain.setPasscode(TestKeychain.passcode("the passcode"))
        return keychain
    }

    private func wrongCount(_ keychain: TestKeychain) throws -> Int {
        try keychain.store.tryOnKeys("test") { keys in
            keys.keychain.wrongPasscodes.count.load(ordering: .relaxed)
        }
    }

    @Test func `Wrong passcodes are counted per keychain in every call until one is right`()
        throws
    {
        let (mine, other) = (try keychain(), try keychain())
        let wrong = try TestKeychain.passcode("another passcode")
        let right = try TestKeychain.passcode("the passcode")
        let calls: [() throws -> Void] = [
            { try mine.store.keychain.check(wrong) },
            { try mine.store.keychain.unlock(wrong) },
            { try mine.store.keychain.rotateKeys(wrong) },
            { try mine.store.keychain.changePasscode(wrong, to: right) },
            { try mine.store.keychain.removePasscode(wrong) },
        ]
        for (index, call) in calls.enumerated() {
            #expect(failure(call) == .authenticationFailed)
            #expect(try wrongCount(mine) == index + 1)
        }
        #expect(try wrongCount(other) == 0)
        try mine.store.keychain.unlock(right)
        #expect(try wrongCount(mine) == 0)
    }

    @Test func `Wrong passcodes cost longer and longer, up to three seconds`() {
        let pauses = (1...8).map { WrongPasscodes.pause(after: $0) / 1_000_000 }
        #expect(pauses == [100, 200, 400, 800, 1_600, 3_000, 3_000, 3_000])
        #expect(WrongPasscodes.pause(after: .max) == 3_000_000_000)
    }
}
