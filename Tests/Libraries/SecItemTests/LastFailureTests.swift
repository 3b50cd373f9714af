// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

@Suite struct `The last failure` {
    @Test func `The last failure is that of the thread's last call that failed`() {
        _ = SecItemDelete([:])
        _ = SecItemDelete([kSecClass: kSecClassKey])
        #expect(KeychainFailure.last?.code == .itemNotFound)
    }

    @Test func `The last failure of a thread is not seen in others`() async {
        _ = SecItemDelete([kSecClass: kSecClassKey])
        let other = await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: KeychainFailure.last) }.start()
        }
        #expect(other == nil)
    }
}
