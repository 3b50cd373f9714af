// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainServices
@testable import ValetKeychainStore

@Suite struct `A watch of items` {
    private let keychain = TestKeychain()

    /// Where the system announces no changes, only that look finds them.
    @Test func `A look follows the wait in which the end passes, and no other`() throws {
        try keychain.add("a")
        var watch = try ItemWatch(keychain.store)
        watch.beginLook()
        #expect(watch.wait(atMost: nil, until: Deadline(after: .milliseconds(300))))
        watch.beginLook()
        #expect(!watch.wait(atMost: nil, until: .immediately))
    }
}
