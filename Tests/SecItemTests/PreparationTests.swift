// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetTestSupport

@Suite struct `The process of these tests` {
    /// Else what is tried with the embedded keychain would be left out without a word.
    @Test func `has the keychain and the identity that they count on`() {
        #expect(TestProcess.isPrepared)
    }
}
