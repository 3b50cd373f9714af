// SPDX-License-Identifier: Apache-2.0

import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetTestSupport

@testable import ValetSecretService

extension Holdings {
    /// What `valet serve` holds in the keychain of a test.
    init(_ keychain: TestKeychain, sharing shared: [AccessGroup] = []) {
        let caller = Caller(
            applicationIdentifier: SecretService.busName,
            accessGroups: [DesktopItem.group] + shared)
        self.init(KeychainSession(keychain.store, caller), sharing: shared)
    }
}
