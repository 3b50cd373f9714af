// SPDX-License-Identifier: Apache-2.0

import Foundation
import Of2014
import Of2018
import Of2022
import Of2026

var failures: [String] = []

@MainActor func report(_ name: String, _ failed: [String]) {
    print(failed.isEmpty ? "ok    \(name)" : "FAIL  \(name)")
    failures += failed.map { "\(name): \($0)" }
}

report("01 PasswordDrawer", PasswordDrawer.check())
report("02 KeychainRecord", KeychainRecord.check())
report("03 TouchVault", TouchVault.check())
report("04 WebCredentials", WebCredentials.check())
report("05 CodableKeychain", CodableKeychainCheck.check())
report("06 AppSecrets", AppSecrets.check())
report("07 KeychainStored", await KeychainStoredCheck.check())
report("08 OAuthTokenStore", await OAuthTokenStore.check())
report("09 Vault", await Vault.check())
report("10 SecretStore", SecretStoreCheck.check())

for failure in failures { print("  - \(failure)") }
exit(failures.isEmpty ? 0 : 1)
